//! Inventory of a machine and its measured noise, as `treering doctor` finds them. Unknown values
//! are absent in JSON.

use serde::Serialize;

/// Resources available for measurements.
#[derive(Debug, Serialize)]
pub struct MachineInventory {
    /// True when running as root.
    #[serde(rename = "root")]
    pub is_root: bool,
    /// All filesystems that treering can create.
    pub filesystems: Vec<FilesystemSupport>,
    /// Disks, without those in memory and on files.
    pub devices: Vec<DiskSummary>,
    /// True when loop devices can be attached.
    pub loop_devices: bool,
    /// Method for recording block requests: `perf_event` or `tracefs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_tracing: Option<String>,
    /// Original versions of the imitated tools found in `PATH`.
    pub tools: Vec<InstalledTool>,
    /// Files of the directory with outputs that can be imported.
    pub logs: Vec<String>,
}

/// A filesystem type with its availability.
#[derive(Debug, Serialize)]
pub struct FilesystemSupport {
    /// Type name, as used for mounting.
    pub name: &'static str,
    /// True when it can be created and mounted.
    #[serde(rename = "ready")]
    pub is_ready: bool,
    /// True when it is compared by default.
    #[serde(skip)]
    pub is_usual: bool,
    /// Version that its mkfs reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Missing requirements, and how to get them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

/// A disk of the machine.
#[derive(Debug, Serialize)]
pub struct DiskSummary {
    /// Device node below `/dev`.
    pub node: String,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Model that the disk reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// True for a spinning disk, as far as the kernel knows.
    #[serde(rename = "rotational", skip_serializing_if = "Option::is_none")]
    pub is_rotational: Option<bool>,
    /// True when the disk is unused and no data was recognised; requires root.
    #[serde(rename = "free", skip_serializing_if = "Option::is_none")]
    pub is_free: Option<bool>,
}

/// Original version of an imitated tool.
#[derive(Debug, Serialize)]
pub struct InstalledTool {
    /// Name of the tool.
    pub name: &'static str,
    /// Path of the executable.
    pub path: String,
}

/// Measured variation of a fixed piece of work.
#[derive(Debug, PartialEq, Serialize)]
pub struct ProbeNoise {
    /// Probe: `cpu` (arithmetic) or `small_files` (create, write, sync one in 32, remove).
    pub probe: &'static str,
    /// Number of measured values.
    pub n: usize,
    /// Median time of one piece of work, in milliseconds.
    pub median_ms: f64,
    /// Coefficient of variation in percent: standard deviation over mean.
    pub variation_percent: f64,
}

/// Latencies of the disk below a directory, each request waited for.
#[derive(Debug, PartialEq, Serialize)]
pub struct DiskLatencies {
    /// Appending 4 KiB to a file, and `fdatasync`.
    pub synced_write: ProbeLatency,
    /// Reading 4 KiB of the same file with `O_DIRECT`; `None` where that is not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct_read: Option<ProbeLatency>,
}

/// Latency of the requests of a probe.
#[derive(Debug, PartialEq, Serialize)]
pub struct ProbeLatency {
    /// Number of requests.
    pub n: usize,
    /// Median in milliseconds.
    pub median_ms: f64,
    /// Longest request in milliseconds.
    pub max_ms: f64,
}

/// Smallest difference that a comparison of two variants detects with 80 % power at level .05.
#[derive(Debug, PartialEq, Serialize)]
pub struct DetectableDifference {
    /// Probe with more noise, which determines the result.
    pub probe: &'static str,
    /// Number of rounds assumed.
    pub rounds: u32,
    /// Minimum length of a run, in seconds.
    pub run_seconds: u32,
    /// Detectable difference in percent.
    pub percent: f64,
}
