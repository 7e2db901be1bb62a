//! Native runs of a workload outside of plans: engine options, observations, and the trial itself.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use treering_engine::{
    EngineOptions, HANDICAP_PERCENT_MAX, LatencyMode, PayloadKind, RunProgress, Target,
};
use treering_lab::{EraseList, Lab, OwnedDirectory, RemountableFilesystem, RunTree};
use treering_model::{TrialId, TrialSink, counted};
use treering_observe::layout::LayoutSchedule;
use treering_observe::{FunctionName, ObserverOptions};
use treering_script::{
    ClassicPayload, ExistingFiles, Footprint, Job, JobRecord, Settings, TargetFacts, Workload,
};

use super::devices::take_written;
use super::{RankShare, TrialOutcome, TrialRequest, run_trial, sources, take_named};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, ResultStore};
use crate::plan::{JobEngine, JobOfRanks, JobPayload, TimedCalls, function_names};
use crate::rank_group::Ranks;

/// Options of a native run.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// Directory to work in; `None` for a dry run.
    pub dir: Option<PathBuf>,
    /// Label of the trial.
    pub label: String,
    /// Contents of files: `random`, or `classic` for what the imitated tool writes.
    pub payload: String,
    /// Compressible share of random contents, such as `30%`.
    pub compressibility: String,
    /// Calls that are timed: `all`, `sampled` or `off`.
    pub latency: String,
    /// Slowdown of every task, such as `5%`.
    pub handicap: String,
    /// True if block traces are recorded.
    pub trace: bool,
    /// Functions of the kernel whose latencies are measured.
    pub functions: Vec<FunctionName>,
    /// True if hot data is recorded.
    pub heat: bool,
    /// Half-life of an access's contribution to the temperature.
    pub heat_half_life: Duration,
    /// True if the layout is measured after each phase.
    pub layout: bool,
    /// Number of tasks between two additional layouts.
    pub layout_every: Option<u32>,
    /// True if the trees of the trial are kept.
    pub keep: bool,
    /// Devices with content that the job may write.
    pub erase: Vec<PathBuf>,
    /// True if neither progress nor footprint is shown.
    pub quiet: bool,
    /// Maximum silence of a worker process or a rank.
    pub rank_timeout: Duration,
}

/// The program that conducts a native run.
pub trait NativeHost: Host {
    /// The lab, which unmounts filesystems and mounts them again.
    fn lab(&self) -> Lab;

    /// Mounts filesystems again that killed runs left unmounted.
    fn mount_again(&self);

    /// Sinks of the trial's events besides the store, for a run of this many operations.
    ///
    /// # Errors
    /// When a sink cannot be opened.
    fn sinks(
        &self,
        operations: u64,
        progress: &Arc<RunProgress>,
    ) -> Result<Vec<Box<dyn TrialSink>>, Failure>;

    /// Shows the ending of a trial that is part of a larger run.
    ///
    /// # Errors
    /// When the ending cannot be shown.
    fn show_ending(&self, outcome: &TrialOutcome) -> Result<(), Failure>;
}

/// A native run that is configured and has not begun.
pub struct NativeRun<'a> {
    workload: &'static dyn Workload,
    options: &'a NativeOptions,
    ranks: Option<&'a Ranks<'a>>,
    job: JobOfRanks,
    engine: EngineOptions,
}

impl<'a> NativeRun<'a> {
    /// Configures a run on one or several ranks.
    ///
    /// # Errors
    /// When a setting or an option is wrong.
    pub fn new(
        workload: &'static dyn Workload,
        settings: Settings,
        options: &'a NativeOptions,
        ranks: Option<&'a Ranks<'a>>,
    ) -> Result<Self, Failure> {
        let job = match ranks {
            Some(ranks) => ranks.job(workload, &settings)?,
            None => JobOfRanks { job: workload.native(&settings)?, settings, each: None },
        };
        let engine = options.engine(workload, &job)?;
        if job.job.existing_files() == Some(ExistingFiles::Rewritten) {
            let message = "the job would overwrite files that this run has not made";
            let hint = "write a plan with [[step]]s, which make the files on a filesystem of \
                        their own; only jobs that read run in any directory with --in-place";
            return Err(Failure::usage(message).hint(hint));
        }
        Ok(Self { workload, options, ranks, job, engine })
    }

    /// True on ranks that only assist the first one.
    fn assists(&self) -> bool {
        self.ranks.is_some_and(|ranks| !ranks.world.is_first())
    }

    /// The job of all ranks together.
    pub fn job(&self) -> &dyn Job {
        self.job.job.as_ref()
    }

    /// Checks the job for a dry run, and returns the target facts; `None` on ranks that only
    /// assist.
    ///
    /// # Errors
    /// When the directory cannot be examined, or the job cannot run in it.
    pub fn rehearse(&self) -> Result<Option<TargetFacts>, Failure> {
        if self.assists() {
            return Ok(None);
        }
        let facts = dry_facts(self.options.dir.as_deref())?;
        self.job().check(&facts)?;
        Ok(Some(facts))
    }

