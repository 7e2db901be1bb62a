//! Run of dbench: a native run first creates and fills its directory; then all clients play in
//! parallel until the end.

use std::sync::Arc;
use std::time::Duration;

use treering_model::metrics::dbench::{CLASSIC_LATENCY_NS_MAX, THROUGHPUT_MIB_PER_SECOND};
use treering_model::{Caution, CautionCode, Counters, Metric, Op, Scope, TaskTotals};
use treering_script::{
    Conductor, DirSlot, Io, NoListener, ParallelGroup, ParallelOptions, Phase, Script, Session,
    SessionError, SessionResult, Stop, Task, TaskListener, UnfinishedTasks,
};

use super::account::WorkerReport;
use super::clock::Clock;
use super::config::{BASE, EndCondition, RunConfig};
use super::counters::{ClientCounters, CounterIndex};
use super::headline::HeadlineSums;
use super::player::{PlaybackOptions, Player, SharedState};
use super::tick::{ResultTicks, RunPhase};
use crate::language::{Load, OperationKind};

/// The phases, by name.
const SETUP: &str = "setup";
const FILL: &str = "fill";
pub(super) const PLAY: &str = "play";

/// Polling intervals of the clients: the original's, and the native one.
const TICK_CLASSIC: Duration = Duration::from_secs(1);
const TICK_NATIVE: Duration = Duration::from_millis(50);
/// Maximum number of messages in a caution.
const SHOWN_MAX: usize = 8;

/// Session of a run.
pub(super) struct PlaySession<'j> {
    config: &'j RunConfig,
    has_begun: bool,
    /// True while clients play the load rather than fill the directory.
    is_playing: bool,
    common: SharedState,
    clock: Clock,
    headline: HeadlineSums,
    seen: ResultTicks,
    messages: Vec<String>,
    unreported: u64,
    failure: Option<SessionError>,
    /// First deviation from the load in the failed worker, before its failure.
    before_failure: Option<String>,
}

impl<'j> PlaySession<'j> {
    /// Creates a session that has not begun.
    pub(super) fn new(config: &'j RunConfig) -> Self {
        Self {
            config,
            has_begun: false,
            is_playing: false,
            common: SharedState::default(),
            clock: Clock::new(0, None, CounterIndex::Bytes, TICK_CLASSIC),
            headline: HeadlineSums::default(),
            seen: ResultTicks::default(),
            messages: Vec::new(),
            unreported: 0,
            failure: None,
            before_failure: None,
        }
    }

    /// Result with the original's definitions, as metrics.
    fn printed(&self) -> Vec<Metric> {
        let of_latency = |ns: u64| CLASSIC_LATENCY_NS_MAX.of(Scope::Trial, ns as f64);
        let latency = Some(self.seen.latency_ns).filter(|ns| *ns > 0).map(of_latency);
        let Some(tick) = self.seen.latest else { return latency.into_iter().collect() };
        let mib = tick.megabytes() * 1e6 / 1_048_576.0;
        let rate = THROUGHPUT_MIB_PER_SECOND.of(Scope::Trial, mib);
        latency.into_iter().chain([rate]).collect()
    }

    fn tasks(
        &self,
        kind: &str,
        playback: &PlaybackOptions,
        load: impl Fn(u32) -> Arc<Load>,
    ) -> Vec<Task> {
        let playback = Arc::new(playback.clone());
        let per_process = self.config.per_process;
        let tasks = (0..self.config.processes).map(|process| {
            let first = process * per_process;
            let numbers: Vec<u32> = (first..first + per_process).collect();
            let load = load(process);
            let player = Player::new(Arc::clone(&playback), &self.common, &load, &numbers);
            let subject = match per_process {
                1 => format!("client{first}"),
                _ => format!("client{first} to client{}", first + per_process - 1),
            };
            let synchronous = self.config.synchronous.into();
            Task { synchronous, ..Task::new(kind, &subject, Op::Create, Box::new(player)) }
        });
        tasks.collect()
    }

    fn new_common(&mut self) {
        let client_counters = (0..self.config.clients()).map(|_| ClientCounters::default());
        self.common = SharedState {
            signal: super::counters::PhaseSignal::default(),
            client_counters: client_counters.collect(),
        };
    }

    fn group(&self, tasks: Vec<Task>) -> ParallelGroup {
        let side_by_side = ParallelOptions {
            workers: self.config.workers,
            unfinished: UnfinishedTasks::Reported,
            ..ParallelOptions::default()
        };
        ParallelGroup { side_by_side, ..ParallelGroup::new(tasks) }
    }

    fn fill(&mut self, fill: &Arc<Load>) -> ParallelGroup {
        self.new_common();
        self.common.signal.set(RunPhase::Measured);
        let playback =
            PlaybackOptions { passes: Some(1), rate: None, ..self.config.playback.clone() };
        self.group(self.tasks(FILL, &playback, |_| Arc::clone(fill)))
    }

