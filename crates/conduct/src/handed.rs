//! Trial of a campaign in serialised form, for the guest or the ranks that run it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use treering_engine::{EngineOptions, RunProgress, TrialClock, World};
use treering_lab::OwnedDirectory;
use treering_model::{Caution, Cell, Fact, TrialHeader, TrialId, TrialSink, VariantSettings};
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;
use treering_script::Job;
use treering_sys::raise_open_files;

use crate::conduct::{Remount, TrialPlan, conduct};
use crate::failure::{Failure, watch_signals};
use crate::plan::JobEngine;
use crate::trial::beginning::beginning;

/// A trial that another process runs for a campaign: in a guest, or on several ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HandedTrial {
    /// The name of the workload.
    pub(crate) workload: String,
    /// The options of the workload, by name.
    pub(crate) options: Vec<(String, String)>,
    /// Random seed of the payload.
    pub(crate) seed: u64,
    /// Options of the job for the engine.
    #[serde(default)]
    pub(crate) engine: JobEngine,
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
    /// Facts about the target that only the process conducting the campaign knows.
    pub(crate) facts: Vec<Fact>,
    /// Cautions about the target.
    pub(crate) cautions: Vec<Caution>,
    /// Settings of the variant. A guest applies all of them; other processes only pass the
    /// environment to programs.
    #[serde(default)]
    pub(crate) settings: VariantSettings,
    /// True if block traces are recorded.
    pub(crate) trace: bool,
    /// Number of tasks between two layouts; `None` if layouts are not recorded.
    pub(crate) layout_every: Option<u32>,
    /// Functions of the kernel whose latencies are measured.
    #[serde(default)]
    pub(crate) functions: Vec<String>,
    /// True if the filesystem is remounted between phases.
    pub(crate) remount: bool,
}

impl HandedTrial {
    /// Engine options for the job of this trial.
    pub(crate) fn engine_options(&self, job: &dyn Job) -> EngineOptions {
        EngineOptions {
            handicap_percent: self.handicap_percent,
            ..self.engine.options(job, self.seed)
        }
    }

    /// Observer options of this trial.
    pub(crate) fn wanted(&self) -> ObserverOptions {
        ObserverOptions {
            trace: self.trace,
            functions: self.functions.iter().filter_map(|name| name.parse().ok()).collect(),
            heat_half_life: self.engine.heat_half_life(),
            layout: self.layout_every.map(|every_tasks| LayoutSchedule { every_tasks, map: true }),
            ..ObserverOptions::default()
        }
    }
}

/// Request to launched ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RanksJob {
    /// Version of the launching treering; the ranks must have the same.
    pub(crate) version: String,
    /// Host that launched the ranks, on which caches were dropped.
    pub(crate) host: String,
    /// The number of ranks.
    pub(crate) ranks: usize,
    /// Maximum silence of a rank, in seconds, before the trial is ended.
    pub(crate) timeout_seconds: u32,
    /// Trial to run; `None` if the ranks only perform the handshake.
    pub(crate) trial: Option<RanksTrial>,
}

/// Trial on several ranks, and its directory.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RanksTrial {
    /// The trial.
    pub(crate) handed: HandedTrial,
    /// Directory of the ranks; `{rank}` in it stands for the number of a rank.
    pub(crate) dir: PathBuf,
    /// True if the trees of the trial are kept.
    pub(crate) keep: bool,
}

/// Trial as run by the process that received it.
pub(crate) struct HandedRun<'a> {
    /// The trial.
    pub(crate) handed: HandedTrial,
    /// Job of the trial.
    pub(crate) job: &'a dyn Job,
    /// Engine options of the job.
    pub(crate) engine: EngineOptions,
    /// True if the trees of the trial are kept.
    pub(crate) keep: bool,
    /// Remounts the filesystem between phases; `None` to keep it mounted.
    pub(crate) remount: Option<Remount<'a>>,
    /// Ranks that run the trial together; `None` on a single process.
    pub(crate) world: Option<&'a World<'a>>,
    /// Option with the number of workers, and its value per rank.
    pub(crate) each: Option<(String, String)>,
    /// Start of the trial, in milliseconds of Unix time.
    pub(crate) started_unix_ms: i64,
}

impl HandedRun<'_> {
    /// Conducts the trial; returns the errors of the removals after it.
    pub(crate) fn run(
        self,
        place: &mut OwnedDirectory,
        sink: &mut dyn TrialSink,
    ) -> Result<Vec<String>, Failure> {
        let signals = watch_signals()?;
        let _as_many_as_we_may = raise_open_files();
        let wanted = self.handed.wanted();
        let HandedTrial {
            workload, trial, cell, label, parameters, facts, cautions, settings, ..
        } = self.handed;
        let mut beginning = TrialHeader {
            label,
            target: place.target().path().to_string_lossy().into_owned(),
            cell: Some(cell),
            ..beginning(trial, &workload, self.job, self.started_unix_ms)
        };
        if let Some((option, value)) = &self.each {
            // Record the value per rank: the same plan multiplies it again.
            let matching = beginning.parameters.iter_mut().filter(|(name, _)| name == option);
            matching.for_each(|(_, all)| all.clone_from(value));
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
            metrics: &[],
            remount: self.remount,
            world: self.world,
            environment: &settings.env,
        };
        let stop = signals.flag();
        let concluded = conduct(plan, place, sink, &RunProgress::new(), stop, &mut |_| {});
        stop.lift_halt();
        Ok(concluded?.left_behind)
    }
}
