//! Counters of an mdtest rank.

use serde::{Deserialize, Serialize};

/// Counters of a rank's task in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCounts {
    /// Processed items.
    pub done: u64,
    /// Items that were missing, or existed already.
    pub missed: u64,
    /// Items with wrong data.
    pub wrong: u64,
    /// True if the time limit ended the task before its items were done.
    #[serde(default)]
    pub ended_by_time: bool,
    /// True if the task ran past the time limit to process as many items as the fastest rank.
    #[serde(default)]
    pub is_wear_out: bool,
}
