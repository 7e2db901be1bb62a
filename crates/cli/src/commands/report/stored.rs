//! Store as the source of the trials of a comparison.

use std::path::Path;

use treering_analysis::selection::{
    SelectionError, SelectionQuery, StoredTrial, TrialSelection, TrialSource,
};
use treering_model::{Trial, TrialId};
use treering_store::{Filter, LoadDetail, Store, StoreError, TrialState, TrialSummary};

use super::{TrialProperty, check_known};
use crate::arguments::ReportArgs;
use crate::failure::Failure;
use crate::storage::{failure, no_results};

/// Trials of a store.
pub(super) struct StoredTrials<'s>(pub(super) &'s Store);

impl TrialSource for StoredTrials<'_> {
    type Error = StoreError;

    fn find(&self, prefix: &str) -> Result<TrialId, StoreError> {
        self.0.find(prefix)
    }

    fn short_ids(&self, trials: &[TrialId]) -> Result<Vec<String>, StoreError> {
        self.0.short_ids(trials)
    }

    fn with_facts(&self, trials: &[TrialId], names: &[&str]) -> Result<Vec<Trial>, StoreError> {
        self.0.load_with_facts(trials, names)
    }

    fn headlines(&self, trials: &[TrialId]) -> Result<Vec<Trial>, StoreError> {
        self.0.load_many(trials, LoadDetail::Headlines)
    }

    fn with_tasks(&self, trials: &[TrialId]) -> Result<Vec<Trial>, StoreError> {
        self.0.load_many(trials, LoadDetail::Tasks)
    }

    fn with_phase_calls(&self, trials: &[TrialId]) -> Result<Vec<Trial>, StoreError> {
        self.0.load_many(trials, LoadDetail::PhaseCalls)
    }

    /// Absolute path, with symbolic links resolved if the directory still exists.
    fn stored_target(&self, words: &str) -> String {
        let there = Path::new(words).canonicalize().ok();
        let there = there.map(|path| path.to_string_lossy().into_owned());
        there.unwrap_or_else(|| match words.trim_end_matches('/') {
            "" => words.to_owned(),
            trimmed => trimmed.to_owned(),
        })
    }
}

/// Failure for a selection that names no trials, or trials that cannot be loaded.
pub(in crate::commands) fn failed_selection(error: SelectionError<StoreError>) -> Failure {
    match error {
        SelectionError::Refused { message, hint } => Failure::usage(message).maybe_hint(hint),
        SelectionError::NoVariants => no_results(),
        SelectionError::Source(error) => failure(&error),
    }
}

/// Words of the arguments that select the variants.
pub(super) fn query_of(args: &ReportArgs) -> SelectionQuery {
    SelectionQuery {
        baseline: args.baseline.clone(),
        contenders: args.contender.clone(),
        by: args.by.clone(),
        is_of_plan: args.plan.is_some() || args.campaign.is_some(),
        is_of_workload: args.workload.is_some(),
        includes_excluded: args.include_excluded,
        pools_campaigns: args.all_campaigns,
    }
}

/// Trials that the arguments select, in the order of time.
pub(super) fn summaries(store: &Store, args: &ReportArgs) -> Result<Vec<TrialSummary>, Failure> {
    let filter =
        Filter { workload: args.workload.clone(), plan: args.plan.clone(), ..Filter::default() };
    let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    if let Some(plan) = args.plan.as_deref().filter(|_| summaries.is_empty()) {
        check_known(store, TrialProperty::Plan, plan)?;
    }
    if let Some(workload) = args.workload.as_deref().filter(|_| summaries.is_empty()) {
        check_known(store, TrialProperty::Workload, workload)?;
    }
    let campaign_of = |summary: &TrialSummary| summary.cell.as_ref().map(|cell| cell.campaign);
    if let Some(prefix) = &args.campaign {
        let campaign = store.find(prefix).map_err(|error| failure(&error))?;
        summaries.retain(|one| campaign_of(one) == Some(campaign));
    }
    summaries.reverse();
    Ok(summaries)
}

/// Selection from trials in the order of time, without running ones.
pub(super) fn selection<'s, 'd>(
    source: &'s StoredTrials<'d>,
    summaries: Vec<TrialSummary>,
    query: &SelectionQuery,
) -> Result<TrialSelection<'s, StoredTrials<'d>>, Failure> {
    let trial_count = summaries.len();
    let ended = summaries.into_iter().filter(|summary| summary.state != TrialState::Running);
    let stored = |summary: TrialSummary| StoredTrial {
        trial: summary.trial,
        label: summary.label,
        target: summary.target,
        cell: summary.cell,
        excluded: summary.excluded,
        kernel: None,
        filesystem: None,
        job_apart: None,
    };
    let trials: Vec<StoredTrial> = ended.map(stored).collect();
    let running = trial_count - trials.len();
    TrialSelection::new(source, trials, running, query).map_err(failed_selection)
}
