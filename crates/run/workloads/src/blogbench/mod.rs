//! blogbench: writers, rewriters, commenters and readers of blogs, which are directories of
//! articles, pictures and comments, as blogbench 1.1 has them.
//!
//! `draws` says what is drawn, `names` what files are called, `thread` what each kind of thread
//! does, `counts` what they count while they work, and `session` puts them side by side and takes a
//! row each interval. Nothing here calls the kernel.

mod classic_output;
mod config;
mod counts;
mod draws;
mod headline;
mod job;
mod names;
mod once;
mod options;
mod output;
mod room;
mod session;
mod thread;

use treering_script::{ClassicMode, ConfigError, Job, Manifest, Settings, Workload};

use job::BlogJob;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Blogbench;

impl Workload for Blogbench {
    fn manifest(&self) -> &'static Manifest {
        &options::MANIFEST
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BlogJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(BlogJob::native(settings)?))
    }
}
