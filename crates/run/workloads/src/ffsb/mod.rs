//! FFSB: threads that draw operations by weight over filesystems full of files, as the Flexible
//! File System Benchmark 6.0-RC2.
//!
//! `profile` is the language, `plan` what a worker makes of it, `worker` the operations, `fileset`
//! and `population` the files that all workers share, `prepare` what is done before. Nothing here
//! calls the kernel.

mod fileset;
mod headline;
mod job;
mod names;
mod namespace;
mod options;
mod original_draw;
mod output;
mod plan;
mod population;
mod prepare;
mod session;
mod slots;
mod worker;

use treering_classic::ffsb::{tally, text};
use treering_languages::ffsb::{self as profile, operation};
use treering_script::ConfigError;

use crate::imitation::imitation;
use job::BenchJob;

imitation!(Ffsb, BenchJob, over_ranks: Apart);

/// Whether a profile can be read: its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_profile(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    profile::parse(file, text).map(|profile| profile.warnings)
}
