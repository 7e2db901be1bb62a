//! What a rank of mdtest counts while it works.

use serde::{Deserialize, Serialize};

/// What the task of a rank in a phase came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCounts {
    /// Items that it worked on.
    pub done: u64,
    /// Items that were not there, or were there already.
    pub missed: u64,
    /// Items whose data were not what was written.
    pub wrong: u64,
    /// Whether its time was over before its items were.
    #[serde(default)]
    pub ended_by_time: bool,
    /// Whether it went on after the time was over, to have as many as the fastest.
    #[serde(default)]
    pub is_wear_out: bool,
}
