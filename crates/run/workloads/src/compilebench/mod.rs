//! compilebench: ages a filesystem with work on source trees, as Chris Mason's tool does.
//!
//! What is done is decided in the plans, from what in the recipes, and how in the scripts
//! (`change_tree`, `walk_tree`). Nothing here calls the kernel except to read dataset files.

mod change_tree;
mod classic_output;
mod classic_plan;
mod cpython;
mod cursor;
pub mod dataset;
mod footprint;
mod headline;
mod job;
mod native_plan;
mod operation;
mod options;
mod output;
mod plan;
mod recipes;
mod session;
mod walk_tree;

use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

use job::AgingJob;
pub(crate) use plan::OPERATIONS as AGING_PHASE;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Compilebench;

impl Workload for Compilebench {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(AgingJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(AgingJob::native(settings)?))
    }
}
