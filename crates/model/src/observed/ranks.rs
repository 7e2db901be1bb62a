//! Ranks of a run on several clients: hosts, clock offsets and imbalance per phase.

use serde::{Deserialize, Serialize};

/// Artifact kind with a [`RankTable`] as its body.
pub const RANKS_ARTIFACT: &str = "ranks";
/// Version of the artifact's format.
pub const RANKS_VERSION: u32 = 1;
/// Fact with the number of ranks of a trial; absent for a single rank.
pub const RANKS_FACT: &str = "ranks.count";

/// All ranks of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTable {
    /// Ranks in ascending order.
    pub ranks: Vec<RankRow>,
    /// Phases in which at least two ranks worked.
    pub phases: Vec<RankPhase>,
}

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankRow {
    /// Host name.
    pub host: String,
    /// Offset of its monotonic clock against that of rank 0, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Bound on the error of the clock offset, in nanoseconds.
    pub clock_uncertainty_ns: u64,
}

/// Imbalance of the ranks in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankPhase {
    /// Phase name.
    pub name: String,
    /// Rank with the longest working time.
    pub slowest: u64,
    /// Working time of the slowest rank, in nanoseconds.
    pub slowest_ns: u64,
    /// Median working time of the ranks, in nanoseconds.
    pub median_ns: u64,
    /// Number of ranks that worked.
    pub ranks: u64,
    /// Durations of the barriers in nanoseconds, ascending.
    #[serde(default)]
    pub barriers_ns: Vec<u64>,
    /// Spread of the ranks' start times after each barrier in nanoseconds, ascending.
    #[serde(default)]
    pub start_spreads_ns: Vec<u64>,
}
