//! bonnie++: twelve tests, six on one large file and six on many small ones, as bonnie++ 2.00a.
//!
//! `config`, `spec` and `native` read what is asked for into a `shape`; the code of the tests is in
//! `io`, `seeks`, `files` and `prepare`; `meter` is what they take down, `headline` the
//! numbers made of it, `classic_output` the original's table and line. Nothing here calls the
//! kernel.

mod classic_output;
mod config;
mod dice;
mod files;
mod headline;
mod identity;
mod io;
mod job;
mod meter;
mod names;
mod native;
mod options;
mod output;
mod prepare;
mod seeks;
mod session;
mod shape;
mod spec;
mod test;

use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

use job::BonnieJob;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Bonnie;

impl Workload for Bonnie {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BonnieJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BonnieJob::native(settings)?))
    }
}
