//! Interfaces to the program that conducts a plan: the store of results, the host that shows
//! messages and reads the clock, and the options of a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_engine::RunProgress;
use treering_lab::{BootLoader, ContinuationUnit};
use treering_model::{Artifact, Caution, Cell, TrialId, TrialSink};
use treering_script::{Job, Workload};
use treering_stats::StoppingRule;
use treering_sys::StopFlag;

use crate::failure::Failure;
use crate::plan::Judging;

/// A trial of a plan that the store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCell {
    /// The trial.
    pub trial: TrialId,
    /// Cell of the campaign that the trial executed.
    pub cell: Cell,
    /// True if the trial ended without being interrupted.
    pub is_result: bool,
    /// True if the trial failed.
    pub has_failed: bool,
    /// True if the user excluded the trial from comparisons.
    pub is_excluded: bool,
}

/// A completed trial of a workload, from which the cost of another trial is estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierTrial {
    /// Parameters of the trial, as (name, value).
    pub parameters: Vec<(String, String)>,
    /// Start of the trial as Unix time in milliseconds.
    pub started_unix_ms: i64,
    /// Duration of the trial; in a guest, with its boot, on the clock of the host.
    pub seconds: f64,
    /// True if it ran in a guest.
    pub is_of_guest: bool,
    /// Cell of a plan to which it belongs, if any.
    pub cell: Option<Cell>,
}

/// A completed trial of the warm-up, from which the size of its job is determined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmUpTrial {
    /// Name and seconds of each phase, on the clock of the host.
    pub phases: Vec<(String, f64)>,
    /// Seconds of the boot of its guest; 0 without a guest.
    pub boot_seconds: f64,
    /// Free bytes of the filesystem before the trial, if known.
    pub free_bytes: Option<u64>,
    /// Free inodes of the filesystem before the trial, if the filesystem limits them.
    pub free_inodes: Option<u64>,
}

/// A trial that is about to be recorded.
pub struct RecordedTrial<'a> {
    /// Identity of the trial.
    pub trial: TrialId,
    /// True if the trial runs even when the store cannot record it.
    pub is_optional: bool,
    /// Directories under test: the store must not write to their filesystems.
    pub under_test: &'a [&'a Path],
    /// Flag that the store raises to end the trial when it can take no more events.
    pub stop: &'a StopFlag,
}

/// A variant or one of its jobs, with the measured trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredVariant {
    /// Name of the variant, or of the job on it.
    pub name: String,
    /// Name of the baseline; its own name if it is only a baseline.
    pub baseline: String,
    /// True for a job that is compared with another job.
    pub is_job: bool,
    /// Trials of the measured rounds.
    pub trials: Vec<TrialId>,
}

/// Interim result of a campaign.
#[derive(Default)]
pub struct Standing {
    /// Comparison of the variants; `None` if there is nothing to compare.
    pub comparison: Option<Box<dyn Comparison>>,
    /// Number of rounds with an excluded trial; such rounds count as not measured.
    pub incomplete: u32,
    /// Time from the beginning of the first trial to the end of the last.
    pub seconds: f64,
}

/// Comparison of the variants of a plan.
pub trait Comparison {
    /// True if the stopping rule asks for another round after `rounds` complete ones.
    fn wants_more(&self, rule: &StoppingRule, rounds: u32) -> bool;

    /// A line for each contender that has primary ratios: its name, the baseline and the ratios.
    fn lines(&self) -> Vec<String>;
}

/// Store of results: keeps the trials of a plan and compares them. A program without a store
/// implements only `record`; every plan then starts from the beginning.
pub trait ResultStore {
    /// True if trials are kept at all.
    fn keeps_results(&self) -> bool {
        true
    }

    /// Calls `run` once with a sink, whose events it records, and with a caution about the location
    /// of the store, if any.
    ///
    /// # Errors
    /// When the store cannot be opened, or cannot record every event.
    fn record(
        &self,
        trial: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure>;

    /// The trials of the plans of this name, newest first. A missing store has no trials; it is an
    /// error if a plan is resumed.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn cells(&self, _plan: &str, _resumes: bool) -> Result<Vec<StoredCell>, Failure> {
        Ok(Vec::new())
    }

