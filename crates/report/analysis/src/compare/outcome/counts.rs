//! Counts with a verdict beside a time without one. Requests, bytes, seeks and extents of the same
//! work hardly depend on the load of the machine. They do not answer the question about the time.

use std::cmp::Reverse;

use treering_model::metrics::is_count_of_work;
use treering_model::{Scope, Unit};

use super::{MetricComparison, Outcome, Verdict};

/// Maximum number of counts that are named for a result.
const COUNTS_MAX: usize = 3;

impl MetricComparison {
    /// Reports whether a primary metric that depends on time is undecided.
    pub fn is_open_by_time(&self) -> bool {
        let depends_on_time = match self.unit {
            Unit::Seconds
            | Unit::Nanoseconds
            | Unit::MibPerSecond
            | Unit::FilesPerSecond
            | Unit::OpsPerSecond => true,
            Unit::Bytes | Unit::Count | Unit::Percent => false,
        };
        self.primary && self.verdict == Verdict::Unclear && depends_on_time
    }
}

impl Outcome {
    /// Counts of the same job and variants that are better or worse, the largest difference first.
    /// If a count differs both in the phase of the undecided metric and in the whole trial, the one
    /// of the phase is taken. Empty if the amounts of work differ.
    pub fn counts_decided_beside(&self, open: &MetricComparison) -> Vec<&MetricComparison> {
        let is_beside = |other: &&MetricComparison| {
            (&other.workload, other.mode, &other.job, &other.title)
                == (&open.workload, open.mode, &open.job, &open.title)
                && (&other.baseline, &other.contender) == (&open.baseline, &open.contender)
        };
        let phase = match &open.scope {
            Scope::Trial => None,
            Scope::Phase(name) | Scope::Kind(name) => Some(Scope::Phase(name.clone())),
        };
        let is_decided = |count: &&MetricComparison| {
            count.equal_work
                && is_count_of_work(&count.name)
                && matches!(count.verdict, Verdict::Better | Verdict::Worse)
                && (count.scope == Scope::Trial || Some(&count.scope) == phase.as_ref())
        };
        let mut counts: Vec<&MetricComparison> =
            self.comparisons.iter().filter(is_beside).filter(is_decided).collect();
        counts.sort_by_key(|count| Reverse(count.scope != Scope::Trial));
        let mut named: Vec<&MetricComparison> = Vec::new();
        for count in counts {
            if named.iter().all(|other| other.name != count.name) {
                named.push(count);
            }
        }
        named.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
        named.truncate(COUNTS_MAX);
        named
    }
}

/// Distance from equality as the logarithm of a ratio; infinite if only one variant has such
/// events.
fn distance(count: &MetricComparison) -> f64 {
    count.ratio.map_or(f64::INFINITY, |ratio| ratio.value.ln().abs())
}
