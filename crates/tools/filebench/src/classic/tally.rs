//! Counters of a worker's flowops, by row.

use serde::{Deserialize, Serialize};
use treering_model::Latency;

/// Number of histogram buckets.
pub(crate) const BUCKETS: usize = 64;

/// Counters of the flowops of one row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlowopCounters {
    /// Number of flowops.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Number of flowops whose calls were all timed.
    pub timed: u64,
    /// True if a flowop took several calls, so that a sample of calls is not a sample of flowops.
    pub several: bool,
    /// Total time of the timed flowops.
    pub total_ns: u64,
    /// Minimum latency; 0 if none was timed.
    pub least_ns: u64,
    /// Maximum latency.
    pub most_ns: u64,
    /// Latency distribution of the timed flowops; `None` if none was timed.
    pub latency: Option<Latency>,
    /// Histogram of the latencies by powers of two of nanoseconds, if enabled.
    pub buckets: Option<Vec<u64>>,
}

impl FlowopCounters {
    /// Adds the latency of a flowop, in nanoseconds.
    #[inline]
    pub(crate) fn took(&mut self, ns: u64) {
        self.least_ns = if self.timed == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.timed += 1;
        self.latency.get_or_insert_default().record(ns);
        if let Some(buckets) = &mut self.buckets {
            let bits = (u64::BITS - ns.leading_zeros()) as usize;
            buckets[bits.min(BUCKETS - 1)] += 1;
        }
    }

    /// True if the timed latencies are those of all flowops, or a fair sample.
    pub(crate) fn is_fair(&self) -> bool {
        self.timed > 0 && (!self.several || self.timed == self.count)
    }

    /// Mean latency; 0 if none was timed.
    pub(crate) fn mean_ns(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { self.total_ns as f64 / self.timed as f64 }
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: &Self) {
        if other.timed > 0 {
            let least = other.least_ns;
            self.least_ns = if self.timed == 0 { least } else { self.least_ns.min(least) };
        }
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.timed += other.timed;
        self.several |= other.several;
        self.most_ns = self.most_ns.max(other.most_ns);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        if let Some(more) = &other.latency {
            self.latency.get_or_insert_default().merge(more);
        }
        if let Some(more) = &other.buckets {
            let buckets = self.buckets.get_or_insert_with(|| vec![0; BUCKETS]);
            buckets.iter_mut().zip(more.iter()).for_each(|(count, more)| *count += more);
        }
    }
}

/// Report of a worker: its time span and its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    /// Earliest start of its first flowop, in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// True if the worker ended for lack of files.
    pub ran_out: bool,
    /// Counters by row number.
    pub rows: Vec<(usize, FlowopCounters)>,
}

impl WorkerReport {
    /// Adds the counters to the sums of all rows.
    pub(crate) fn add_to(&self, sums: &mut [FlowopCounters]) {
        for (row, tally) in &self.rows {
            if let Some(sum) = sums.get_mut(*row) {
                sum.add(tally);
            }
        }
    }
}

/// Treatment of a fileset's remains from an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RemainsTreatment {
    /// The fileset did not exist, and was created.
    Made,
    /// The remains were reused.
    Reused,
    /// The remains were removed.
    Cleared,
    /// The path holds something that is not a fileset.
    Foreign,
}

/// Counters of a fileset's tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TreeCounters {
    /// Treatment of the remains.
    pub became: RemainsTreatment,
    /// Total size of its files in bytes.
    pub bytes: u64,
    /// Mean depth of its files.
    pub mean_depth: f64,
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{BUCKETS, FlowopCounters, WorkerReport};

    fn tally() -> FlowopCounters {
        let mut tally = FlowopCounters { count: 4, bytes: 100, ..FlowopCounters::default() };
        tally.buckets = Some(vec![0; BUCKETS]);
        [7, 1000, 3].into_iter().for_each(|ns| tally.took(ns));
        tally
    }

    #[test]
    fn counters_round_trip_a_tally() {
        let plain = FlowopCounters { count: 2, several: true, ..FlowopCounters::default() };
        let rows = vec![(3, tally()), (0, plain)];
        let account = WorkerReport { began_ns: 9, ran_out: true, rows };
        assert_eq!(Counters::from_value(&account).read(), Some(account.clone()));
        let mut sums = vec![FlowopCounters::default(); 4];
        account.add_to(&mut sums);
        account.add_to(&mut sums);
        let sum = &sums[3];
        assert_eq!((sum.count, sum.timed, sum.least_ns, sum.most_ns), (8, 6, 3, 1000));
        assert_eq!(sum.buckets.as_ref().unwrap()[3], 2);
        assert!(sum.is_fair() && !sums[0].is_fair());
    }
}
