//! fio: job files run natively, as fio 3.33 runs them.
//!
//! `language` parses job files; `run_plan` orders the clones, `layout` creates the files,
//! `generator` chooses the requests and `runner` issues them. `with_fio` has the original do it
//! instead, and `check` compares the two. Nothing else in this crate calls the kernel.

pub mod check;
mod classic;
mod file_hash;
mod generator;
mod headline;
mod help;
mod import;
mod job;
mod language;
mod layout;
mod logs;
mod namespace;
mod offered;
mod options;
mod output;
mod random_map;
mod report;
mod run_plan;
mod runner;
mod session;
mod sizes;
mod status;
mod tausworthe;
mod typed;
mod verify;
mod with_fio;
mod worker;

use crate::classic::{histogram, tally};
use crate::language::{Machine, ParseContext, WITH_FIO};
use treering_script::{
    ClassicMode, ConfigError, Job, RankDistribution, Settings, Workload, WorkloadManifest,
};

pub use generator::rejected_draws;
pub use help::native_help;
use job::FileJob;
pub use job::{named_devices, options_of_words};
pub use typed::not_native;
use with_fio::ForeignJob;
pub use with_fio::{FioCommandLine, installed};

/// Entry of fio in the tool registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Fio), importer: Some(&import::Fio) };

/// The fio workload.
#[derive(Clone, Copy, Debug)]
pub struct Fio;

impl Workload for Fio {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn classic_words(&self, words: Vec<String>) -> Vec<String> {
        typed::collected(words)
    }

    fn classic(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Ok(Box::new(FileJob::classic(settings).map_err(without_option)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings).map_err(without_option)
    }

    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        match with_fio::fio_path(settings) {
            None => Ok(Box::new(FileJob::native(settings)?)),
            Some(path) => {
                offered::refuse_with_fio(settings)?;
                Ok(Box::new(ForeignJob::new(
                    &with_fio::with_job_file_option(settings),
                    path,
                    &|_| Vec::new(),
                )?))
            }
        }
    }

    fn over_ranks(&self) -> RankDistribution {
        RankDistribution::Apart
    }
}

impl Fio {
    /// True for options that `treering load` sets itself: those of the offered load, and the one
    /// that reuses files.
    pub fn of_offered_load(option: &str) -> bool {
        option == options::REUSE || options::OF_OFFERED_LOAD.contains(&option)
    }

    /// Settings of an offered load, from those of a job file.
    pub fn offering(settings: &Settings, load: &OfferedLoad) -> Settings {
        let OfferedLoad { per_second, arrivals, seconds, warm_up, grace, late, seed } = load;
        let number = |name: &str, value: f64| (name.to_owned(), value.to_string());
        let own = [
            (options::OFFERED_RATE.to_owned(), per_second.to_string()),
            (options::ARRIVALS.to_owned(), arrivals.clone()),
            number(options::OFFERED_SECONDS, *seconds),
            number(options::WARM_UP, *warm_up),
            number(options::GRACE, *grace),
            (options::LATE.to_owned(), late.clone()),
            (options::SEED.to_owned(), seed.to_string()),
            (options::REUSE.to_owned(), "true".to_owned()),
        ];
        settings.with_options(settings.options().iter().cloned().chain(own).collect())
    }
}

/// Offered load. Times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Requests a second.
    pub per_second: u64,
    /// Distribution of the arrivals: `poisson` or `fixed`.
    pub arrivals: String,
    /// Measured time, in seconds.
    pub seconds: f64,
    /// Warm-up before the measured time, in seconds.
    pub warm_up: f64,
    /// Time after the last arrival in which requests may still end, in seconds.
    pub grace: f64,
    /// Lateness limits, separated by commas.
    pub late: String,
    /// Seed of the arrival times.
    pub seed: u64,
}

/// Reports an error under fio's own name, if the user did not choose `--with-fio`: the installed
/// fio gets such jobs by itself.
fn without_option(mut error: ConfigError) -> ConfigError {
    error.message = error.message.replace(WITH_FIO, LEAVE_OUT);
    error.hint = error.hint.map(|hint| hint.replace(WITH_FIO, LEAVE_OUT));
    error
}

const LEAVE_OUT: &str = "leave it out";

/// Resolves a job file and formats it as a job file again. `file` is its name in errors. It may not
/// include others, and has an empty environment.
///
/// # Errors
/// When it cannot be read; says where, and what would be right.
pub fn show_job_file(file: &str, text: &[u8]) -> Result<String, ConfigError> {
    let reader = |_: &str, _: &str| Err("no file is included here".to_owned());
    let environment = |_: &str| None;
    let machine = Machine { cpus: 1, page_bytes: 4096, memory_mib: 1024 };
    let around = ParseContext::new(&reader, &environment, machine);
    language::parse(file, text, &[], &around).map(|jobs| language::show(&jobs))
}
