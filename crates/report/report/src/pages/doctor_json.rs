//! What `treering doctor` found, as data: `treering doctor --format json`. What is not known is
//! absent.

use serde::Serialize;
use treering_model::Fact;

use crate::Warning;
use crate::data::Data;

/// What was found, the worst first.
#[derive(Debug, Serialize)]
pub struct Diagnosis<'d> {
    /// What was looked at: a directory, a device or a plan.
    pub path: &'d str,
    /// Why it cannot be used as it is.
    pub obstacles: &'d [String],
    /// What makes measurements questionable.
    pub cautions: &'d [Warning],
    /// What there is to measure with.
    #[serde(flatten)]
    pub inventory: &'d Inventory,
    /// How much fixed work varied, a line for each probe.
    pub noise: &'d [Noise],
    /// The smallest difference that can be shown here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<&'d Resolution>,
    /// What to try next.
    pub next: &'d [NextCommand],
    /// Findings.
    pub environment: &'d [Fact],
}

/// What there is to measure with.
#[derive(Debug, Serialize)]
pub struct Inventory {
    /// Whether it was root who asked.
    #[serde(rename = "root")]
    pub is_root: bool,
    /// Every filesystem that treering knows how to make.
    pub filesystems: Vec<FilesystemHere>,
    /// Disks, without those in memory and on files.
    pub devices: Vec<DeviceHere>,
    /// Whether loop devices can be attached.
    pub loop_devices: bool,
    /// How requests to block devices can be recorded: `perf_event` or `tracefs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_tracing: Option<String>,
    /// Originals of the imitated tools that are on the path.
    pub tools: Vec<ToolHere>,
    /// Files of the directory with outputs that can be imported.
    pub logs: Vec<String>,
}

/// A filesystem that can be made, or what it lacks.
#[derive(Debug, Serialize)]
pub struct FilesystemHere {
    /// The type by which the kernel mounts it.
    pub name: &'static str,
    /// Whether it can be made and mounted.
    #[serde(rename = "ready")]
    pub is_ready: bool,
    /// Whether it is compared when nobody names filesystems.
    #[serde(skip)]
    pub is_usual: bool,
    /// The version that its mkfs tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What is missing, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

/// A disk.
#[derive(Debug, Serialize)]
pub struct DeviceHere {
    /// Its place below `/dev`.
    pub node: String,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it has moving parts, as far as the kernel knows.
    #[serde(rename = "rotational", skip_serializing_if = "Option::is_none")]
    pub is_rotational: Option<bool>,
    /// Whether nobody uses it and no data was seen at a glance; only root can know.
    #[serde(rename = "free", skip_serializing_if = "Option::is_none")]
    pub is_free: Option<bool>,
}

/// The original of an imitated tool.
#[derive(Debug, Serialize)]
pub struct ToolHere {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub path: String,
}

/// How much a fixed piece of work varied.
#[derive(Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The work: `cpu` (arithmetic) or `small_files` (create, write, sync one in 32, remove).
    pub probe: &'static str,
    /// How many values there were.
    pub n: usize,
    /// The median time of one piece of work.
    pub median_ms: f64,
    /// The coefficient of variation: standard deviation over mean.
    pub variation_percent: f64,
}

/// The smallest difference that a comparison of two would show four times out of five at level .05.
#[derive(Debug, PartialEq, Serialize)]
pub struct Resolution {
    /// The probe with more noise, which decides.
    pub probe: &'static str,
    /// So many rounds.
    pub rounds: u32,
    /// Runs of at least this length.
    pub run_seconds: u32,
    /// The difference.
    pub percent: f64,
}

/// A command to type next.
#[derive(Debug, PartialEq, Serialize)]
pub struct NextCommand {
    /// The command line.
    pub command: String,
    /// What it is for.
    pub purpose: String,
}

impl Data for Diagnosis<'_> {
    const FORMAT: &'static str = "treering doctor";
    const VERSION: u32 = 1;
}
