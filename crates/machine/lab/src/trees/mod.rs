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
pub use leftovers::find_leftovers;
pub(crate) use leftovers::{find_in, find_kept, in_one_line};
pub(crate) use mark::RunMark;
pub(crate) use removal::remove;
