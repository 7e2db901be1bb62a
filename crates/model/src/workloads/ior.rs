//! Counters of an ior rank.

use serde::{Deserialize, Serialize};

/// Start and end in nanoseconds from the start of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSpan {
    /// Start.
    pub began_ns: u64,
    /// End.
    pub ended_ns: u64,
}

/// Counters of a rank's task in one test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferCounts {
    /// Times of opening the file.
    pub open: TimeSpan,
    /// Times from the first to the last transfer, including fsync.
    pub moved: TimeSpan,
    /// Times of closing the file.
    pub close: TimeSpan,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Transfers with wrong data.
    pub wrong: u64,
    /// True if the time limit ended the task before its transfers were done.
    #[serde(default)]
    pub ended_by_time: bool,
    /// True if the task ran past the time limit to do as many transfers as the fastest rank.
    #[serde(default)]
    pub is_wear_out: bool,
}
