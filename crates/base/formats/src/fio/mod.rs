//! A run of fio, and its JSON.

mod bins;
mod json;
mod run;

pub use json::run;
pub use run::{COUNTS, DIRECTIONS, Direction, Disk, Job, Run, Spread, Sync, limit_ns};
