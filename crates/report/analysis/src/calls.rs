//! System calls of a trial by kind: counts, errors and merged latencies.

use std::collections::BTreeSet;

use treering_model::{Latency, Op, OpTotals, PhaseTotals, TaskTotals, Trial};

/// A p99.9 rests on one sample in a thousand: it is worth showing from this many timed calls on.
pub const P999_MIN_TIMED: u64 = 1_000_000;

/// All calls of one kind in a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct OpSummary {
    /// The kind.
    pub op: Op,
    /// Calls made.
    pub calls: u64,
    /// Calls that failed, expected failures included.
    pub errors: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Calls that were timed: all, a sample, or none.
    pub timed: u64,
    /// The latencies of the timed calls.
    pub latency: Latency,
}

impl OpSummary {
    /// The latency in nanoseconds that a share (0 to 1) of the timed calls does not exceed;
    /// `None` when no call was timed.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        (self.timed > 0).then(|| self.latency.quantile_ns(share))
    }

    /// The latency p99.9 in nanoseconds; `None` below [`P999_MIN_TIMED`] timed calls.
    pub fn p999_ns(&self) -> Option<u64> {
        (self.timed >= P999_MIN_TIMED).then(|| self.latency.quantile_ns(0.999))
    }

    /// About how long all calls took together, in nanoseconds: those that were timed stand for the
    /// others.
    pub fn total_ns(&self) -> f64 {
        self.latency.mean_ns() * self.calls as f64
    }

    /// The longest latency in nanoseconds; `None` when no call was timed.
    pub fn max_ns(&self) -> Option<u64> {
        (self.timed > 0).then(|| self.latency.max_ns())
    }
}

/// Adds up totals of calls by kind, in the order of [`Op::ALL`].
pub fn merge_ops<'a>(totals: impl IntoIterator<Item = &'a OpTotals>) -> Vec<OpSummary> {
    let mut sums = Vec::new();
    totals.into_iter().for_each(|more| add(&mut sums, more));
    sums
}

/// Adds totals of one kind to sums in the order of [`Op::ALL`].
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

/// The calls of a trial.
pub(crate) fn of_trial(trial: &Trial) -> Vec<OpSummary> {
    let mut sums = Vec::new();
    add_trial(&mut sums, trial);
    sums
}

/// Adds the calls of a trial to sums. A phase that never ended, or that brought no calls of its
/// own, is known only by its tasks.
pub(crate) fn add_trial(sums: &mut Vec<OpSummary>, trial: &Trial) {
    let has_calls = |phase: &&PhaseTotals| !phase.ops.is_empty();
    let whole: BTreeSet<u32> =
        trial.phases.iter().filter(has_calls).map(|phase| phase.phase).collect();
    let only_by_tasks = |task: &&TaskTotals| !whole.contains(&task.phase);
    let of_phases = trial.phases.iter().flat_map(|phase| &phase.ops);
    let of_tasks = trial.tasks.iter().filter(only_by_tasks).flat_map(|task| &task.ops);
    of_phases.chain(of_tasks).for_each(|more| add(sums, more));
}
