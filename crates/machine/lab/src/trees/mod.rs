//! The directories that a run makes in the directory of a user: recorded in a mark while the run
//! goes on, found by it when the run was killed, and removed where they are the run's own.

mod clean;
mod judgement;
mod leftovers;
mod manifest;
mod mark;
mod removal;

pub use clean::remove_leftovers;
pub use judgement::{LeftTree, Leftovers, SparedTree};
pub(crate) use leftovers::find_in;
pub use leftovers::find_leftovers;
pub(crate) use mark::Mark;
pub(crate) use removal::remove;
