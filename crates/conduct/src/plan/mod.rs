//! Plans: variants, jobs, number and order of rounds, and the stopping rule.
//!
//! Plans come from a TOML document (`document`) or from a few options (`quick`); both make the same
//! values, to which `changes` applies further options. This module touches no disk: a plan
//! describes a request, which the lab checks and carries out.

mod changes;
mod contrasts;
mod deciding;
mod digest;
pub mod document;
mod error;
mod file;
mod foreseen;
mod job_engine;
mod kernels;
mod launch;
mod observing;
mod quick;
mod shipped;
mod write;

use std::fmt;

use treering_model::{DeviceSpec, GuestSpec, JobOption, Variant, VariantSettings};
use treering_script::{ConfigError, ExistingFiles, Job, JobRecord, Settings, Workload};

pub use changes::{ObservingChanges, PlanChanges};
pub use contrasts::{ComparedTrialSet, baselines};
pub(crate) use deciding::family;
use document::COMMAND;
pub use error::PlanError;
pub use file::read_plan;
pub use foreseen::JobPhases;
pub(crate) use foreseen::{foreseen, metric_hint};
pub(crate) use job_engine::HEAT_HALF_LIFE_SECONDS;
pub use job_engine::{JobEngine, JobPayload, TimedCalls};
pub use kernels::KernelChoice;
pub(crate) use kernels::{emulate, with_kernel};
pub(crate) use launch::{JobOfRanks, job_of_ranks};
pub use launch::{Launch, RANK_TIMEOUT_SECONDS, RANKS_MAX};
pub(crate) use observing::function_names;
pub use observing::{ObservedIn, Observing};
pub(crate) use quick::bare_variant;
pub use quick::{QuickOptions, QuickStopping, quick_plan, refuse_alone, rehearse_quick};
pub(crate) use shipped::plain_names;
pub use shipped::{
    SHIPPED_PLANS_DIR, ShippedPlan, plan_question, shipped_files, shipped_plan_lines,
};

/// Options of a run of compilebench that takes seconds, for plans that name no job.
pub const QUICK_OPTIONS: [(&str, &str); 3] =
    [("dataset", "linux-6.1-small"), ("initial-dirs", "2"), ("runs", "6")];

/// Complete plan: defaults filled in, names resolved, options accepted by their workloads.
pub struct Plan {
    /// Name in the store and in reports.
    pub name: String,
    /// Question that the plan answers, in a sentence; may be empty.
    pub question: String,
    /// Variants to compare; the first is the baseline.
    pub variants: Vec<Variant>,
    /// Guest from `[guest]` for variants whose kernels are named outside the plan; its kernel is an
    /// empty path.
    pub guest: Option<GuestSpec>,
    /// Run that ages the filesystems of variants with an age; it ends at the highest age.
    pub aging: Option<PlannedJob>,
    /// Command for `sh -c` that builds the kernels of variants that name a commit.
    pub build: Option<String>,
    /// Jobs to run on each variant.
    pub jobs: Vec<PlannedJob>,
    /// Stopping rule.
    pub stopping: Stopping,
    /// Conditions of each trial.
    pub conditions: Conditions,
    /// Traces and layouts to record.
    pub observing: Observing,
    /// Metrics and thresholds that decide the comparison.
    pub judging: Judging,
}

/// A job of a plan.
pub struct PlannedJob {
    /// Name in tables.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// Options as given, as (name, value): enough to construct the job again.
    pub options: Vec<(String, String)>,
    /// Configured job; on several ranks, the job of all of them together.
    pub job: Box<dyn Job>,
    /// Launch on several ranks; `None` for a job in this process.
    pub launch: Option<Launch>,
    /// Settings from which the job was made.
    pub settings: Settings,
    /// Inputs of the job, with the files that its options name.
    pub record: JobRecord,
    /// Phases of the job.
    pub phases: JobPhases,
    /// The job in the forms that variants give it.
    pub changed: Vec<ChangedJob>,
    /// Options for the engine.
    pub engine: JobEngine,
    /// Commands around each trial; a job that is itself a command has them among its options.
    pub around: JobCommands,
    /// Name of the job that this one is compared with on each variant; `None` if variants are
    /// compared.
    pub against: Option<String>,
    /// Step of the plan's steps on one filesystem; `None` for a job with a filesystem of its own.
    pub step: Option<PlanStep>,
}

/// Commands around each trial of a job: each is a program with its arguments, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCommands {
    /// Command before the trial, on the mounted filesystem.
    pub prepare: Vec<String>,
    /// Command after the trial.
    pub cleanup: Vec<String>,
}

impl JobCommands {
    /// True if there is no command.
    pub(crate) fn is_empty(&self) -> bool {
        self.prepare.is_empty() && self.cleanup.is_empty()
    }

