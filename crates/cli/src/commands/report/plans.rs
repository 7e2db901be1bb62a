//! Plans of which the store has trials.

use std::collections::BTreeSet;

use treering_model::nearest::by_nearness;
use treering_store::{Filter, Store};

use crate::failure::{Failure, Kind};
use crate::storage::failure;

/// Maximum number of plans that a message names.
const NAMED: usize = 8;

/// Refuses a plan that no trial has, and lists the plans of the store.
pub(super) fn check_plan(store: &Store, plan: &str) -> Result<(), Failure> {
    let all = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let plans: BTreeSet<&str> =
        all.iter().filter_map(|one| Some(one.cell.as_ref()?.plan.as_str())).collect();
    if plans.contains(plan) {
        return Ok(());
    }
    let mut nearest = by_nearness(plan, plans);
    let more = if nearest.len() > NAMED { ", …" } else { "" };
    nearest.truncate(NAMED);
    let hint = match nearest.len() {
        0 => "no trial in the store is of a plan: `treering compare` makes some".to_owned(),
        1 => format!("there is one: {}", nearest[0]),
        _ => format!("there are: {}{more}", nearest.join(", ")),
    };
    Err(Failure::new(Kind::Usage, format!("no trial is of a plan named '{plan}'")).hint(hint))
}
