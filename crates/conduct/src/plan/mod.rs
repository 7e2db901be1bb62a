//! A plan: which variants run which jobs, how often, in which order, and when it ends.
//!
//! Plans come from a TOML document or from the quick flags of the command line; both make the same
//! values. Nothing here touches a disk: a plan says what is wanted, the lab what can be had.

mod deciding;
mod digest;
pub mod document;
mod error;
mod launch;
mod observing;
mod write;

use std::fmt;

use treering_model::{DeviceSpec, GuestSpec, Variant};
use treering_script::{Job, JobRecord};

pub use deciding::{baselines, family, foreseen, is_known, known_metrics};
pub use error::PlanError;
pub(crate) use launch::job_of_ranks;
pub use launch::{JobOfRanks, Launch, RANK_TIMEOUT_SECONDS, RANKS_MAX};
pub use observing::{ObservedIn, Observing};

/// Options of a run of compilebench that takes seconds, for plans that name no job.
pub const QUICK_OPTIONS: [(&str, &str); 3] =
    [("dataset", "linux-6.1-small"), ("initial-dirs", "2"), ("runs", "6")];

/// A plan, complete: every default filled in, every name found, every option accepted.
pub struct Plan {
    /// Its name in the store and in reports.
    pub name: String,
    /// The question it answers, in a sentence; empty when it tells none.
    pub question: String,
    /// What is compared; the first is the baseline.
    pub variants: Vec<Variant>,
    /// The guests of variants whose kernels are named outside the plan, as `[guest]` describes
    /// them; their own kernel is an empty path.
    pub guest: Option<GuestSpec>,
    /// What is run on each of them.
    pub jobs: Vec<PlannedJob>,
    /// When it ends.
    pub stopping: Stopping,
    /// How each cell is run.
    pub conditions: Conditions,
    /// What is watched beside the measuring.
    pub observing: Observing,
    /// What decides, and from which difference on.
    pub judging: Judging,
}

/// A job of a plan.
pub struct PlannedJob {
    /// Its name in tables.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// Its options as given, by name: enough to make it again.
    pub options: Vec<(String, String)>,
    /// The job itself; on several ranks, that of all of them together.
    pub job: Box<dyn Job>,
    /// How it is started on several ranks; none where it runs in this process.
    pub launch: Option<Launch>,
    /// What it was made of, with the files that its options name.
    pub record: JobRecord,
}

/// When a plan ends: see the page on statistics for what each rule promises.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopping {
    /// After so many rounds.
    Fixed {
        /// Rounds.
        rounds: u32,
    },
    /// When the intervals of all primary metrics are narrow enough.
    Precision {
        /// The half width they must reach, as a share: .015 is 1.5 %.
        half_width: f64,
        /// The fewest rounds, 6 or more.
        fewest: u32,
        /// The most rounds.
        most: u32,
    },
    /// As many as fit into a time, which is no look at the results: the level stays what it is.
    Time {
        /// How long the measured rounds may take together, in minutes.
        minutes: f64,
        /// The fewest rounds, however long they take.
        fewest: u32,
        /// The most rounds.
        most: u32,
    },
    /// At planned looks, each at a lower level: as soon as every primary metric is decided.
    Sequential {
        /// After how many rounds it looks, rising; the last is the end.
        looks: Vec<u32>,
    },
}

impl Stopping {
    /// The most rounds that it can take.
    pub fn most_rounds(&self) -> u32 {
        match self {
            Self::Fixed { rounds } => *rounds,
            Self::Precision { most, .. } | Self::Time { most, .. } => *most,
            Self::Sequential { looks } => looks.last().copied().unwrap_or_default(),
        }
    }
}

/// How each cell is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Decides the order of the cells, and what files are filled with.
    pub seed: u64,
    /// Whether the first round is kept but not compared.
    pub warm_up: bool,
    /// Whether the baseline runs a second time in each round, as a control.
    pub control: bool,
    /// Whether the filesystem is unmounted and mounted again between phases.
    pub remount: bool,
    /// Rest between the preparation of a place and the trial, in seconds.
    pub settle_seconds: f64,
    /// How variants come under their kernels.
    pub machine: Machine,
}

/// How variants come under their kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    /// A file is booted in a guest; a release has to be the one that runs.
    #[default]
    Guest,
    /// This machine is booted anew into the kernel of each trial.
    Reboot,
}

impl Machine {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Guest, Self::Reboot];

    /// The word used in plans and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Reboot => "reboot",
        }
    }
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            seed: 1,
            warm_up: true,
            control: false,
            remount: false,
            settle_seconds: 0.0,
            machine: Machine::Guest,
        }
    }
}

/// What decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judging {
    /// The metrics that decide, as in JSON (`create/mib_per_second`); the workload's own choice
    /// when empty.
    pub primary: Vec<String>,
    /// The smallest relative difference that matters: .03 is 3 %; by the kind of metric when not
    /// given.
    pub threshold: Option<f64>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("name", &self.name)
            .field("question", &self.question)
            .field("variants", &self.variants)
            .field("guest", &self.guest)
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
            .finish_non_exhaustive()
    }
}

/// A loop image with the defaults of every plan: its blocks allocated, past the host's cache.
pub fn loop_device(bytes: u64) -> DeviceSpec {
    DeviceSpec::Loop {
        bytes,
        count: 1,
        sparse: false,
        direct_io: true,
        sector_bytes: 512,
        directory: None,
        disk: None,
    }
}
