//! dbench: clients that replay a load file of SMB operations on files, as dbench 4.00.
//!
//! `loadfile` is the language, `player` plays it call by call, `panel` is what a client shows
//! meanwhile, `clock` decides what counts, `account` is what it tells at the end, and `generate`
//! writes a load of our own with the published mix. Nothing here calls the kernel.

mod account;
mod classic_output;
mod clock;
mod config;
mod generate;
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

use treering_languages::loadfile;
use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

pub use generate::{BLOCKS_MAX, text as generate_load};
use job::PlayJob;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Dbench;

impl Workload for Dbench {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(PlayJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(PlayJob::native(settings)?))
    }
}

/// Whether a load file can be read: its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_load(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    loadfile::parse(file, text, None).map(|load| load.warnings)
}
