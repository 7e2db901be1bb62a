//! Trials of earlier plans with the same name, which had different terms.

use std::collections::BTreeSet;

use super::{SelectionQuery, StoredTrial, factor_of, parsed};
use crate::compare::Factor;

/// Keeps only the trials of the newest plan if variants or jobs of plans, or a plan by its name,
/// are selected: trials of an earlier plan with the same name had different terms. Returns a remark
/// about the omitted trials.
pub(super) fn of_newest_plan(
    trials: &mut Vec<StoredTrial>,
    query: &SelectionQuery,
) -> Option<String> {
    let selectors = query.baseline.iter().chain(&query.contenders);
    let is_of_cells = |factor| matches!(factor, Factor::Variant | Factor::Job);
    let are_of_cells =
        is_of_cells(factor_of(query)) || selectors.map(|text| parsed(text).0).any(is_of_cells);
    if !are_of_cells && !query.is_of_plan {
        return None;
    }
    let digest_of = |one: &StoredTrial| one.cell.as_ref().map(|cell| cell.digest.clone());
    let newest = trials.iter().rev().find_map(digest_of)?;
    let is_older = |one: &StoredTrial| digest_of(one).is_some_and(|digest| digest != newest);
    let older: BTreeSet<String> =
        trials.iter().filter(|one| is_older(one)).filter_map(digest_of).collect();
    let all = trials.len();
    trials.retain(|one| !is_older(one));
    (!older.is_empty()).then(|| {
        let (omitted, plans) = (all - trials.len(), older.len());
        let plans = if plans == 1 {
            "an earlier plan".to_owned()
        } else {
            format!("{plans} earlier plans")
        };
        format!("trials omitted because they are of {plans}: {omitted} (--campaign chooses one)")
    })
}
