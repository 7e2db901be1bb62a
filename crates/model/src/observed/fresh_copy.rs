//! Comparison of an aged filesystem with a fresh copy of its files: layout and cold reads.

use serde::{Deserialize, Serialize};

use crate::FileLayout;

/// Aged tree, fresh copy of it, and recursive reads of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreshCopy {
    /// Layout of the aged tree.
    pub aged: FileLayout,
    /// Layout of the copy.
    pub fresh: FileLayout,
    /// Device or directory of the copy.
    pub on: String,
    /// mkfs command of the copy, one element per argument; empty for a directory.
    pub mkfs: Vec<String>,
    /// Content of the copy.
    pub copied: CopiedTree,
    /// True if both trees list their entries in the same order.
    pub same_order: bool,
    /// Reads in the order of execution.
    pub reads: Vec<ColdRead>,
    /// Cautions: reasons to distrust the figures.
    #[serde(alias = "doubts")]
    pub cautions: Vec<String>,
}

/// Content of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedTree {
    /// Files; hard links count once.
    pub files: u64,
    /// Directories below the top.
    pub directories: u64,
    /// Additional hard links.
    pub hard_links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of content, without holes.
    pub bytes: u64,
    /// Device nodes, pipes and sockets, which are not copied.
    pub others: u64,
    /// Entries that could not be read, or were removed during the copy.
    pub failed: u64,
}

/// Recursive read of one of the two trees with cold caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColdRead {
    /// Round, counted from 0; reads of the same round are compared.
    pub turn: u32,
    /// True for a read of the copy.
    pub is_fresh: bool,
    /// Duration in seconds.
    pub seconds: f64,
    /// Number of files.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Device requests, if they could be traced.
    pub requests: Option<ReadRequests>,
    /// Modelled busy time of a played disk, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_seconds: Option<f64>,
}

/// Device requests of one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadRequests {
    /// Completed reads.
    pub reads: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
    /// Requests more than 64 KiB from the end of the previous one.
    pub seeks: u64,
    /// Dynamic layout score: the share of blocks that directly follow the previous block.
    pub layout_score: Option<f64>,
}
