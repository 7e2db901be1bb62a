//! Exchange of trials with other stores by packs.

mod merging;
mod packing;

pub use merging::{MergeError, MergedCounts, PackMerge};
pub use packing::{PackedTrials, PackingError};
