//! Results of `treering doctor` as data: `treering doctor --format json`. Unknown values are
//! absent.

use serde::Serialize;
use treering_model::{
    DetectableDifference, DiskLatencies, Fact, MachineInventory, ProbeNoise, quoted,
};

use crate::Warning;
use crate::data::Data;

/// Results of a diagnosis, the most severe first.
#[derive(Debug, Serialize)]
pub struct Diagnosis<'d> {
    /// Path examined: a directory, a device or a plan.
    pub path: &'d str,
    /// Reasons why the target cannot be used in its present state.
    pub obstacles: &'d [String],
    /// Cautions about measurements on the target.
    pub cautions: &'d [Warning],
    /// Inventory of filesystems, devices and tools.
    #[serde(flatten)]
    pub inventory: &'d MachineInventory,
    /// Store of the results; `None` where it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<&'d StoreFindings>,
    /// Latencies of the directory's disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<&'d DiskLatencies>,
    /// Measured noise, one entry for each probe.
    pub noise: &'d [ProbeNoise],
    /// Smallest detectable difference on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<&'d DetectableDifference>,
    /// Suggested next commands.
    pub next: &'d [NextCommand],
    /// Facts about the environment.
    pub environment: &'d [Fact],
}

/// Verbs of suggested commands that store results.
const STORING: [&str; 3] = ["treering compare", "treering run", "treering import"];

/// Store in which results are kept.
#[derive(Debug, PartialEq, Serialize)]
pub struct StoreFindings {
    /// Path of the file, which need not exist yet.
    pub path: String,
    /// Start of the newest trial, in milliseconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_unix_ms: Option<i64>,
}

/// A suggested command.
#[derive(Debug, PartialEq, Serialize)]
pub struct NextCommand {
    /// Command line to run.
    pub command: String,
    /// Purpose of the command.
    pub purpose: String,
}

impl NextCommand {
    /// Names the store in the command, if it stores results.
    pub fn name_store(&mut self, store: &str) {
        if STORING.iter().any(|verb| self.command.contains(verb)) {
            self.command += &format!(" --store {}", quoted(store));
        }
    }
}

impl Data for Diagnosis<'_> {
    const FORMAT: &'static str = "treering doctor";
    const VERSION: u32 = 1;
}
