//! dbench: clients that replay a load file of SMB operations on files, as dbench 4.00.
//!
//! `loadfile` is the language, `player` plays it call by call, `panel` is what a client shows
//! meanwhile, `clock` decides what counts. Nothing here calls the kernel.

mod clock;
mod config;
mod headline;
mod job;
mod load_text;
mod missing;
mod options;
mod output;
mod panel;
mod player;
mod session;
mod weigh;

use treering_classic::dbench::{account, text, tick};
use treering_languages::loadfile;
use treering_script::ConfigError;

use crate::imitation::imitation;
use job::PlayJob;

imitation!(Dbench, PlayJob, over_ranks: Apart);

/// Whether a load file can be read: its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_load(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    loadfile::parse(file, text, None).map(|load| load.warnings)
}
