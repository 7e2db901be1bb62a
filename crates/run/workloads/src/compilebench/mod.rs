//! compilebench: ages a filesystem with work on source trees, as Chris Mason's tool does.
//!
//! What is done is decided in the plans, from what in the recipes, and how in the scripts
//! (`change_tree`, `walk_tree`). Nothing here calls the kernel except to read dataset files.

mod change_tree;
mod classic_plan;
mod cpython;
mod cursor;
mod footprint;
mod forward;
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

use treering_classic::compilebench::{tally, text};

use treering_script::Settings;

use crate::imitation::{Made, imitation};
use job::AgingJob;
pub(crate) use plan::OPERATIONS as AGING_PHASE;

imitation!(Compilebench, AgingJob, over_ranks: Apart);

/// The work as part of aging on purpose. In fast-forward, files that go before its end are
/// allocated and not written.
pub(crate) fn aging(settings: &Settings, fast_forward: bool) -> Made {
    Ok(Box::new(AgingJob::native(settings)?.with_fast_forward(fast_forward)))
}
