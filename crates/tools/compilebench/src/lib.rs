//! compilebench: ages a filesystem with work on source trees, as Chris Mason's tool does.
//!
//! The plans determine the operations, the recipes their files, and the scripts (`change_tree`,
//! `walk_tree`) their calls. Nothing here calls the kernel except to read dataset files.

mod change_tree;
mod classic;
mod classic_plan;
mod cpython;
mod cursor;
mod footprint;
mod forward;
mod headline;
mod import;
mod job;
mod native_plan;
mod operation;
mod options;
mod output;
mod plan;
mod recipes;
mod session;
mod walk_tree;

use crate::classic::{tally, text};

use treering_script::Settings;

use job::AgingJob;
pub use plan::OPERATIONS as AGING_PHASE;
use treering_kit::imitation;
use treering_kit::imitation::JobResult;

/// Entry of the tool in the registry.
pub const TOOL: treering_kit::Tool = treering_kit::Tool {
    workload: Some(&Compilebench),
    importer: Some(&import::CompilebenchImporter),
};

imitation!(Compilebench, AgingJob, over_ranks: Apart);

/// Job for deliberate aging. In fast-forward, files that are deleted before the end are allocated
/// and not written.
pub fn aging(settings: &Settings, fast_forward: bool) -> JobResult {
    Ok(Box::new(AgingJob::native(settings)?.with_fast_forward(fast_forward)))
}
