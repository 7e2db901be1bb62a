//! Tally of a clone under an offered load. The original has no such runs.

use serde::{Deserialize, Serialize};

use super::latencies::Latencies;

/// Requests of an offered load that arrived in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfferedTally {
    /// Latencies of the requests that ended, from the due time of each, even if it was issued
    /// later.
    pub latency: Latencies,
    /// Lag of the generator: from the due time of a request to its issue, only of requests that an
    /// idle clone was waiting for.
    pub lag: Latencies,
    /// Number of requests slower than each of the limits.
    pub late: Vec<u64>,
}

impl OfferedTally {
    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
        self.late.resize(self.late.len().max(other.late.len()), 0);
        self.late.iter_mut().zip(&other.late).for_each(|(one, more)| *one += more);
    }
}
