//! Rehearsal of IO500: its phases in their order and with its parameters, scaled to minutes.
//!
//! Only the search is measured by this crate's own code. `session` runs the tests of mdtest and
//! ior, whose parts are in `phases`, each in a directory (`beneath`). The analysis computes what a
//! run of full length needs. No score is printed: only IO500 itself scores.

mod beneath;
mod find;
mod import;
mod installed;
mod job;
mod limits;
mod options;
mod session;

use treering_script::{ConfigError, Job, RankDistribution, Settings, Workload, WorkloadManifest};

pub use installed::{
    RESULT, ResultFileError, config_value, newest_result, read_config, read_result,
    result_artifacts,
};
use job::RehearsalJob;

/// The line of io500 in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Io500Workload), importer: Some(&import::Io500Importer) };

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Io500Workload;

impl Workload for Io500Workload {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(RehearsalJob::new(settings)?))
    }

    fn over_ranks(&self) -> RankDistribution {
        RankDistribution::Workers("workers")
    }
}