    /// Runs the trial, reusing trees that earlier trials kept for it; `None` on ranks that do not
    /// record it.
    ///
    /// # Errors
    /// When the trial cannot begin, or cannot be recorded at all.
    pub fn run(
        self,
        kept: &[RunTree],
        (store, host): (&dyn ResultStore, &dyn NativeHost),
    ) -> Result<Option<TrialOutcome>, Failure> {
        let Self { workload, options, ranks, job: of_ranks, engine } = self;
        let job = of_ranks.job.as_ref();
        let usage = |message: &str| Failure::usage(message);
        if ranks.is_some() && job.remounts() {
            return Err(usage("with several ranks nothing is unmounted and mounted again")
                .hint("leave --remount-every out"));
        }
        let dir = options.dir.clone().ok_or_else(|| usage("--dir is missing"))?;
        if let Some(ranks) = ranks.filter(|ranks| !ranks.world.is_first()) {
            ranks.assist(&[dir], job, &engine)?;
            return Ok(None);
        }
        host.mount_again();
        let erasing = EraseList::new(options.erase.iter().cloned());
        let _taken_until_the_end = take_written(job, &erasing, || host.lab())?;
        let place = take_named(&dir, kept)?;
        let remountable = job
            .remounts()
            .then(|| RemountableFilesystem::examine(place.target().path(), &host.lab()));
        let remountable = remountable.transpose()?;
        let remount =
            || remountable.as_ref().map_or_else(|| Ok(dir.clone()), RemountableFilesystem::remount);
        let (facts, cautions) = match ranks {
            None => (Vec::new(), Vec::new()),
            Some(ranks) => ranks.look(place.target().path())?,
        };
        if !options.quiet {
            host.say(&announcement(job, &place)?);
        }
        let progress = Arc::new(RunProgress::new());
        let listeners = host.sinks(job.tasks(&facts_of(&place)?), &progress)?;
        let parameters = if job.is_by_program() { Vec::new() } else { options.parameters(&engine) };
        let request = TrialRequest {
            label: options.label.clone(),
            trial: ranks.map_or_else(TrialId::new, |ranks| ranks.trial),
            parameters,
            keep: options.keep,
            cautions,
            facts,
            observing: options.observing(),
            has_devices: true,
            remount: job.remounts().then_some(&remount),
            ranks: ranks.map(|ranks| RankShare { world: ranks.world, each: of_ranks.each.clone() }),
            sources: sources(JobRecord::from_settings(&of_ranks.settings), host),
            ..TrialRequest::new(workload, job, engine)
        };
        let mut removing = |tree: &str| {
            if !options.quiet {
                host.say(&format!("removing {tree}"));
            }
        };
        run_trial(request, place, listeners, &progress, &mut removing, (store, host)).map(Some)
    }
}

impl NativeOptions {
    /// Engine options of the run.
    fn engine(
        &self,
        workload: &dyn Workload,
        of_ranks: &JobOfRanks,
    ) -> Result<EngineOptions, Failure> {
        let job = of_ranks.job.as_ref();
        let payload = self.payload(workload.manifest().classic_payload)?;
        let handicap_percent = percentage("--handicap", &self.handicap, HANDICAP_PERCENT_MAX)?;
        if job.is_by_program() {
            self.refuse_engine()?;
        }
        let specs = workload.manifest().native;
        let seed = of_ranks.settings.number(specs, "seed", 0..=u64::MAX)?.unwrap_or(1);
        let engine = JobEngine {
            payload,
            compressibility: percentage("--compressibility", &self.compressibility, 100)?,
            latency: TimedCalls::named(&self.latency),
            heat_half_life_seconds: None,
        };
        let defaults = engine.options(job, seed);
        Ok(EngineOptions { handicap_percent, stopped_max: self.rank_timeout, ..defaults })
    }

    /// Observations of the run.
    fn observing(&self) -> ObserverOptions {
        let every_tasks = self.layout_every.unwrap_or(0);
        let has_layout = self.layout || self.layout_every.is_some();
        ObserverOptions {
            heat_half_life: self.heat.then_some(self.heat_half_life),
            layout: has_layout.then_some(LayoutSchedule { every_tasks, map: true }),
            trace: self.trace,
            functions: self.functions.clone(),
            ..ObserverOptions::default()
        }
    }

    /// Refuses engine options that have no effect on an external program.
    fn refuse_engine(&self) -> Result<(), Failure> {
        let changed = [
            ("--payload", self.payload != "random"),
            ("--compressibility", self.compressibility != "0%"),
            ("--latency", self.latency != "sampled"),
            ("--handicap", self.handicap != "0%"),
            ("--heat", self.heat && !self.trace),
        ];
        match changed.into_iter().find(|(_, is_changed)| *is_changed) {
            None => Ok(()),
            Some((option, _)) => {
                let message = format!("{option} has no effect on the external program");
                Err(Failure::usage(message).hint("leave it out, or run the job natively"))
            }
        }
    }

