//! FFSB: threads that draw operations by weight over filesystems full of files, as the Flexible
//! File System Benchmark 6.0-RC2.
//!
//! `language` parses profiles, `plan` prepares the work of a worker, `worker` carries out the
//! operations, `fileset` and `population` manage the files shared by all workers, `prepare` sets up
//! the filesystems. Nothing here calls the kernel.

mod classic;
mod fileset;
mod headline;
mod import;
mod job;
mod language;
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

use crate::classic::{tally, text};
use crate::language::operation;
use treering_script::ConfigError;

use job::BenchJob;
use treering_kit::imitation;

/// The line of ffsb in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Ffsb), importer: Some(&import::FfsbImporter) };

imitation!(Ffsb, BenchJob, over_ranks: Apart);

/// Checks a profile and returns its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_profile(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    language::parse(file, text).map(|profile| profile.warnings)
}
