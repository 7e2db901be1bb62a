//! Latencies of functions of the kernel, as artifacts.

use serde::{Deserialize, Serialize};

/// Calls of one function that took about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// Longest latency of the bucket in nanoseconds, a power of two; calls of at most half of it
    /// are in other buckets.
    pub at_most_ns: u64,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their latencies in nanoseconds.
    pub total_ns: u64,
}

/// Latencies of one function of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionLatency {
    /// Name of the function.
    pub function: String,
    /// Calls by latency, the shortest first.
    pub buckets: Vec<LatencyBucket>,
}

impl FunctionLatency {
    /// Artifact kind; the body is a list of these, for each phase.
    pub const KIND: &'static str = "function_latencies";
    /// Format version.
    pub const VERSION: u32 = 1;

    /// Number of calls.
    pub fn calls(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.calls).sum()
    }

    /// Sum of the latencies in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.total_ns).sum()
    }

    /// Calls that are not in an earlier reading of the same function.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let new = |bucket: &LatencyBucket| {
            let mut earlier = before.buckets.iter();
            let earlier = earlier.find(|one| one.at_most_ns == bucket.at_most_ns);
            let (calls, total_ns) = earlier.map_or((0, 0), |one| (one.calls, one.total_ns));
            LatencyBucket {
                calls: bucket.calls.saturating_sub(calls),
                total_ns: bucket.total_ns.saturating_sub(total_ns),
                ..*bucket
            }
        };
        let buckets = self.buckets.iter().map(new).filter(|bucket| bucket.calls > 0).collect();
        Self { function: self.function.clone(), buckets }
    }

    /// Adds the calls of another phase.
    pub fn merge(&mut self, other: &Self) {
        for bucket in &other.buckets {
            match self.buckets.iter_mut().find(|own| own.at_most_ns == bucket.at_most_ns) {
                Some(own) => {
                    own.calls += bucket.calls;
                    own.total_ns += bucket.total_ns;
                }
                None => self.buckets.push(*bucket),
            }
        }
        self.buckets.sort_by_key(|bucket| bucket.at_most_ns);
    }
}