    /// Contents of files.
    fn payload(&self, classic: ClassicPayload) -> Result<JobPayload, Failure> {
        let percent: u8 = percentage("--compressibility", &self.compressibility, 100)?;
        match self.payload.as_str() {
            "classic" if percent > 0 => {
                Err(Failure::usage("--compressibility goes with --payload random only"))
            }
            "classic" => Ok(JobPayload::classic(classic)),
            _ => Ok(JobPayload::Random),
        }
    }

    /// Parameters of the engine, stored beside the parameters of the job.
    fn parameters(&self, engine: &EngineOptions) -> Vec<(String, String)> {
        let latency = match engine.latency {
            LatencyMode::All => "all",
            LatencyMode::Sampled => "sampled",
            LatencyMode::Off => "off",
        };
        let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut parameters = vec![
            parameter("payload", &self.payload),
            parameter("compressibility", &self.compressibility),
            parameter("latency", latency),
        ];
        if engine.handicap_percent > 0 {
            parameters.push(parameter("handicap", &format!("{}%", engine.handicap_percent)));
        }
        // Measuring layouts adds write-back, so the parameters must tell such trials apart.
        if self.layout {
            parameters.push(parameter("layout", "true"));
        }
        if let Some(tasks) = self.layout_every {
            parameters.push(parameter("layout-every", &tasks.to_string()));
        }
        if self.heat {
            parameters.push(parameter("heat", "true"));
            parameters
                .push(parameter("heat-half-life", &self.heat_half_life.as_secs_f64().to_string()));
        }
        if self.trace {
            parameters.push(parameter("trace", "true"));
        }
        if !self.functions.is_empty() {
            parameters.push(parameter("functions", &function_names(&self.functions).join(",")));
        }
        parameters
    }
}

/// Target facts for a dry run: read from the filesystem if the directory exists, else unknown.
fn dry_facts(dir: Option<&Path>) -> Result<TargetFacts, Failure> {
    let Some(dir) = dir.filter(|dir| dir.is_dir()) else { return Ok(TargetFacts::unknown()) };
    Target::open(dir)
        .and_then(|target| target.facts())
        .map_err(|error| Failure::of(FailureKind::Environment, &error))
}

fn facts_of(place: &OwnedDirectory) -> Result<TargetFacts, Failure> {
    place.target().facts().map_err(|error| Failure::of(FailureKind::Environment, &error))
}

/// Announcement of how much the job is going to write.
fn announcement(job: &dyn Job, place: &OwnedDirectory) -> Result<String, Failure> {
    let facts = facts_of(place)?;
    let footprint = job.footprint(&facts);
    if job.is_by_program() && footprint == Footprint::default() {
        let (path, free) = (place.target().path().display(), in_unit(facts.free_bytes));
        return Ok(format!("{path}: what will be written is not known; {free} are free"));
    }
    Ok(format!(
        "{}: {}, {} will be written; at most {} and {} at a time; {} are free",
        place.target().path().display(),
        counted(footprint.written_files, "file"),
        in_unit(footprint.written_bytes),
        counted(footprint.peak_files, "file"),
        in_unit(footprint.peak_block_bytes),
        in_unit(facts.free_bytes)
    ))
}

/// Formats bytes in the largest unit that fits: `0 B`, `600 KiB`, `23.5 GiB`.
pub(crate) fn in_unit(bytes: u64) -> String {
    let fitting = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
        .into_iter()
        .find(|(_, shift)| bytes >> shift > 0);
    match fitting {
        Some((unit, shift)) => {
            let count = bytes as f64 / (1_u64 << shift) as f64;
            let decimals = usize::from(count < 100.0 && count.fract() >= 0.05);
            format!("{count:.decimals$} {unit}")
        }
        None => format!("{bytes} B"),
    }
}

/// Payload kind that the imitated tool writes.
pub(super) fn classic_payload(payload: ClassicPayload) -> PayloadKind {
    match payload {
        ClassicPayload::LetterA => PayloadKind::Classic,
        ClassicPayload::Zeros => PayloadKind::Zeros,
    }
}

/// Parses a whole percentage, with or without the percent sign.
fn percentage<N: FromStr + PartialOrd + Display>(
    option: &str,
    given: &str,
    most: N,
) -> Result<N, Failure> {
    let number = given.strip_suffix('%').unwrap_or(given).parse::<N>().ok();
    number.filter(|percent| *percent <= most).ok_or_else(|| {
        let message = format!("{option}: '{given}' is not a percentage");
        let hint = format!("a percentage is a whole number from 0 to {most}, as 30%");
        Failure::usage(message).hint(hint)
    })
}

/// Names of the engine parameters that change only the observations, not the written data.
pub(crate) const OBSERVING_PARAMETERS: [&str; 5] =
    ["latency", "layout", "layout-every", "heat", "heat-half-life"];
