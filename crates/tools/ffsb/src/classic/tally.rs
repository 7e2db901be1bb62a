//! Counters of an FFSB worker as the original counts: operations, transactions, bytes, and the
//! latencies of timed calls.

use serde::{Deserialize, Serialize};

use crate::language::TimedCall;
use crate::language::operation::Operation;

/// Counters of one operation kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperationCounts {
    /// Number of operations carried out.
    pub operations: u64,
    /// FFSB's transactions: blocks for operations on content, operations for the rest.
    pub transactions: u64,
    /// Bytes as FFSB counts them, which differs from bytes moved.
    pub bytes: u64,
}

/// Latencies of one call kind, in whole microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallTimes {
    /// Number of calls.
    pub calls: u64,
    /// Total time of all calls.
    pub sum_us: u64,
    /// Minimum; 0 without calls.
    pub min_us: u64,
    /// Maximum time.
    pub max_us: u64,
    /// Calls in each range of the profile, in the profile's order.
    pub in_range: Vec<u64>,
}

/// Counters of a worker, or the sum over a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerCounters {
    /// Counters by [`Operation::place`].
    pub done: [OperationCounts; Operation::COUNT],
    /// Call latencies by [`TimedCall::place`].
    pub calls: [CallTimes; TimedCall::COUNT],
}

impl WorkerCounters {
    /// Operations of all kinds.
    pub(crate) fn operations(&self) -> u64 {
        self.done.iter().map(|done| done.operations).sum()
    }

    /// Transactions of all kinds.
    pub(crate) fn transactions(&self) -> u64 {
        self.done.iter().map(|done| done.transactions).sum()
    }

    /// Adds the counters of another worker, whose call ranges must be equal.
    pub(crate) fn add(&mut self, other: &Self) {
        for (done, more) in self.done.iter_mut().zip(&other.done) {
            done.operations += more.operations;
            done.transactions += more.transactions;
            done.bytes += more.bytes;
        }
        for (times, more) in self.calls.iter_mut().zip(&other.calls) {
            times.add(more);
        }
    }
}

impl CallTimes {
    /// Records a call that took `us` microseconds.
    #[inline]
    pub(crate) fn record(&mut self, us: u64) {
        self.min_us = if self.calls == 0 { us } else { self.min_us.min(us) };
        self.max_us = self.max_us.max(us);
        self.sum_us += us;
        self.calls += 1;
    }

    fn add(&mut self, more: &Self) {
        if more.calls > 0 {
            self.min_us = if self.calls == 0 { more.min_us } else { self.min_us.min(more.min_us) };
        }
        self.max_us = self.max_us.max(more.max_us);
        self.sum_us += more.sum_us;
        self.calls += more.calls;
        self.in_range.resize(self.in_range.len().max(more.in_range.len()), 0);
        for (count, more) in self.in_range.iter_mut().zip(&more.in_range) {
            *count += more;
        }
    }
}

/// Result of the preparation of one filesystem; an aborted preparation reports no counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreparationResult {
    /// True if the files of an earlier run were reused.
    pub reused: bool,
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{CallTimes, OperationCounts, WorkerCounters};

    fn tally() -> WorkerCounters {
        let mut tally = WorkerCounters::default();
        tally.done[3] = OperationCounts { operations: 2, transactions: 20, bytes: 81_920 };
        for us in [7, 3, 11] {
            tally.calls[0].record(us);
        }
        tally.calls[0].in_range = vec![1, 2];
        tally
    }

    #[test]
    fn counters_name_operations_and_calls() {
        let counters = Counters::from_value(&tally());
        assert_eq!(counters.read(), Some(tally()));
        let done = r#""bytes":81920,"operations":2,"transactions":20"#;
        assert!(counters.json().contains(done), "{}", counters.json());
    }

    #[test]
    fn sums_keep_minimum_and_maximum() {
        let mut sum = WorkerCounters::default();
        sum.add(&tally());
        sum.add(&WorkerCounters::default());
        sum.add(&tally());
        let open = CallTimes { calls: 6, sum_us: 42, min_us: 3, max_us: 11, in_range: vec![2, 4] };
        assert_eq!(sum.calls[0], open);
        assert_eq!((sum.operations(), sum.transactions()), (4, 40));
    }
}
