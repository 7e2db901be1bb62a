//! fio: job files run natively, as fio 3.33 runs them.
//!
//! The language is that of `crate::language`; `scene` is who works when, `layout` makes
//! the files before, `generator` decides which request comes next and `runner` carries it out.
//! `with_fio` has the original do it instead, and `check` compares the two. Nothing else here calls
//! the kernel.

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
mod runner;
mod scene;
mod session;
mod sizes;
mod status;
mod tausworthe;
mod typed;
mod verify;
mod with_fio;
mod worker;

use crate::classic::{histogram, tally};
use crate::language::{Machine, Surroundings, WITH_FIO};
use treering_script::{ClassicMode, ConfigError, Job, Manifest, OverRanks, Settings, Workload};

pub use generator::rejected_draws;
pub use help::native_help;
use job::FileJob;
pub use typed::not_native;
use with_fio::ForeignJob;
pub use with_fio::installed;

/// The line of fio in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Fio), importer: Some(&import::Fio) };

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Fio;

impl Workload for Fio {
    fn manifest(&self) -> &'static Manifest {
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
        match with_fio::asked(settings) {
            None => Ok(Box::new(FileJob::native(settings)?)),
            Some(path) => {
                offered::refuse_with_fio(settings)?;
                Ok(Box::new(ForeignJob::new(&with_fio::straightened(settings), path, &|_| {
                    Vec::new()
                })?))
            }
        }
    }

    fn over_ranks(&self) -> OverRanks {
        OverRanks::Apart
    }
}

impl Fio {
    /// Whether the option says how requests are offered by the clock, or where their files are:
    /// `treering load` says that itself.
    pub fn of_offered_load(option: &str) -> bool {
        option == options::REUSE || options::OF_OFFERED_LOAD.contains(&option)
    }

    /// The settings of a run whose requests come by the clock, from those of a job file.
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
        settings.with_given(settings.given().iter().cloned().chain(own).collect())
    }
}

/// A load to be offered. Times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Requests a second.
    pub per_second: u64,
    /// `poisson` or `fixed`.
    pub arrivals: String,
    /// For how long it counts.
    pub seconds: f64,
    /// For how long it is offered before that.
    pub warm_up: f64,
    /// For how long requests may still end after that.
    pub grace: f64,
    /// Times of which late requests are counted, with commas between.
    pub late: String,
    /// Decides when requests come.
    pub seed: u64,
}

/// An error under fio's own name, where `--with-fio` is no option: the installed fio gets such a
/// job without being asked.
fn without_option(mut error: ConfigError) -> ConfigError {
    error.message = error.message.replace(WITH_FIO, LEAVE_OUT);
    error.hint = error.hint.map(|hint| hint.replace(WITH_FIO, LEAVE_OUT));
    error
}

const LEAVE_OUT: &str = "leave it out";

/// The jobs of a file with every option resolved, written as a job file again. `file` is its name
/// in errors. It includes no other, and knows no environment.
///
/// # Errors
/// When it cannot be read; says where, and what would be right.
pub fn show_job_file(file: &str, text: &[u8]) -> Result<String, ConfigError> {
    let reader = |_: &str, _: &str| Err("no file is included here".to_owned());
    let environment = |_: &str| None;
    let machine = Machine { cpus: 1, page_bytes: 4096, memory_mib: 1024 };
    let around = Surroundings::new(&reader, &environment, machine);
    language::parse(file, text, &[], &around).map(|jobs| language::show(&jobs))
}
