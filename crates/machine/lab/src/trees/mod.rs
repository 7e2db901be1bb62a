//! Trees that a run makes in a user's directory. A mark lists them during the run; after a kill
//! they are found by the mark, and removed if they are still the run's own.

mod clean;
mod judgement;
mod leftovers;
mod manifest;
mod mark;
mod removal;
mod words;

pub use clean::remove_leftovers;
pub use judgement::{LeftoverTrees, RunTree, SparedTree};
pub(crate) use leftovers::find_in;
pub use leftovers::find_leftovers;
pub(crate) use mark::{RunMark, remove_read};
pub(crate) use removal::remove;
