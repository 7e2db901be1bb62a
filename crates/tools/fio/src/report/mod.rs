//! Results of a fio run, and the parser of its JSON.

mod bins;
mod json;
mod run;

pub(crate) use json::{printed, run};
pub(crate) use run::{COUNTS, DIRECTIONS, Direction, Disk, Job, Run, Statistic, limit_ns};
