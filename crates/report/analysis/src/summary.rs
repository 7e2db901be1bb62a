//! Summary of one trial.

use treering_model::Trial;

use crate::{KindSummary, OpSummary, PhaseSummary, RequestFigures, calls, kind, phase, requests};

/// Figures of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Headline figures of request-oriented workloads.
    pub requests: Vec<RequestFigures>,
    /// Totals of each phase, in phase order.
    pub phases: Vec<PhaseSummary>,
    /// Task summaries by kind, in the order in which the kinds first occur.
    pub kinds: Vec<KindSummary>,
    /// System calls by kind, in the order of [`treering_model::Op::ALL`].
    pub ops: Vec<OpSummary>,
}

/// Computes the figures of a trial, without judging them.
pub fn summary(trial: &Trial) -> Summary {
    Summary {
        requests: requests(trial),
        phases: phase::of_trial(trial),
        kinds: kind::of_trial(trial),
        ops: calls::of_trial(trial),
    }
}
