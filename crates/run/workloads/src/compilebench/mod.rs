//! compilebench: ages a filesystem with work on source trees, as Chris Mason's tool does.
//!
//! What is done is decided in the plans, from what in the recipes, and how in the scripts
//! (`change_tree`, `walk_tree`). Nothing here calls the kernel except to read dataset files.

mod change_tree;
mod classic_plan;
mod cpython;
mod cursor;
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

use treering_classic::compilebench::{tally, text};

use crate::imitation::imitation;
use job::AgingJob;
pub(crate) use plan::OPERATIONS as AGING_PHASE;

imitation!(Compilebench, AgingJob);
