//! What a clone did whose requests came by the clock. The original has no such runs.

use serde::{Deserialize, Serialize};

use super::latencies::Latencies;

/// Requests of an offered load, as far as the time of their arrival counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfferedTally {
    /// Those that ended, from when each was due, whether it could be issued then or not.
    pub latency: Latencies,
    /// How late the generator itself was: from when a request was due until it was issued, of those
    /// that a clone with nothing else to do was waiting for.
    pub lag: Latencies,
    /// How many ended later than each of the times that are looked at.
    pub late: Vec<u64>,
}

impl OfferedTally {
    /// Adds another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
        self.late.resize(self.late.len().max(other.late.len()), 0);
        self.late.iter_mut().zip(&other.late).for_each(|(one, more)| *one += more);
    }
}
