//! A trial of a campaign as it is handed to the process that runs it, with its place in the
//! campaign and what is known of it here.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use treering_engine::{EngineOptions, PayloadKind, Progress, TrialClock, World};
use treering_lab::Workplace;
use treering_model::{Beginning, Caution, Cell, Fact, TrialId, TrialSink};
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;
use treering_script::Job;
use treering_sys::{SignalWatch, raise_open_files};

use crate::beginning::{beginning, usual_latency};
use crate::conduct::{Remount, TrialPlan, conduct};
use crate::failure::{Failure, FailureKind};

/// A trial that another process runs for a campaign: in a guest, or on several ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HandedTrial {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The options of the workload, by name.
    pub(crate) options: Vec<(String, String)>,
    /// Random seed of the payload.
    pub(crate) seed: u64,
    /// Deliberate slowdown of the calls, in percent.
    pub(crate) handicap_percent: u32,
    /// Identity of the trial.
    pub(crate) trial: TrialId,
    /// Cell of the campaign that the trial executes.
    pub(crate) cell: Cell,
    /// Label of the trial.
    pub(crate) label: String,
    /// Parameters of the engine, kept beside those of the job.
    pub(crate) parameters: Vec<(String, String)>,
    /// Facts about the target that only the conducting process knows.
    pub(crate) facts: Vec<Fact>,
    /// Cautions about the place.
    pub(crate) cautions: Vec<Caution>,
    /// True if block traces are recorded.
    pub(crate) trace: bool,
    /// Number of tasks between two layouts; `None` if layouts are not recorded.
    pub(crate) layout_every: Option<u32>,
    /// True if the filesystem is remounted between phases.
    pub(crate) remount: bool,
}

impl HandedTrial {
    /// Engine options for the job of this trial.
    pub(crate) fn engine(&self, job: &dyn Job) -> EngineOptions {
        EngineOptions {
            handicap_percent: self.handicap_percent,
            ..EngineOptions::new(
                usual_latency(job),
                PayloadKind::Native { compressibility: 0 },
                self.seed,
            )
        }
    }

    /// Observer options of this trial.
    pub(crate) fn wanted(&self) -> ObserverOptions {
        ObserverOptions {
            trace: self.trace,
            layout: self.layout_every.map(|every_tasks| LayoutSchedule { every_tasks, map: true }),
            ..ObserverOptions::default()
        }
    }
}

/// Request to launched ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RanksJob {
    /// The version of the treering that launched them, which has to be theirs.
    pub(crate) version: String,
    /// The machine that it runs on, where caches were dropped.
    pub(crate) host: String,
    /// The number of ranks.
    pub(crate) ranks: usize,
    /// A rank that is silent for longer ends the trial.
    pub(crate) timeout_seconds: u32,
    /// The trial; none where the ranks only have to meet.
    pub(crate) trial: Option<RanksTrial>,
}

/// A trial on several ranks, and where it takes place.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RanksTrial {
    /// The trial.
    pub(crate) handed: HandedTrial,
    /// The directory of all ranks; `{rank}` in it is the number of one.
    pub(crate) dir: PathBuf,
    /// True if the trees of the trial are kept.
    pub(crate) keep: bool,
}

/// A handed trial in the process that runs it.
pub(crate) struct HandedRun<'a> {
    /// The trial.
    pub(crate) handed: HandedTrial,
    /// Job of the trial.
    pub(crate) job: &'a dyn Job,
    /// Engine options of the job.
    pub(crate) engine: EngineOptions,
    /// True if the trees of the trial are kept.
    pub(crate) keep: bool,
    /// Mounts the place anew between phases.
    pub(crate) remount: Option<Remount<'a>>,
    /// Ranks that run the trial together; `None` on a single process.
    pub(crate) world: Option<&'a World<'a>>,
    /// The option that says how many workers each rank has, and its value.
    pub(crate) each: Option<(String, String)>,
    /// The time of its beginning.
    pub(crate) started_unix_ms: i64,
}

impl HandedRun<'_> {
    /// Conducts the trial; returns what could not be removed after it.
    pub(crate) fn run(
        self,
        place: &mut Workplace,
        sink: &mut dyn TrialSink,
    ) -> Result<Vec<String>, Failure> {
        let signals = SignalWatch::begin().map_err(|error| {
            let message = format!("cannot watch for signals: {error}");
            Failure::new(FailureKind::Environment, message)
        })?;
        let _as_many_as_we_may = raise_open_files();
        let wanted = self.handed.wanted();
        let HandedTrial { workload, trial, cell, label, parameters, facts, cautions, .. } =
            self.handed;
        let mut beginning = Beginning {
            label,
            target: place.target().path().to_string_lossy().into_owned(),
            cell: Some(cell),
            ..beginning(trial, &workload, self.job, self.started_unix_ms)
        };
        if let Some((option, value)) = &self.each {
            // The value that each rank was given: the same plan repeats it.
            let own = beginning.parameters.iter_mut().filter(|(name, _)| name == option);
            own.for_each(|(_, all)| all.clone_from(value));
        }
        beginning.parameters.extend(parameters);
        let plan = TrialPlan {
            beginning,
            job: self.job,
            engine: EngineOptions { clock: TrialClock::begin(), ..self.engine },
            keep: self.keep,
            cautions,
            wanted,
            facts,
            remount: self.remount,
            world: self.world,
        };
        let stop = signals.flag();
        let concluded = conduct(plan, place, sink, &Progress::new(), stop, &mut |_| {});
        stop.lift_halt();
        Ok(concluded?.left_behind)
    }
}
