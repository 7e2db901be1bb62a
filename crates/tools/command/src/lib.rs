//! Workload that runs any program in the directory under test, with a command before and one after
//! it, and takes metrics from its output.
//!
//! `command_line` parses the command, `found` finds numbers in an output, `job` describes the work,
//! `session` runs it and takes its results. The engine starts the programs and ends what they
//! leave.

mod command_line;
mod found;
mod job;
mod options;
mod session;

use treering_script::{ConfigError, Job, Settings, Workload, WorkloadManifest};

use command_line::CommandJob;

/// Entry of command in the tool registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&AnyCommand), importer: None };

/// Workload of any program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyCommand;

impl Workload for AnyCommand {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(CommandJob::new(settings)?))
    }
}