    /// The parameters of each of these trials.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn parameters(&self, _trials: &[TrialId]) -> Result<Vec<Vec<(String, String)>>, Failure> {
        Ok(Vec::new())
    }

    /// Value of this fact of each trial that has it, in any order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn facts(&self, _name: &str) -> Result<Vec<(TrialId, String)>, Failure> {
        Ok(Vec::new())
    }

    /// Artifacts of this kind from all trials, oldest trial first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn artifacts(&self, _kind: &str) -> Result<Vec<(TrialId, Artifact)>, Failure> {
        Ok(Vec::new())
    }

    /// The completed trials among these warm-up trials.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn warm_ups(&self, _trials: &[TrialId]) -> Result<Vec<WarmUpTrial>, Failure> {
        Ok(Vec::new())
    }

    /// The completed trials among the `limit` newest of a workload.
    ///
    /// # Errors
    /// When the store cannot be read. A store that cannot be opened has no trials.
    fn earlier(&self, _workload: &str, _limit: usize) -> Result<Vec<EarlierTrial>, Failure> {
        Ok(Vec::new())
    }

    /// Durations in seconds of the `limit` newest boots of guests, on the clock of the host.
    ///
    /// # Errors
    /// When the store cannot be read. A store that cannot be opened has no boots.
    fn boots(&self, _limit: usize) -> Result<Vec<f64>, Failure> {
        Ok(Vec::new())
    }

    /// Compares each of these variants with its baseline.
    ///
    /// # Errors
    /// When the store cannot be read, or the trials cannot be compared.
    fn standing(
        &self,
        _variants: &[MeasuredVariant],
        _judging: &Judging,
    ) -> Result<Standing, Failure> {
        Ok(Standing::default())
    }

    /// Makes a store that the user named, so that it exists after the next boot.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make_named(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Path of the store's file; `None` for a store without a file. A file that the user named must
    /// not be on the filesystem of one of these directories.
    ///
    /// # Errors
    /// When the file is on such a filesystem, or its path cannot be determined.
    fn file(&self, _under_test: &[&Path]) -> Result<Option<PathBuf>, Failure> {
        Ok(None)
    }
}

/// The program that conducts a plan.
pub trait Host {
    /// Shows a message to the user.
    fn say(&self, words: &str);

    /// The wall clock: milliseconds since 1970 (UTC).
    fn unix_ms(&self) -> i64;

    /// Further sinks for the events of a trial of this job, such as a display.
    fn listeners(&self, _job: &dyn Job, _progress: &Arc<RunProgress>) -> Vec<Box<dyn TrialSink>> {
        Vec::new()
    }

    /// Fingerprint of the files of a user's own data set; `None` for a shipped data set, which is
    /// identified by its name, and for a missing one.
    fn data_set_fingerprint(&self, _name: &str) -> Option<String> {
        None
    }

    /// The command that continues the plan after a boot.
    ///
    /// # Errors
    /// When the program cannot be started that way.
    fn continuation(&self) -> Result<ContinuationUnit, Failure> {
        let message = "this program does not continue plans after a boot";
        Err(Failure::usage(message))
    }
}

/// A point of a series of measurements: its label and facts go to each trial.
#[derive(Clone, Debug)]
pub struct SeriesPoint {
    /// The label of its trials.
    pub label: String,
    /// Facts of its trials, by name.
    pub facts: Vec<(&'static str, String)>,
}

/// Options of a run of a plan.
#[derive(Default)]
pub struct PlanOptions<'a> {
    /// Continue the newest campaign of the plan.
    pub resume: bool,
    /// Show failures and cautions only.
    pub quiet: bool,
    /// True if the first failing trial ends the plan.
    pub gives_up: bool,
    /// True if the plan is part of a larger run, which fixes the number of rounds.
    pub is_part: bool,
    /// Point of a series to which the trials belong.
    pub point: Option<SeriesPoint>,
    /// Block devices that may be erased.
    pub erase: Vec<PathBuf>,
    /// The workloads that the jobs are made of.
    pub workloads: &'a [&'static dyn Workload],
    /// The search path for programs.
    pub search_path: OsString,
    /// The directory of the plan's file: names in options are relative to it.
    pub plan_dir: Option<PathBuf>,
    /// Options of jobs on several ranks.
    pub ranks: RankOptions,
    /// Options of plans that reboot the machine.
    pub reboots: RebootOptions,
}

/// Options for jobs on several ranks.
#[derive(Default)]
pub struct RankOptions {
    /// Program to launch, unless the plan names one.
    pub program: Option<PathBuf>,
    /// Path of this program.
    pub own: PathBuf,
    /// True if this program is built with MPI, so that a launcher can start it.
    pub own_has_mpi: bool,
    /// The name of this machine.
    pub host: String,
    /// Launch of this process by a parallel launcher.
    pub launch: Option<ParallelLaunch>,
}

/// Launch of several processes by a parallel launcher, recognised by environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParallelLaunch {
    /// Number of processes.
    pub size: u64,
    /// Environment variable that holds the number of processes.
    pub variable: &'static str,
    /// Name of the launcher.
    pub launcher: &'static str,
}

/// Options for plans that reboot the machine.
#[derive(Default)]
pub struct RebootOptions {
    /// True if rebooting the machine is allowed.
    pub is_allowed: bool,
    /// Boot loader for one-time boots; `None` selects the first one that supports them.
    pub loader: Option<BootLoader>,
    /// Root directory of the machine; `None` means `/`.
    pub root: Option<PathBuf>,
}
