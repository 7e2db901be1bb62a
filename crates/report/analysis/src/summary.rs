//! One trial in figures.

use treering_model::Trial;

use crate::{KindSummary, OpSummary, PhaseSummary, RequestFigures, calls, kind, phase, requests};

/// What one trial came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Requests and operations, where the users of the workload look for them first.
    pub requests: Vec<RequestFigures>,
    /// Totals of each phase, in their order.
    pub phases: Vec<PhaseSummary>,
    /// Tasks by kind, in the order in which the kinds first occur.
    pub kinds: Vec<KindSummary>,
    /// System calls by kind, in the order of [`treering_model::Op::ALL`].
    pub ops: Vec<OpSummary>,
}

/// Puts the figures of a trial together. Nothing in them judges it.
pub fn summary(trial: &Trial) -> Summary {
    Summary {
        requests: requests(trial),
        phases: phase::of_trial(trial),
        kinds: kind::of_trial(trial),
        ops: calls::of_trial(trial),
    }
}
