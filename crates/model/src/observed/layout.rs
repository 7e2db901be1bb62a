//! Layout on disk in the form of reports, the store and pages: one JSON object, documented in
//! docs/json.md.
//!
//! The numbers are defined in docs/layout.md; they are computed elsewhere.

use serde::{Deserialize, Serialize};

use super::modelled::ModelledSeconds;

/// Format version. Readers skip newer versions.
pub const LAYOUT_VERSION: u32 = 1;

/// Artifact kind of a layout.
pub const LAYOUT_ARTIFACT: &str = "layout";

/// Artifact kind of a map of the device.
pub const LAYOUT_MAP_ARTIFACT: &str = "layout_map";

/// Name prefix of a layout taken in the middle of a phase; the number of completed tasks follows. A
/// layout without a name was taken after its phase.
pub const LAYOUT_AFTER_TASK: &str = "after task ";

/// Placement of the files of a tree, and free space. Undefined numbers are `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileLayout {
    /// Filesystem type, if known.
    pub filesystem: Option<String>,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Regular files; hard links count once.
    pub files: u64,
    /// Directories, including the top.
    pub directories: u64,
    /// Number of measured files, if only a sample was measured.
    pub sampled_files: Option<u64>,
    /// Entries that were not measured.
    pub passed: SkippedEntries,
    /// Files with blocks at a known location.
    pub placed_files: u64,
    /// Files with data inline in the metadata.
    pub inline_files: u64,
    /// Files with delayed allocation: data without a location yet.
    pub delayed_files: u64,
    /// Files without data: empty, or only holes.
    pub empty_files: u64,
    /// Files in more than one fragment.
    pub fragmented_files: u64,
    /// Fragments of the most fragmented file.
    pub most_extents: u64,
    /// Extents as reported by the kernel.
    pub extents: LayoutExtents,
    /// Mean number of fragments of a file with blocks.
    pub extents_per_file: Option<f64>,
    /// Share of blocks, except the first of each file, that directly follow the previous block of
    /// the file.
    pub layout_score: Option<f64>,
    /// Same share over the whole tree in the order of a sequential reader.
    pub traversal_score: Option<f64>,
    /// Share of siblings that begin where the previous one ends.
    pub adjacent_siblings: Option<f64>,
    /// 95 % confidence intervals of the four figures before, if only a sample was measured.
    pub intervals: Option<LayoutIntervals>,
    /// Quantiles of the distance between siblings.
    pub gap_bytes: Option<LayoutQuantiles>,
    /// Median over the directories: distance spanned by the files of a directory per byte of
    /// theirs.
    pub span_median: Option<f64>,
    /// Modelled time of reading all files; `None` for a sample.
    pub modelled_read: Option<ModelledRead>,
    /// Free space, if it could be determined.
    pub free_space: Option<LayoutFree>,
    /// Reason why free space is missing.
    pub free_space_problem: Option<String>,
    /// Used share of the filesystem.
    pub fullness: LayoutFullness,
    /// Directories, inodes and trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure: Option<LayoutStructure>,
}

/// Placement of what is not data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutStructure {
    /// Blocks that hold directories, of all kinds together; `None` without any.
    pub directories: Option<LayoutMetadata>,
    /// Blocks of directories, or nodes of trees, by kind.
    pub metadata: Vec<LayoutMetadata>,
    /// Quantiles of the distance of the inode numbers of siblings, in the order of their directory.
    pub inode_distance: Option<LayoutQuantiles>,
    /// Share of siblings whose inode number is the next one.
    pub next_inodes: Option<f64>,
    /// Allocation groups; `None` if they are not known.
    pub groups: Option<LayoutGroups>,
}

/// Blocks of one kind of metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutMetadata {
    /// Kind, in words.
    pub kind: String,
    /// Number of blocks or nodes.
    pub blocks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Stretches in which each block begins where the one before ends.
    pub stretches: u64,
    /// Share of blocks, except the first of each directory or tree level, that directly follow the
    /// one before in its order.
    pub in_order: Option<f64>,
}

/// Allocation groups: block groups of ext4, allocation groups of xfs, data chunks of btrfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutGroups {
    /// All groups.
    pub total: u64,
    /// Groups with the beginning of a file.
    pub used: u64,
    /// Mean number of groups in which the files of a directory begin.
    pub per_directory: Option<f64>,
}