    /// Commands with their names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let named = [("prepare", &self.prepare), ("cleanup", &self.cleanup)];
        named
            .into_iter()
            .map(|(name, words)| (name, words.as_slice()))
            .filter(|(_, words)| !words.is_empty())
    }
}

/// A job in the form that a variant gives it: with changed options, or with the variant's
/// environment variables in its files.
pub struct ChangedJob {
    /// Changed options.
    pub changes: Vec<JobOption>,
    /// Environment variables of the variant.
    pub env: Vec<(String, String)>,
    /// The changed job.
    pub job: PlannedJob,
}

impl ChangedJob {
    /// True if the job was changed by exactly these options and variables.
    pub(crate) fn is_for(&self, changes: &[JobOption], env: &[(String, String)]) -> bool {
        self.changes == changes && self.env == env
    }
}

impl PlannedJob {
    /// Job of a workload in this process, named after the workload, without commands.
    pub(crate) fn plain(workload: &str, settings: &Settings, job: Box<dyn Job>) -> Self {
        Self {
            name: workload.to_owned(),
            workload: workload.to_owned(),
            options: settings.options().to_vec(),
            job,
            launch: None,
            settings: settings.clone(),
            record: JobRecord::from_settings(settings),
            phases: JobPhases::default(),
            changed: Vec::new(),
            engine: JobEngine::default(),
            around: JobCommands::default(),
            against: None,
            step: None,
        }
    }

    /// Parameters of the trials besides those of the job itself: engine options and commands.
    pub(crate) fn parameters_around(&self) -> Vec<(String, String)> {
        let commands = self.around.entries();
        let commands = commands.map(|(name, words)| (name.to_owned(), words.join(" ")));
        self.engine.parameters().into_iter().chain(commands).collect()
    }

    /// Returns the job in the form that a variant with these settings gives it.
    pub(crate) fn changed_by(&self, settings: &VariantSettings) -> &Self {
        let changes: Vec<JobOption> = settings.options_of(&self.name).cloned().collect();
        let changed = self.changed.iter().find(|it| it.is_for(&changes, &settings.env));
        changed.map_or(self, |changed| &changed.job)
    }
}

impl Plan {
    /// Job of a cell, in the form that the variant gives it.
    pub fn job_of(&self, variant: usize, job: usize) -> &PlannedJob {
        self.jobs[job].changed_by(&self.variants[variant].settings)
    }
}

/// Step of a trial in which several jobs work on one filesystem, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// True if the step is compared; false if it only prepares the filesystem for later ones.
    pub is_measured: bool,
    /// Name of the directory that the step works in, `.` for that of the commands; `None` for the
    /// usual one.
    pub directory: Option<String>,
    /// True if the step runs before the overlay of a variant is mounted, in its lower directory.
    pub is_below_overlay: bool,
}

/// Stopping rule of a plan: see the page on statistics for the guarantees of each rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopping {
    /// Stops after a fixed number of rounds.
    Fixed {
        /// Number of rounds.
        rounds: u32,
    },
    /// Stops when the confidence intervals of all primary metrics are narrow enough.
    Precision {
        /// Required half width of the intervals, as a fraction: .015 is 1.5 %.
        half_width: f64,
        /// Minimum number of rounds, 6 or more.
        fewest: u32,
        /// Maximum number of rounds.
        most: u32,
    },
    /// Runs as many rounds as fit into a time limit. The rule does not depend on results, so the
    /// significance level is unchanged.
    Time {
        /// Time limit of all measured rounds, in minutes.
        minutes: f64,
        /// Minimum number of rounds, even if they exceed the time limit.
        fewest: u32,
        /// Maximum number of rounds.
        most: u32,
    },
    /// Stops at the first planned look at which every primary metric is decided. Each look has a
    /// lower significance level.
    Sequential {
        /// Numbers of rounds before each look, rising; the last look ends the plan.
        looks: Vec<u32>,
    },
}

impl Stopping {
    /// Maximum number of rounds.
    pub fn most_rounds(&self) -> u32 {
        match self {
            Self::Fixed { rounds } => *rounds,
            Self::Precision { most, .. } | Self::Time { most, .. } => *most,
            Self::Sequential { looks } => looks.last().copied().unwrap_or_default(),
        }
    }
}

/// Conditions of each trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Random seed of the order of the cells and of the payload.
    pub seed: u64,
    /// True if the first round is recorded but not compared.
    pub warm_up: bool,
    /// Target time in seconds of a phase on the fastest variant. The warm-up sizes all scalable
    /// jobs for it; 0 disables sizing. `None` sizes only jobs whose size the plan does not state,
    /// for the default time.
    pub phase_seconds: Option<u32>,
    /// True if the baseline runs a second time in each round, as a control.
    pub control: bool,
    /// True if the filesystem is remounted between phases.
    pub remount: bool,
    /// Pause between the preparation of the target and the trial, in seconds.
    pub settle_seconds: f64,
    /// Machine that runs the kernels of the variants.
    pub machine: Machine,
}

