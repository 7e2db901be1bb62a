//! How a session is run, who hears of it, and what can end it.

use std::time::Duration;

use treering_model::TrialSink;
use treering_sys::StopFlag;

use crate::{HeatLog, LatencyMode, PayloadKind, Progress, TrialClock, World};

/// How a session is run.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Which calls are timed.
    pub latency: LatencyMode,
    /// What is written.
    pub payload: PayloadKind,
    /// The seed of the payload and of the samples' distances.
    pub seed: u64,
    /// By how many percent each task is slowed on purpose: 0, but to test what finds it.
    pub handicap_percent: u32,
    /// The clock of the trial.
    pub clock: TrialClock,
    /// How long a signal may keep a worker process stopped before the run ends.
    pub stopped_max: Duration,
}

/// The limit where nobody has set one; that of ranks is the same.
const STOPPED_MAX: Duration = Duration::from_secs(300);

impl EngineOptions {
    /// Options without a handicap, and a clock that begins now.
    pub fn new(latency: LatencyMode, payload: PayloadKind, seed: u64) -> Self {
        let (clock, stopped_max) = (TrialClock::begin(), STOPPED_MAX);
        Self { latency, payload, seed, handicap_percent: 0, clock, stopped_max }
    }
}

/// All that a run is given beside its session and its place.
pub struct RunOptions<'r> {
    /// How the session is run.
    pub engine: &'r EngineOptions,
    /// Hears of phases, tasks and cautions.
    pub sink: &'r mut dyn TrialSink,
    /// Counts as the run goes on.
    pub progress: &'r Progress,
    /// Ends the run early when it is raised.
    pub stop: &'r StopFlag,
    /// A log of what is read and written, where one is kept.
    pub heat: Option<&'r HeatLog>,
    /// All ranks that run this session together, where there are several.
    pub world: Option<&'r World<'r>>,
    /// Whether each of them does the whole session, in a directory of its own, and not its share of
    /// it.
    pub apart: bool,
}

impl<'r> RunOptions<'r> {
    /// Without a log of what is read and written, in one process.
    pub fn new(
        engine: &'r EngineOptions,
        sink: &'r mut dyn TrialSink,
        progress: &'r Progress,
        stop: &'r StopFlag,
    ) -> Self {
        Self { engine, sink, progress, stop, heat: None, world: None, apart: false }
    }
}
