//! compilebench 0.6.

pub mod tally;
pub mod text;