    fn play(&mut self) -> ParallelGroup {
        self.new_common();
        let config = self.config;
        let once = config.playback.passes.is_some();
        let (warmup, seconds) = match config.ends {
            EndCondition::Time { seconds, .. } if once => (0, Some(seconds)),
            EndCondition::Time { warmup, seconds } => (warmup, Some(seconds)),
            EndCondition::Passes(_) => (0, None),
        };
        if warmup == 0 {
            self.common.signal.set(RunPhase::Measured);
        }
        let moves = |load: &Load| {
            let counts = load.counts();
            counts[OperationKind::ReadX as usize] + counts[OperationKind::WriteX as usize] > 0
        };
        let all_move = config.sources.iter().all(|source| moves(&source.load));
        let works = if all_move { CounterIndex::Bytes } else { CounterIndex::Lines };
        let every = if config.request.is_classic() { TICK_CLASSIC } else { TICK_NATIVE };
        self.clock = Clock::new(warmup, seconds, works, every);
        let tasks =
            self.tasks(PLAY, &config.playback, |process| Arc::clone(config.load_of(process)));
        ParallelGroup { tick_every: Some(every), ..self.group(tasks) }
    }

    fn run_group(&mut self, group: ParallelGroup, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.group(group, self)?;
        let Some(mut failure) = self.failure.take() else { return Ok(()) };
        // A load goes on for a while after the first call that fails: that one tells more.
        if let Some(before) =
            self.before_failure.as_ref().filter(|_| !self.config.request.is_classic())
        {
            failure.message += &format!("; before that: {before}");
        }
        Err(failure.into())
    }
}

impl TaskListener for PlaySession<'_> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        let Some(account) = WorkerReport::read(&totals.counters) else { return };
        self.unreported += account.unreported;
        self.messages.extend(account.messages.iter().cloned());
        if self.failure.is_none()
            && let Some(why) = &account.failure
        {
            self.failure = Some(match why.split_once(": ") {
                Some((place, text)) => SessionError::at(place, text),
                None => SessionError::new(why),
            });
            // Of other workers nothing tells whether theirs came before it.
            let first = account.messages.first();
            self.before_failure = first.filter(|message| !is_of_failure(message, why)).cloned();
        }
        if self.is_playing {
            self.headline.played(&account, totals);
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        if self.is_playing
            && let Some(account) = WorkerReport::read(&totals.counters)
        {
            self.headline.played(&account, totals);
        }
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        let Self { clock, common, .. } = self;
        let tick = clock.tick(elapsed_ns, &common.signal, &common.client_counters);
        tick.iter().for_each(|tick| self.seen.add_tick(*tick));
        tick.as_ref().map(Counters::from_value).unwrap_or_default()
    }
}

impl Session for PlaySession<'_> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let config = self.config;
        if !config.request.is_classic() {
            let task = Task::new(SETUP, BASE, Op::MakeDir, Box::new(MakeBase));
            conductor.run_task(SETUP, task, &mut NoListener)?;
            if let Some(fill) = &config.fill {
                conductor.phase(Phase::new(FILL, config.processes))?;
                let group = self.fill(fill);
                self.run_group(group, conductor)?;
            }
        }
        conductor.phase(Phase::new(PLAY, config.processes))?;
        self.is_playing = true;
        let group = self.play();
        self.run_group(group, conductor)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.headline.metrics();
        if self.config.request.is_classic() && !metrics.is_empty() {
            metrics.extend(self.printed());
        }
        metrics
    }

    fn cautions(&self) -> Vec<Caution> {
        let count = self.messages.len() as u64 + self.unreported;
        if count == 0 {
            return self.headline.cautions();
        }
        let mut shown: Vec<String> = self.messages.iter().take(SHOWN_MAX).cloned().collect();
        let more = count - shown.len() as u64;
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        let message = format!(
            "{count} operations came out otherwise than the load says: {}",
            shown.join("; ")
        );
        let mut cautions = self.headline.cautions();
        cautions.push(Caution { code: CautionCode::OtherwiseThanRecorded, message });
        cautions
    }

    fn remains(&self) -> Vec<String> {
        if self.config.request.is_classic() || !self.has_begun {
            return Vec::new();
        }
        vec![BASE.to_owned()]
    }
}

/// True if a message `[LINE] WHAT` describes the failure `client N failed at line LINE: WHAT`.
fn is_of_failure(message: &str, why: &str) -> bool {
    let place = why.split_once(" failed at line ").and_then(|(_, place)| place.split_once(": "));
    place.is_some_and(|(line, text)| message == format!("[{line}] {text}"))
}

/// Script that creates the directory of a native run.
struct MakeBase;

impl Script for MakeBase {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.make_dir(DirSlot::TARGET, c"dbench-0")
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_failure;

    #[test]
    fn the_message_of_a_failure_is_distinguished_from_those_before_it() {
        let why = "client 3 failed at line 12: rename a: b failed";
        assert!(is_of_failure("[12] rename a: b failed", why));
        for other in ["[12] b failed", "[2] rename a: b failed", "rename a: b failed", ""] {
            assert!(!is_of_failure(other, why), "{other}");
        }
    }
}
