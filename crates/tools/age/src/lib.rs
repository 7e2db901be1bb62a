//! Deliberate aging: a profile defines the files and their operations, rules define the end.
//!
//! `profile` reads profiles, `generator` draws operations from them, `player` executes them;
//! `calls` has the names of files; `steps` records what an interrupted run needs to go on, and
//! `restore` makes its files as they were; `fast_forward` tracks files that are only allocated;
//! `rules` and `ending` determine the end;
//! `maintenance` is what is done to the filesystem between operations;
//! `session`, `history_session` and `through` are the sessions, and `progress` is what they share.
//! Nothing here calls the kernel.

mod calls;
mod ending;
mod fast_forward;
mod generator;
mod history;
mod history_session;
mod job;
mod likeness;
mod maintenance;
mod operation;
mod options;
mod player;
mod profile;
mod progress;
mod restore;
mod rules;
mod session;
mod sizes;
mod source_tree;
mod steps;
mod through;

use treering_model::TaskTotals;
use treering_script::{ConfigError, Job, Settings, Workload, WorkloadManifest};

pub use history::{CommitChange, checked_history, history_head, history_step};
use job::AgeJob;
pub use likeness::measured::{MeasuredDirectory, MeasuredSize, MeasuredTree, measured_profile};
pub use profile::{check_profile, profile_text, profiles};
pub use steps::{StepRecord, steps_of};
use treering_kit::ahead::AheadCounters;

/// Entry of the tool in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&AgeWorkload), importer: None };

/// Operations that a task of an aging run carried out; 1 for each task of another workload.
pub fn operations_of(task: &TaskTotals) -> u64 {
    task.counters.read::<AheadCounters>().map_or(1, |counted| counted.operations)
}

/// The aging workload.
#[derive(Clone, Copy, Debug)]
pub struct AgeWorkload;

impl Workload for AgeWorkload {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(AgeJob::new(settings)?))
    }
}

/// True if a run with these settings can continue after its steps.
///
/// # Errors
/// When a setting is wrong.
pub fn can_go_on(settings: &Settings) -> Result<bool, ConfigError> {
    Ok(AgeJob::new(settings)?.resumable().is_ok())
}

/// The aging workload, continued after the steps of an interrupted run.
#[derive(Clone, Debug)]
pub struct ResumedAging {
    /// The steps, as [`steps_of`] reads them.
    pub steps: Vec<StepRecord>,
}

impl Workload for ResumedAging {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(AgeJob::new(settings)?.going_on(self.steps.clone())?))
    }
}
