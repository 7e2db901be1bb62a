//! ior: throughput of many ranks into one shared file or a file each, as the tool of that name with
//! its POSIX interface.
//!
//! `shape` defines the tests, `places` the file offsets of each rank's transfers, and `transfer`
//! carries them out. `script` parses the tests of a script, and `series` runs them one after the
//! other. Only the shape knows the number of ranks. Nothing here calls the kernel.

mod classic;
pub mod composed;
mod config;
mod directives;
mod headline;
mod import;
mod job;
mod language;
mod memory;
mod options;
mod output;
mod places;
mod script;
mod series;
mod session;
mod shape;
mod test_output;
mod transfer;
mod words;

use treering_script::{
    ClassicMode, ConfigError, RankDistribution, Settings, Workload, WorkloadManifest,
};

use job::IorJob;
use treering_kit::imitation::JobResult;

/// The line of ior in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&IorWorkload), importer: Some(&import::IorImporter) };

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct IorWorkload;

impl Workload for IorWorkload {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn classic_words(&self, words: Vec<String>) -> Vec<String> {
        words::in_our_form(words)
    }

    fn classic(&self, settings: &Settings) -> JobResult {
        series::classic(settings)
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> JobResult {
        Ok(Box::new(IorJob::native(settings)?))
    }

    fn over_ranks(&self) -> RankDistribution {
        RankDistribution::Workers("workers")
    }

    fn ranks_option(&self) -> Option<&'static str> {
        Some("ranks")
    }
}

/// Checks that a script can be read; `file` is its name in messages.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_script(file: &str, text: &[u8]) -> Result<(), ConfigError> {
    script::of_text(&Settings::default(), file, text).map(drop)
}
