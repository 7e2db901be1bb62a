//! Results of `treering doctor` as data: `treering doctor --format json`. Unknown values are
//! absent.

use serde::Serialize;
use treering_model::{DetectableDifference, Fact, MachineInventory, ProbeNoise};

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

/// A suggested command.
#[derive(Debug, PartialEq, Serialize)]
pub struct NextCommand {
    /// Command line to run.
    pub command: String,
    /// Purpose of the command.
    pub purpose: String,
}

impl Data for Diagnosis<'_> {
    const FORMAT: &'static str = "treering doctor";
    const VERSION: u32 = 1;
}
