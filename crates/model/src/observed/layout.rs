//! A layout on disk, as it is reported, kept and shown: one object of JSON, documented in
//! docs/json.md.
//!
//! What each number means is defined in docs/layout.md; how it is found out is not known here.

use serde::{Deserialize, Serialize};

use super::modelled::ModelledSeconds;

/// The version of this form. Readers leave out what is newer.
pub const LAYOUT_VERSION: u32 = 1;

/// The kind of the artifact that holds a layout.
pub const LAYOUT_ARTIFACT: &str = "layout";

/// The kind of the artifact that holds a map of the device.
pub const LAYOUT_MAP_ARTIFACT: &str = "layout_map";

/// How the name of a layout that was taken in the middle of a phase begins; the number of completed
/// tasks follows. One without a name was taken after its phase.
pub const LAYOUT_AFTER_TASK: &str = "after task ";

/// Where the files of a tree lie, and what is free beside them. A number that does not exist is
/// `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Type of the filesystem, where it is known.
    pub filesystem: Option<String>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Regular files, each counted once.
    pub files: u64,
    /// Directories, the top included.
    pub directories: u64,
    /// Files that were measured, where only a sample was.
    pub sampled_files: Option<u64>,
    /// What was met besides.
    pub passed: LayoutPassed,
    /// Files with blocks at a known place.
    pub placed_files: u64,
    /// Files with data within the metadata.
    pub inline_files: u64,
    /// Files with data that have no place yet.
    pub delayed_files: u64,
    /// Files without data: empty, or nothing but holes.
    pub empty_files: u64,
    /// Files in more than one piece.
    pub fragmented_files: u64,
    /// Pieces of the file that is in most of them.
    pub most_extents: u64,
    /// Extents as the kernel tells them.
    pub extents: LayoutExtents,
    /// Pieces of a file with blocks, on the average.
    pub extents_per_file: Option<f64>,
    /// Share of the blocks, but for the first of each file, that follow the one before in it.
    pub layout_score: Option<f64>,
    /// The same over the whole tree as one reader would go through it.
    pub traversal_score: Option<f64>,
    /// Share of the siblings that begin where the one before ends.
    pub adjacent_siblings: Option<f64>,
    /// Intervals of 95 % of the four before, where only a sample was measured.
    pub intervals: Option<LayoutIntervals>,
    /// Distance between siblings.
    pub gap_bytes: Option<LayoutQuantiles>,
    /// Median over the directories of the stretch over which their files lie, by their bytes.
    pub span_median: Option<f64>,
    /// What reading all files would take on a modelled disk; not known of a sample.
    pub modelled_read: Option<LayoutRead>,
    /// Free space, where it is reported.
    pub free_space: Option<LayoutFree>,
    /// Why free space is not reported.
    pub free_space_problem: Option<String>,
    /// How full the filesystem is.
    pub fullness: LayoutFullness,
}

/// A read of all files in the order of the walk, one request at a time, from their extents alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutRead {
    /// The disk by its name.
    pub disk: String,
    /// For how long it would be busy.
    pub seconds: ModelledSeconds,
}

/// What was met besides files that could be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutPassed {
    /// Further names of files that were met before.
    pub hard_links: u64,
    /// Links, devices, pipes and sockets.
    pub others: u64,
    /// Places where something else is mounted.
    pub mounts: u64,
    /// Files and directories that could not be looked at.
    pub unreadable: u64,
    /// Files that were removed meanwhile.
    pub vanished: u64,
}

/// Extents of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutExtents {
    /// At a known place.
    pub placed: LayoutCount,
    /// Among the metadata.
    pub inline: LayoutCount,
    /// Written, not yet allocated.
    pub delayed: LayoutCount,
    /// Of the placed ones, never written.
    pub unwritten: LayoutCount,
    /// Of the placed ones, used in several places.
    pub shared: LayoutCount,
    /// Of the placed ones, compressed or encrypted.
    pub encoded: LayoutCount,
}

/// A number of extents with their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutCount {
    /// How many.
    pub extents: u64,
    /// Bytes of files in them.
    pub bytes: u64,
}

/// Lower and upper ends of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutIntervals {
    /// Of [`Layout::extents_per_file`].
    pub extents_per_file: Option<(f64, f64)>,
    /// Of [`Layout::layout_score`].
    pub layout_score: Option<(f64, f64)>,
    /// Of [`Layout::traversal_score`].
    pub traversal_score: Option<(f64, f64)>,
    /// Of [`Layout::adjacent_siblings`].
    pub adjacent_siblings: Option<(f64, f64)>,
}

/// Quantiles of sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutQuantiles {
    /// The median.
    pub p50: u64,
    /// Nine of ten are at most this.
    pub p90: u64,
    /// 99 of a hundred are at most this.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// What is free.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutFree {
    /// Free extents.
    pub extents: u64,
    /// Free bytes.
    pub bytes: u64,
    /// Bytes of a free extent on the average.
    pub mean_bytes: Option<f64>,
    /// Bytes of the largest one.
    pub largest_bytes: u64,
    /// Share of the free bytes in extents of 1 MiB and more.
    pub large_share: Option<f64>,
    /// Share of the free bytes in extents below 64 KiB.
    pub small_share: Option<f64>,
    /// By size, ascending; sizes of which there is none are left out.
    pub histogram: Vec<LayoutFreeBin>,
}

/// Free extents of a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFreeBin {
    /// From this size on, a power of two.
    pub from_bytes: u64,
    /// Below this size; `None` for sizes that no number of 64 bits ends.
    pub below_bytes: Option<u64>,
    /// How many.
    pub extents: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How full a filesystem is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFullness {
    /// Of the whole, or, on btrfs, of what is set aside for data.
    pub data: LayoutUse,
    /// Of what is set aside for metadata, on btrfs.
    pub metadata: Option<LayoutUse>,
    /// Inodes, where their number is limited.
    pub inodes: Option<LayoutInodes>,
    /// Bytes that are reserved and unused, on btrfs.
    pub unallocated_bytes: Option<u64>,
}

/// Bytes in use of those there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutUse {
    /// In use.
    pub used_bytes: u64,
    /// There are.
    pub total_bytes: u64,
}

impl LayoutUse {
    /// The share in use; `None` of nothing.
    pub fn share(&self) -> Option<f64> {
        (self.total_bytes > 0).then(|| self.used_bytes as f64 / self.total_bytes as f64)
    }
}

/// Inodes in use of those there can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutInodes {
    /// In use.
    pub used: u64,
    /// There can be.
    pub total: u64,
}

/// A map of the device in cells of one size, the first at address 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMap {
    /// Bytes of a cell.
    pub cell_bytes: u64,
    /// Directories whose files are distinguished. The first, without a name, is for files beside
    /// them.
    pub groups: Vec<LayoutMapGroup>,
    /// The cells.
    pub cells: Vec<LayoutMapCell>,
}

/// Files that are shown in one colour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMapGroup {
    /// The name of their directory.
    pub name: String,
    /// Their bytes.
    pub bytes: u64,
}

/// A part of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMapCell {
    /// Bytes that there are.
    pub space: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes of files, by the place of their group in the list.
    pub groups: Vec<(u16, u64)>,
}
