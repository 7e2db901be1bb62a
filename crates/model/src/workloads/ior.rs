//! What a rank of ior counts while it moves data.

use serde::{Deserialize, Serialize};

/// When something began and ended, in nanoseconds from the start of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When it began.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
}

/// What the task of a rank in a test came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferCounts {
    /// The open of the file.
    pub open: Times,
    /// From there to the last transfer, its fsync included.
    pub moved: Times,
    /// The close.
    pub close: Times,
    /// Transfers.
    pub transfers: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Transfers whose data were not what was written.
    pub wrong: u64,
    /// Whether its time was over before its transfers were.
    #[serde(default)]
    pub ended_by_time: bool,
    /// Whether it went on after the time was over, to have as many as the fastest.
    #[serde(default)]
    pub is_wear_out: bool,
}
