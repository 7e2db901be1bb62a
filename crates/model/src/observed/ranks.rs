//! The ranks of a run on several clients: where they were, how their clocks were related, and how
//! unequal they were in each phase.

use serde::{Deserialize, Serialize};

/// The kind of the artifact whose body is a [`RankTable`].
pub const RANKS_ARTIFACT: &str = "ranks";
/// The version of the form.
pub const RANKS_VERSION: u32 = 1;
/// The fact that says how many ranks ran a trial; absent where it was one.
pub const RANKS_FACT: &str = "ranks.count";

/// All ranks of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTable {
    /// The ranks, in their order.
    pub ranks: Vec<RankRow>,
    /// The phases in which at least two ranks worked.
    pub phases: Vec<RankPhase>,
}

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankRow {
    /// The machine that it was on.
    pub host: String,
    /// What its monotonic clock said more than that of rank 0, in nanoseconds.
    pub clock_offset_ns: i64,
    /// The true offset was at most so far from it.
    pub clock_uncertainty_ns: u64,
}

/// How unequal the ranks were in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankPhase {
    /// Its name.
    pub name: String,
    /// The rank that worked longest.
    pub slowest: u64,
    /// For how long, in nanoseconds.
    pub slowest_ns: u64,
    /// For how long the ranks worked in the median, in nanoseconds.
    pub median_ns: u64,
    /// How many ranks worked.
    pub ranks: u64,
    /// What its barriers took, in nanoseconds, shortest first.
    #[serde(default)]
    pub barriers_ns: Vec<u64>,
    /// How far the ranks' beginnings were apart after each, in nanoseconds, least first.
    #[serde(default)]
    pub start_spreads_ns: Vec<u64>,
}
