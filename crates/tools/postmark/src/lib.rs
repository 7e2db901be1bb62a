//! PostMark: the small files of a mail server, which are read, appended to, created and deleted at
//! random, as in PostMark 1.5.
//!
//! `twister` generates the random numbers, `pool` draws the operations from them, `worker` makes
//! the calls of an operation, `session` runs the phases. Nothing here calls the kernel.

mod headline;
mod import;
mod job;
mod options;
mod pool;
mod report;
mod session;
mod twister;
mod worker;

use treering_script::{ConfigError, Job, Settings, Workload, WorkloadManifest};

/// The line of PostMark in the registry.
pub const TOOL: treering_kit::Tool = treering_kit::Tool {
    workload: Some(&PostmarkWorkload),
    importer: Some(&import::PostmarkImporter),
};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct PostmarkWorkload;

impl Workload for PostmarkWorkload {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(job::PostmarkJob::native(settings)?))
    }
}
