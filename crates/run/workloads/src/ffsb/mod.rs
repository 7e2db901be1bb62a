//! FFSB: threads that draw operations by weight over filesystems full of files, as the Flexible
//! File System Benchmark 6.0-RC2.
//!
//! `profile` is the language, `plan` what a worker makes of it, `worker` the operations, `fileset`
//! and `population` the files that all workers share, `prepare` what is done before, and `tally`
//! the original's way of counting, which `classic_output` prints. Nothing here calls the kernel.

mod classic_output;
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
mod tally;
mod worker;

use treering_languages::ffsb::{self as profile, operation};
use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

use job::BenchJob;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Ffsb;

impl Workload for Ffsb {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BenchJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BenchJob::native(settings)?))
    }
}

/// Whether a profile can be read: its warnings, with line and column. `file` is its name in them.
///
/// # Errors
/// When it cannot; says where, and what would be right.
pub fn check_profile(file: &str, text: &[u8]) -> Result<Vec<String>, ConfigError> {
    profile::parse(file, text).map(|profile| profile.warnings)
}
