//! Tests of the engine from outside: whole sessions on real directories and in memory.
//!
//! `operations` and `stage` are shared helpers; each other file covers one topic. Tests that mount
//! something need root and say so when they are skipped.
#![expect(clippy::unwrap_used, reason = "tests say what is wrong by where they stop")]

mod commons;
mod conducting;
mod escapes;
mod full_disk;
mod groups;
mod heat;
mod limits;
mod operations;
mod oracle_agreement;
mod processes;
mod queues;
mod ranks;
mod removal;
mod stage;
mod whole_paths;
