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

    /// The longest latency in nanoseconds; `None` when no call was timed.
    pub fn max_ns(&self) -> Option<u64> {
        (self.timed > 0).then(|| self.latency.max_ns())
    }
}

/// Adds up totals of calls by kind, in the order of [`Op::ALL`].
pub fn merge_ops<'a>(totals: impl IntoIterator<Item = &'a OpTotals>) -> Vec<OpSummary> {
    let mut by_op: [Option<OpSummary>; Op::COUNT] = [const { None }; Op::COUNT];
    for more in totals {
        let sum = by_op[more.op as usize].get_or_insert_with(|| OpSummary {
            op: more.op,
            calls: 0,
            errors: 0,
            bytes: 0,
            timed: 0,
            latency: Latency::new(),
        });
        sum.calls = sum.calls.saturating_add(more.calls);
        sum.errors = sum.errors.saturating_add(more.errors);
        sum.bytes = sum.bytes.saturating_add(more.bytes);
        sum.latency.merge(&more.latency);
        sum.timed = sum.latency.samples();
    }
    by_op.into_iter().flatten().collect()
}

/// The calls of a trial. A phase that never ended, or that brought no calls of its own, is known
/// only by its tasks.
pub(crate) fn of_trial(trial: &Trial) -> Vec<OpSummary> {
    let has_calls = |phase: &&PhaseTotals| !phase.ops.is_empty();
    let whole: BTreeSet<u32> =
        trial.phases.iter().filter(has_calls).map(|phase| phase.phase).collect();
    let only_by_tasks = |task: &&TaskTotals| !whole.contains(&task.phase);
    let of_phases = trial.phases.iter().flat_map(|phase| &phase.ops);
    let of_tasks = trial.tasks.iter().filter(only_by_tasks).flat_map(|task| &task.ops);
    merge_ops(of_phases.chain(of_tasks))
}