/// Modelled sequential read of all files in walk order, computed from their extents alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelledRead {
    /// Name of the modelled disk.
    pub disk: String,
    /// Busy time of the disk.
    pub seconds: ModelledSeconds,
}

/// Entries that were not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedEntries {
    /// Further hard links to files already counted.
    pub hard_links: u64,
    /// Symbolic links, device nodes, pipes and sockets.
    pub others: u64,
    /// Mount points of other filesystems.
    pub mounts: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// Files removed during the walk.
    pub vanished: u64,
}

/// Extents by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutExtents {
    /// Extents at a known location.
    pub placed: LayoutCount,
    /// Extents inline in the metadata.
    pub inline: LayoutCount,
    /// Extents with delayed allocation.
    pub delayed: LayoutCount,
    /// Placed extents that were allocated but never written.
    pub unwritten: LayoutCount,
    /// Placed extents that are shared.
    pub shared: LayoutCount,
    /// Placed extents that are compressed or encrypted.
    pub encoded: LayoutCount,
}

/// Number of extents and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutCount {
    /// Number of extents.
    pub extents: u64,
    /// File bytes in these extents.
    pub bytes: u64,
}

/// Lower and upper ends of confidence intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutIntervals {
    /// Interval of [`FileLayout::extents_per_file`].
    pub extents_per_file: Option<(f64, f64)>,
    /// Interval of [`FileLayout::layout_score`].
    pub layout_score: Option<(f64, f64)>,
    /// Interval of [`FileLayout::traversal_score`].
    pub traversal_score: Option<(f64, f64)>,
    /// Interval of [`FileLayout::adjacent_siblings`].
    pub adjacent_siblings: Option<(f64, f64)>,
}

/// Quantiles of sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutQuantiles {
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// Free space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutFree {
    /// Number of free extents.
    pub extents: u64,
    /// Free bytes.
    pub bytes: u64,
    /// Mean size of a free extent, in bytes.
    pub mean_bytes: Option<f64>,
    /// Size of the largest free extent, in bytes.
    pub largest_bytes: u64,
    /// Share of the free bytes in extents of at least 1 MiB.
    pub large_share: Option<f64>,
    /// Share of the free bytes in extents below 64 KiB.
    pub small_share: Option<f64>,
    /// Histogram by size, ascending; empty bins are omitted.
    pub histogram: Vec<LayoutFreeBin>,
}

/// Free extents of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFreeBin {
    /// Lower bound of the size, a power of two (inclusive).
    pub from_bytes: u64,
    /// Upper bound of the size (exclusive); `None` if it exceeds 64 bits.
    pub below_bytes: Option<u64>,
    /// Number of extents.
    pub extents: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
}

/// Used share of a filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFullness {
    /// Data space: the whole filesystem, or on btrfs the chunks allocated for data.
    pub data: UsedBytes,
    /// Chunks allocated for metadata, on btrfs.
    pub metadata: Option<UsedBytes>,
    /// Inodes, if their number is limited.
    pub inodes: Option<LayoutInodes>,
    /// Bytes outside of any chunk, on btrfs.
    pub unallocated_bytes: Option<u64>,
}

/// Used and total bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBytes {
    /// Used bytes.
    pub used_bytes: u64,
    /// Total bytes.
    pub total_bytes: u64,
}

impl UsedBytes {
    /// Used share; `None` if the total is 0.
    pub fn share(&self) -> Option<f64> {
        (self.total_bytes > 0).then(|| self.used_bytes as f64 / self.total_bytes as f64)
    }
}

/// Used and total inodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutInodes {
    /// Used inodes.
    pub used: u64,
    /// Total inodes.
    pub total: u64,
}

/// Map of the device in cells of equal size, the first at address 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMap {
    /// Cell size in bytes.
    pub cell_bytes: u64,
    /// Directories with a colour of their own. The first group, without a name, holds all other
    /// files.
    pub groups: Vec<LayoutMapGroup>,
    /// Cells in address order.
    pub cells: Vec<LayoutMapCell>,
}

/// Files shown in one colour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMapGroup {
    /// Directory name.
    pub name: String,
    /// Sum of the file sizes, in bytes.
    pub bytes: u64,
}

/// One cell of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMapCell {
    /// Size of the cell in bytes; the last one may be shorter.
    pub space: u64,
    /// Free bytes.
    pub free: u64,
    /// File bytes by group, as (index in [`LayoutMap::groups`], bytes).
    pub groups: Vec<(u16, u64)>,
}
