//! System calls of a trial by kind: counts, errors and merged latencies.

use std::collections::BTreeSet;

use treering_model::{Latency, Op, OpTotals, PhaseTotals, TaskTotals, Trial};

/// Minimum number of timed calls for which p99.9 is shown; with fewer, it would be based on less
/// than a thousand samples.
pub const P999_MIN_TIMED: u64 = 1_000_000;

/// Calls of one kind in a trial, summed over its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct OpSummary {
    /// Kind of call.
    pub op: Op,
    /// Number of calls made.
    pub calls: u64,
    /// Number of calls that failed, expected failures included.
    pub errors: u64,
    /// Bytes transferred by the calls.
    pub bytes: u64,
    /// Number of calls with a measured latency: every call, a sample, or none.
    pub timed: u64,
    /// Latency histogram of the timed calls.
    pub latency: Latency,
}

impl OpSummary {
    /// Latency in nanoseconds that a share (0 to 1) of the timed calls does not exceed; `None` when
    /// no call was timed.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        (self.timed > 0).then(|| self.latency.quantile_ns(share))
    }

    /// Latency p99.9 in nanoseconds; `None` below [`P999_MIN_TIMED`] timed calls.
    pub fn p999_ns(&self) -> Option<u64> {
        (self.timed >= P999_MIN_TIMED).then(|| self.latency.quantile_ns(0.999))
    }

    /// Estimated total time in the calls, in nanoseconds: mean latency of the timed calls times all
    /// calls.
    pub fn total_ns(&self) -> f64 {
        self.latency.mean_ns() * self.calls as f64
    }

    /// Maximum latency in nanoseconds; `None` when no call was timed.
    pub fn max_ns(&self) -> Option<u64> {
        (self.timed > 0).then(|| self.latency.max_ns())
    }
}

/// Merges per-phase call totals by kind, in the order of [`Op::ALL`].
pub fn merge_ops<'a>(totals: impl IntoIterator<Item = &'a OpTotals>) -> Vec<OpSummary> {
    let mut sums = Vec::new();
    totals.into_iter().for_each(|more| add(&mut sums, more));
    sums
}

/// Merges totals of one kind into `sums`, which are in the order of [`Op::ALL`].
fn add(sums: &mut Vec<OpSummary>, more: &OpTotals) {
    let place = sums.binary_search_by_key(&(more.op as usize), |sum| sum.op as usize);
    let place = place.unwrap_or_else(|place| {
        let (op, latency) = (more.op, Latency::new());
        sums.insert(place, OpSummary { op, calls: 0, errors: 0, bytes: 0, timed: 0, latency });
        place
    });
    let sum = &mut sums[place];
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.errors = sum.errors.saturating_add(more.errors);
    sum.bytes = sum.bytes.saturating_add(more.bytes);
    sum.latency.merge(&more.latency);
    sum.timed = sum.latency.samples();
}

/// Call summaries of one trial.
pub(crate) fn of_trial(trial: &Trial) -> Vec<OpSummary> {
    let mut sums = Vec::new();
    add_trial(&mut sums, trial);
    sums
}

/// Merges the calls of a trial into `sums`. Phases that never ended or recorded no calls are summed
/// from their tasks.
pub(crate) fn add_trial(sums: &mut Vec<OpSummary>, trial: &Trial) {
    let has_calls = |phase: &&PhaseTotals| !phase.ops.is_empty();
    let whole: BTreeSet<u32> =
        trial.phases.iter().filter(has_calls).map(|phase| phase.phase).collect();
    let only_by_tasks = |task: &&TaskTotals| !whole.contains(&task.phase);
    let of_phases = trial.phases.iter().flat_map(|phase| &phase.ops);
    let of_tasks = trial.tasks.iter().filter(only_by_tasks).flat_map(|task| &task.ops);
    of_phases.chain(of_tasks).for_each(|more| add(sums, more));
}
