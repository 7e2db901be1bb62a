//! Deliberate aging: a profile defines the files and their operations, rules define the end.
//!
//! `profile` reads profiles, `generator` draws operations from them, `player` executes them;
//! `fast_forward` tracks files that are only allocated; `rules` and `ending` determine the end;
//! `session`, `history_session` and `through` are the sessions, and `progress` is what they share.
//! Nothing here calls the kernel.

mod ending;
mod fast_forward;
mod from_disk;
mod generator;
mod history;
mod history_session;
mod job;
mod options;
mod player;
mod profile;
mod progress;
mod rules;
mod session;
mod sizes;
mod source_tree;
mod through;

use treering_model::TaskTotals;
use treering_script::{ConfigError, Job, Settings, Workload, WorkloadManifest};

pub use from_disk::{MeasuredTree, measured_profile};
pub use history::{CommitChange, checked_history, history_head, history_step};
use job::AgeJob;
pub use profile::{check_profile, profile_text, profiles};
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
