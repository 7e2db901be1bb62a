//! Trials by their ending: completed ones, and interrupted and failed runs with which a run can go
//! on.

use std::cmp::Reverse;
use std::path::Path;

use treering_conduct::Failure;
use treering_model::{Ending, Trial};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};

use crate::store_error::failure;

/// Newest trials of a workload in a directory that all ended early, the newest one first; at least
/// one.
///
/// # Errors
/// When the newest one did not end early, there is none, or they cannot be read.
pub fn runs_ended_early(
    store: &Store,
    workload: &str,
    directory: &Path,
) -> Result<Vec<Trial>, Failure> {
    let filter = Filter { workload: Some(workload.to_owned()), ..Filter::default() };
    let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    summaries.retain(|summary| Path::new(&summary.target) == directory);
    summaries.sort_by_key(|summary| Reverse((summary.started_unix_ms, summary.trial)));
    let directory = directory.display();
    let Some(newest) = summaries.first() else {
        let message = format!("no run of `treering {workload}` in {directory} was interrupted");
        return Err(Failure::usage(message).hint("`treering list` shows which there were"));
    };
    if !ended_early(newest) {
        let state = newest.state.name();
        let message = format!("the newest run of `treering {workload}` in {directory} is {state}");
        return Err(Failure::usage(message)
            .hint("--resume goes on with one that was interrupted or failed"));
    }
    let early = summaries.iter().take_while(|summary| ended_early(summary));
    let ids: Vec<_> = early.map(|one| one.trial).collect();
    store.load_many(&ids, LoadDetail::Everything).map_err(|error| failure(&error))
}

/// Reports whether a run was interrupted or failed; what made it fail may be gone.
fn ended_early(summary: &TrialSummary) -> bool {
    let early = |ending| matches!(ending, &Ending::Interrupted | &Ending::Failed { .. });
    matches!(&summary.state, TrialState::Ended(ending) if early(ending))
}

/// Headlines of the completed trials of a plan and with a label, where these are given, oldest
/// first.
///
/// # Errors
/// When the store cannot be read.
pub fn completed_trials(
    store: &Store,
    plan: Option<&str>,
    label: Option<&str>,
) -> Result<Vec<Trial>, Failure> {
    let (plan, label) = (plan.map(str::to_owned), label.map(str::to_owned));
    let filter = Filter { plan, label, ..Filter::default() };
    let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    summaries.retain(|summary| summary.state == TrialState::Ended(Ending::Completed));
    let ids: Vec<_> = summaries.iter().rev().map(|summary| summary.trial).collect();
    store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))
}
