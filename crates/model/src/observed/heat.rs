//! Access temperature of data in a phase, as an artifact.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Reads and writes in a phase, by file and by range. Shares are between 0 and 1; a temperature is
/// a number of accesses, each weighted by one half per half-life since then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatReport {
    /// Half-life of the temperature, in seconds.
    pub half_life_seconds: f64,
    /// Range size in bytes.
    pub range_bytes: u64,
    /// Number of accessed files.
    pub files: u64,
    /// Number of accessed ranges.
    pub ranges: u64,
    /// Totals over all accesses.
    pub total: HeatCounts,
    /// Accesses to files beyond the table's limit; counted in the total only.
    pub left_out: u64,
    /// Hottest files, in descending order.
    pub hottest_files: Vec<HotData>,
    /// Hottest ranges, in descending order.
    pub hottest_ranges: Vec<HotData>,
    /// Concentration curve as points (share of the touched data, share of the accesses).
    pub concentration: Vec<(f64, f64)>,
    /// Attribution of device requests to files; `None` for accesses as issued by the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<HeatOnDevice>,
}

/// Requests to a device, attributed to existing files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatOnDevice {
    /// Number of reads and writes.
    pub requests: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
    /// Bytes within existing files.
    pub placed_bytes: u64,
    /// Bytes in space that is free by now: the files were removed or moved. `None` if the
    /// filesystem does not report free space.
    pub free_bytes: Option<u64>,
    /// Remaining bytes: metadata, the journal, and files outside of the tree.
    pub other_bytes: u64,
    /// Requests beyond the table's limit.
    pub left_out: u64,
}

/// Heat map of a device: temperatures of cells of equal size, the first at address 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutHeat {
    /// Kind of accesses: [`LayoutHeat::CALLS`] or [`LayoutHeat::REQUESTS`].
    pub of: String,
    /// Cell size in bytes.
    pub cell_bytes: u64,
    /// Temperature of each cell, up to the last one that is not 0.
    pub cells: Vec<f64>,
}

impl LayoutHeat {
    /// Artifact kind.
    pub const KIND: &'static str = "heat_map";
    /// Format version of the artifact's body.
    pub const VERSION: u32 = 1;
    /// Accesses as issued by the workload.
    pub const CALLS: &'static str = "calls";
    /// Requests received by the device.
    pub const REQUESTS: &'static str = "requests";
}

impl HeatReport {
    /// Artifact kind.
    pub const KIND: &'static str = "heat";
    /// Format version of the artifact's body.
    pub const VERSION: u32 = 1;
    /// Range size in bytes.
    pub const RANGE_BYTES: u64 = 1 << 20;

    /// Report without accesses.
    pub fn empty(half_life: Duration) -> Self {
        Self {
            half_life_seconds: half_life.as_secs_f64(),
            range_bytes: Self::RANGE_BYTES,
            files: 0,
            ranges: 0,
            total: HeatCounts::default(),
            left_out: 0,
            hottest_files: Vec::new(),
            hottest_ranges: Vec::new(),
            concentration: Vec::new(),
            device: None,
        }
    }
}

/// Read and write counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatCounts {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Accessed file, or range of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotData {
    /// Path relative to the target.
    pub path: String,
    /// Offset of the range in the file; 0 for a file.
    pub offset: u64,
    /// Reads and writes.
    pub counts: HeatCounts,
    /// Mean time between two accesses in nanoseconds; `None` for fewer than two.
    pub mean_interval_ns: Option<u64>,
    /// Time from the last access of this item to the last access of all, in nanoseconds.
    pub since_last_ns: u64,
    /// Temperature at the time of the last access of all.
    pub temperature: f64,
    /// True if the file was removed.
    pub removed: bool,
}
