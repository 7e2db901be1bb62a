//! Which data were hot in a phase, as an artifact tells it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Reads and writes of data in a phase, by file and by range. Shares are from 0 to 1, temperatures
/// accesses of which each counts half for every half life that has passed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatReport {
    /// The half life of the temperature.
    pub half_life_seconds: f64,
    /// Bytes of a range.
    pub range_bytes: u64,
    /// Files that were read or written.
    pub files: u64,
    /// Ranges that were.
    pub ranges: u64,
    /// Reads and writes of all.
    pub total: HeatCounts,
    /// Accesses to files for which there was no more room: they are in the total only.
    pub left_out: u64,
    /// The hottest files, the hottest first.
    pub hottest_files: Vec<HotData>,
    /// The hottest ranges, the hottest first.
    pub hottest_ranges: Vec<HotData>,
    /// What share of the accesses falls on what share of the data that was touched:
    /// `(data, accesses)`.
    pub concentration: Vec<(f64, f64)>,
    /// Where these are requests that a device got: what of them belongs to whom. Accesses as they
    /// were issued have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<HeatOnDevice>,
}

/// Requests of a device, and how much of them is of files that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatOnDevice {
    /// Reads and writes.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of these where files lie.
    pub placed_bytes: u64,
    /// Bytes of these where nothing is any more: files that are gone, or moved. `None` where the
    /// filesystem does not tell what is free.
    pub free_bytes: Option<u64>,
    /// The rest: metadata, the journal, and files elsewhere.
    pub other_bytes: u64,
    /// Requests for which there was no more room.
    pub left_out: u64,
}

/// Where on a device the hot data lie: temperatures of cells of one size, the first at address 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutHeat {
    /// Of what: see [`LayoutHeat::CALLS`] and [`LayoutHeat::REQUESTS`].
    pub of: String,
    /// Bytes of a cell.
    pub cell_bytes: u64,
    /// The temperature of each, up to the last that has one.
    pub cells: Vec<f64>,
}

impl LayoutHeat {
    /// The kind of its artifact.
    pub const KIND: &'static str = "heat_map";
    /// The version of its artifact's body.
    pub const VERSION: u32 = 1;
    /// Accesses as they were issued.
    pub const CALLS: &'static str = "calls";
    /// Requests that the device got.
    pub const REQUESTS: &'static str = "requests";
}

impl HeatReport {
    /// The kind of its artifact.
    pub const KIND: &'static str = "heat";
    /// The version of its artifact's body.
    pub const VERSION: u32 = 1;
    /// Bytes of a range.
    pub const RANGE_BYTES: u64 = 1 << 20;

    /// Of nothing.
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

/// How often data were read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
}

/// A file, or a range of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotData {
    /// The file, from the place under test.
    pub path: String,
    /// Where the range begins in it; 0 for a file.
    pub offset: u64,
    /// How often it was read and written.
    pub counts: HeatCounts,
    /// The mean time between two accesses; none of fewer than two.
    pub mean_interval_ns: Option<u64>,
    /// From the last access to the last one of all.
    pub since_last_ns: u64,
    /// The temperature at the last access of all.
    pub temperature: f64,
    /// Whether the file was removed.
    pub removed: bool,
}
