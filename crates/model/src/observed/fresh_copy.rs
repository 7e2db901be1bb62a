//! A used filesystem beside a fresh one with the same files: where they lie, and what it costs to
//! read them.

use serde::{Deserialize, Serialize};

use crate::Layout;

/// The tree as it is, a fresh copy of it, and recursive reads of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreshCopy {
    /// The layout of the tree as it is.
    pub aged: Layout,
    /// The layout of the copy.
    pub fresh: Layout,
    /// Where the copy was made.
    pub on: String,
    /// How its filesystem was made, an element an argument; empty for a directory.
    pub mkfs: Vec<String>,
    /// What was copied.
    pub copied: CopiedTree,
    /// Whether both give their entries in the same order.
    pub same_order: bool,
    /// The reads, in the order in which they were done.
    pub reads: Vec<ColdRead>,
    /// What makes the figures questionable.
    #[serde(alias = "doubts")]
    pub cautions: Vec<String>,
}

/// What a copy has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedTree {
    /// Files, each once.
    pub files: u64,
    /// Directories below the top.
    pub directories: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of content, without holes.
    pub bytes: u64,
    /// Devices, pipes and sockets, which are not copied.
    pub others: u64,
    /// What could not be read, or was removed meanwhile.
    pub failed: u64,
}

/// A recursive read of one of the two with nothing of it in the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColdRead {
    /// Reads of the same turn are compared; the first is 0.
    pub turn: u32,
    /// Whether it is the copy that was read.
    pub is_fresh: bool,
    /// How long it took.
    pub seconds: f64,
    /// Files.
    pub files: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// What the device was asked, where that could be traced.
    pub requests: Option<ReadRequests>,
    /// While a played disk had requests, by its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_seconds: Option<f64>,
}

/// What a device was asked in a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadRequests {
    /// Reads that it has done.
    pub reads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests more than 64 KiB from the end of the one before.
    pub seeks: u64,
    /// The share of blocks read that follow the block before: the dynamic layout score.
    pub layout_score: Option<f64>,
}
