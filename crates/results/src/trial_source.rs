//! Store as the source of the trials of a comparison.

use std::path::Path;

use treering_analysis::selection::{
    SelectionError, SelectionQuery, StoredTrial, TrialSelection, TrialSource,
};
use treering_conduct::Failure;
use treering_model::{Trial, TrialId};
use treering_store::{LoadDetail, Store, StoreError, TrialState, TrialSummary};

use crate::place::no_results;
use crate::store_error::failure;

/// Trials of a store.
pub struct StoredTrials<'s>(pub &'s Store);

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
        let canonical = Path::new(words).canonicalize().ok();
        let canonical = canonical.map(|path| path.to_string_lossy().into_owned());
        canonical.unwrap_or_else(|| match words.trim_end_matches('/') {
            "" => words.to_owned(),
            trimmed => trimmed.to_owned(),
        })
    }
}

/// Failure for a selection that names no trials, or trials that cannot be loaded.
pub(crate) fn failed_selection(error: SelectionError<StoreError>) -> Failure {
    match error {
        SelectionError::Refused { message, hint } => Failure::usage(message).maybe_hint(hint),
        SelectionError::NoVariants => no_results(),
        SelectionError::Source(error) => failure(&error),
    }
}

/// Selection from trials in the order of time, without running ones.
pub(crate) fn selection<'s, 'd>(
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
        is_between_variants: false,
    };
    let trials: Vec<StoredTrial> = ended.map(stored).collect();
    let running = trial_count - trials.len();
    TrialSelection::new(source, trials, running, query).map_err(failed_selection)
}
