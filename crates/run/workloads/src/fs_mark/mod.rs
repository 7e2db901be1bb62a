//! fs_mark: many files from several workers, synced in one of seven ways, as the tool of that name.
//!
//! What is asked for is in the configuration, the operations are in the scripts (`worker`,
//! `tidy_up`), where files are in the locator, what the original would have printed in its account
//! and its output. Nothing here calls the kernel.

mod account;
mod classic_output;
mod collisions;
mod config;
mod headline;
mod job;
mod locator;
mod naming;
mod options;
mod output;
mod session;
mod shape;
mod tidy_up;
mod worker;

use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

use job::MarkJob;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct FsMark;

impl Workload for FsMark {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(MarkJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(MarkJob::native(settings)?))
    }
}
