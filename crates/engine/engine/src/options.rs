//! Options of a run: execution, listeners, and the stop flag.

use std::time::Duration;

use treering_model::TrialSink;
use treering_sys::StopFlag;

use crate::{HeatLog, LatencyMode, PayloadKind, RunProgress, TrialClock, World};

/// Execution options of a session.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Selection of timed calls.
    pub latency: LatencyMode,
    /// Data written to files.
    pub payload: PayloadKind,
    /// Seed of the payload and of the distances between samples.
    pub seed: u64,
    /// Artificial slowdown of each task in percent; above 0 only to test detectors.
    pub handicap_percent: u32,
    /// The clock of the trial.
    pub clock: TrialClock,
    /// Longest time that a worker process may be stopped by a signal before the run ends.
    pub stopped_max: Duration,
}

/// Default time limit for stopped processes; the same as that of ranks.
const STOPPED_MAX: Duration = Duration::from_secs(300);

impl EngineOptions {
    /// Options without a handicap, and a clock that begins now.
    pub fn new(latency: LatencyMode, payload: PayloadKind, seed: u64) -> Self {
        let (clock, stopped_max) = (TrialClock::begin(), STOPPED_MAX);
        Self { latency, payload, seed, handicap_percent: 0, clock, stopped_max }
    }
}

/// Arguments of a run besides its session and place.
pub struct RunOptions<'r> {
    /// Execution options.
    pub engine: &'r EngineOptions,
    /// Sink of phases, tasks and cautions.
    pub sink: &'r mut dyn TrialSink,
    /// Progress counters, updated as the run goes on.
    pub progress: &'r RunProgress,
    /// Ends the run early when it is raised.
    pub stop: &'r StopFlag,
    /// Record of reads and writes, if requested.
    pub heat: Option<&'r HeatLog>,
    /// Ranks that run this session together; `None` for a single process.
    pub world: Option<&'r World<'r>>,
    /// True if each rank runs the whole session in a directory of its own; false if the ranks share
    /// the work.
    pub apart: bool,
    /// Environment variables of the programs that the session starts, as (name, value).
    pub environment: &'r [(String, String)],
}

impl<'r> RunOptions<'r> {
    /// Options of a run in one process, without a record of reads and writes.
    pub fn new(
        engine: &'r EngineOptions,
        sink: &'r mut dyn TrialSink,
        progress: &'r RunProgress,
        stop: &'r StopFlag,
    ) -> Self {
        let environment = &[];
        Self { engine, sink, progress, stop, heat: None, world: None, apart: false, environment }
    }
}
