//! dbench: clients that replay a load file of SMB operations on files, as dbench 4.00.
//!
//! `language` parses load files, `player` plays them call by call, `counters` shows the progress of
//! a client, and `clock` decides which time counts. Nothing here calls the kernel.

mod classic;
mod clock;
mod config;
mod counters;
mod headline;
mod import;
mod job;
mod language;
mod load_text;
mod missing;
mod options;
mod output;
mod player;
mod session;
mod weigh;

use crate::classic::{account, text, tick};
pub use crate::language::generate;
use treering_script::ConfigError;

use job::PlayJob;
use treering_kit::imitation;

/// The line of dbench in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Dbench), importer: Some(&import::DbenchImporter) };

imitation!(Dbench, PlayJob, over_ranks: Apart);

/// Checks a load file and returns its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_load(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    language::parse(file, text, None).map(|load| load.warnings)
}
