//! Maintenance between the operations of a run: what a profile says of it, the files that it takes,
//! the code of its tasks, and what it took and gave back.

pub(crate) mod costs;
pub(crate) mod plan;
pub(crate) mod sample;
pub(crate) mod script;
