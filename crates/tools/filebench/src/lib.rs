//! filebench: workload files in WML, the language of filebench 1.5, and personalities by name.
//!
//! `language` parses WML and `plan` interprets it; `tree` lays out filesets and `pool` tracks their
//! existing entries; `prepare` creates them, `worker` executes the flowops of a thread. Nothing in
//! this crate calls the kernel.

mod classic;
mod draw;
mod headline;
mod import;
mod job;
mod language;
mod names;
mod namespace;
mod options;
mod output;
mod personalities;
mod plan;
mod pool;
mod prepare;
mod session;
#[cfg(test)]
mod tests;
mod tree;
mod worker;

use crate::classic::{summary, tally, text};
pub use personalities::names as personality_names;
use treering_script::ConfigError;

use job::BenchJob;
use treering_kit::imitation;

/// Entry of filebench in the tool registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Filebench), importer: Some(&import::FilebenchImporter) };

imitation!(Filebench, BenchJob, over_ranks: Apart);

/// Parses a workload file and formats it again, with warnings. `file` is its name in messages.
///
/// # Errors
/// When it cannot be read, or makes no sense; says where, and what would be right.
pub fn show_workload(file: &str, text: &[u8]) -> Result<(String, Vec<String>), ConfigError> {
    let (script, mut faults) = language::parse(file, text, &[])?;
    plan::Plan::new(&script, &plan::PlanOverrides::default(), &mut faults)?;
    Ok((language::text(&script), faults.into_warnings()))
}
