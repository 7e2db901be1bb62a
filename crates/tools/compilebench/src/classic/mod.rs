//! compilebench 0.6.

pub(crate) mod tally;
pub(crate) mod text;