treering_model::named_enum! {
    /// Machine that runs the kernels of the variants.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Machine {
        /// Boots kernel files in a guest; a kernel release must be that of the running kernel.
        #[default]
        Guest = "guest",
        /// Reboots this machine into the kernel of each trial.
        Reboot = "reboot",
    }
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            seed: 1,
            warm_up: true,
            phase_seconds: None,
            control: false,
            remount: false,
            settle_seconds: 0.0,
            machine: Machine::Guest,
        }
    }
}

/// Rules of the comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judging {
    /// Full names of the primary metrics, as in JSON (`create/mib_per_second`); empty for the
    /// workload's own choice.
    pub primary: Vec<String>,
    /// Minimum relevant difference, as a fraction: .03 is 3 %; `None` depends on the kind of
    /// metric.
    pub threshold: Option<f64>,
    /// Parameters that may differ between compared trials.
    pub ignore: Vec<String>,
}

/// First variant on a directory of the user and job that would overwrite files there, in the form
/// that the variant gives the job.
pub(crate) fn rewriting<'p>(
    variants: &'p [Variant],
    jobs: &[PlannedJob],
) -> Option<(&'p Variant, usize)> {
    let is_directory = |variant: &&Variant| matches!(variant.device, DeviceSpec::Directory { .. });
    variants.iter().filter(is_directory).find_map(|variant| {
        let rewrites = |job: &PlannedJob| {
            let form = job.changed_by(&variant.settings);
            form.job.existing_files() == Some(ExistingFiles::Rewritten)
        };
        Some((variant, jobs.iter().position(rewrites)?))
    })
}

impl Plan {
    /// Number of a job among the steps, counted from 1; `None` for a job that is no step.
    pub(crate) fn step_number(&self, job: usize) -> Option<usize> {
        self.jobs[job].step.as_ref()?;
        Some(self.jobs[..=job].iter().filter(|job| job.step.is_some()).count())
    }

    /// Name of the directory of a cell's step in the work directory; `None` for a job that works in
    /// the work directory itself. Steps with the same directory share it.
    pub(crate) fn step_directory(&self, variant: usize, job: usize) -> Option<String> {
        let planned = self.job_of(variant, job);
        match planned.step.as_ref()?.directory.as_deref() {
            Some(".") => None,
            Some(name) => Some(name.to_owned()),
            // Files of earlier steps are there, and are reached from there.
            None if planned.workload == COMMAND || planned.job.existing_files().is_some() => None,
            None => self.step_number(job).map(|number| format!("step-{number}")),
        }
    }
}

impl PlannedJob {
    /// True unless the job only prepares a filesystem.
    pub(crate) fn is_measured(&self) -> bool {
        self.step.as_ref().is_none_or(|step| step.is_measured)
    }

    /// True if the job is a step that runs before the overlay of a variant is mounted.
    pub(crate) fn is_below_overlay(&self) -> bool {
        self.step.as_ref().is_some_and(|step| step.is_below_overlay)
    }

    /// Returns the same job with other options, without the forms that variants give it.
    ///
    /// # Errors
    /// When the workload refuses them.
    pub(crate) fn with_options(
        &self,
        options: Vec<(String, String)>,
        workloads: &[&'static dyn Workload],
    ) -> Result<Self, ConfigError> {
        let workload = workloads.iter().find(|one| one.manifest().name == self.workload);
        let workload = *workload.ok_or_else(|| ConfigError::new("the workload is unknown"))?;
        let settings = self.settings.with_options(options);
        let job = match &self.launch {
            Some(launch) => job_of_ranks(workload, &settings, launch.ranks, workloads)?.job,
            None => workload.native(&settings)?,
        };
        Ok(Self {
            name: self.name.clone(),
            workload: self.workload.clone(),
            options: settings.options().to_vec(),
            job,
            launch: self.launch.clone(),
            record: JobRecord::from_settings(&settings),
            settings,
            phases: JobPhases::default(),
            changed: Vec::new(),
            engine: self.engine,
            around: self.around.clone(),
            against: self.against.clone(),
            step: self.step.clone(),
        })
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("name", &self.name)
            .field("question", &self.question)
            .field("variants", &self.variants)
            .field("guest", &self.guest)
            .field("aging", &self.aging)
            .field("build", &self.build)
            .field("jobs", &self.jobs)
            .field("stopping", &self.stopping)
            .field("conditions", &self.conditions)
            .field("observing", &self.observing)
            .field("judging", &self.judging)
            .finish()
    }
}

impl fmt::Debug for PlannedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedJob")
            .field("name", &self.name)
            .field("workload", &self.workload)
            .field("options", &self.options)
            .field("launch", &self.launch)
            .field("against", &self.against)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}
