//! Values of options that name a property of stored trials, checked against the trials.

use std::collections::BTreeSet;

use treering_conduct::Failure;
use treering_model::nearest::{MetricEdits, by_nearness, nearest};
use treering_store::{Filter, Store, TrialSummary};

use crate::store_error::failure;

/// Maximum number of names in a hint.
const NAMES_MAX: usize = 8;

/// Property of stored trials that options name.
#[derive(Clone, Copy)]
pub enum TrialProperty {
    /// Plan of a campaign.
    Plan,
    /// Workload.
    Workload,
    /// Label.
    Label,
}

impl TrialProperty {
    fn of(self, trial: &TrialSummary) -> Option<&str> {
        match self {
            Self::Plan => trial.cell.as_ref().map(|cell| cell.plan.as_str()),
            Self::Workload => Some(&trial.workload),
            Self::Label => Some(trial.label.as_str()).filter(|label| !label.is_empty()),
        }
    }

    /// Message that no trial has this value.
    fn unknown_value(self, value: &str) -> String {
        match self {
            Self::Plan => format!("no trial is of a plan named '{value}'"),
            Self::Workload => format!("no trial is of a workload named '{value}'"),
            Self::Label => format!("no trial has the label '{value}'"),
        }
    }

    /// Hint if no trial has the property at all.
    fn hint_without_values(self) -> &'static str {
        match self {
            Self::Plan => "no trial in the store is of a plan: `treering compare` makes some",
            Self::Workload => "the store has no trials: `treering run` makes some",
            Self::Label => "no trial has a label: `treering label` gives them",
        }
    }
}

/// Rejects a value that no trial of the store has, and lists the existing values.
///
/// # Errors
/// When no trial has the value, or the store cannot be read.
pub fn check_known(store: &Store, property: TrialProperty, value: &str) -> Result<(), Failure> {
    let summaries = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let known: BTreeSet<&str> = summaries.iter().filter_map(|trial| property.of(trial)).collect();
    if known.contains(value) {
        return Ok(());
    }
    let hint = if known.is_empty() {
        property.hint_without_values().to_owned()
    } else {
        names(value, known)
    };
    Err(Failure::usage(property.unknown_value(value)).hint(hint))
}

/// Hint with the known names, those most similar to an unknown one first.
fn names(unknown: &str, known: BTreeSet<&str>) -> String {
    let meant = nearest(unknown, known.iter().copied());
    hint(meant, by_nearness(unknown, known))
}

/// Hint with the known metrics, those nearest to an unknown one first.
pub(crate) fn nearest_metrics(unknown: &str, known: &BTreeSet<String>) -> String {
    let edits = |name: &&str| MetricEdits::between(unknown, name).sum();
    let mut nearest: Vec<&str> = known.iter().map(String::as_str).collect();
    nearest.sort_by_cached_key(edits);
    let is_meant = |name: &&str| MetricEdits::between(unknown, name).are_slips();
    hint(nearest.first().copied().filter(is_meant), nearest)
}

fn hint(meant: Option<&str>, mut nearest: Vec<&str>) -> String {
    let meant = meant.map_or_else(String::new, |meant| format!("did you mean '{meant}'? "));
    let more = if nearest.len() > NAMES_MAX { ", …" } else { "" };
    nearest.truncate(NAMES_MAX);
    let there = if nearest.len() == 1 { "there is one" } else { "there are" };
    format!("{meant}{there}: {}{more}", nearest.join(", "))
}
