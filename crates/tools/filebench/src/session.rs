//! Run of filebench: filesets are made, then all threads work; natively, the filesystem is synced
//! before and after.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use treering_model::{Counters, Metric, Op, TaskTotals};
use treering_script::{
    AllRanks, CachePolicy, Conductor, Io, IoQueue, ParallelGroup, ParallelOptions, Phase,
    QueueKind, RequestFlags, Script, Session, SessionError, SessionResult, SessionStop,
    SignalEffect, Stop, SyncScope, Task, TaskListener, TimeLimit, UnfinishedTasks,
};

use super::headline::HeadlineSums;
use super::names::directory;
use super::namespace::Namespace;
use super::plan::Plan;
use super::prepare::{AllocateFiles, MakeDirectories};
use super::tally::{FlowopCounters, RemainsTreatment, TreeCounters, WorkerReport};
use super::worker::{DEPTH, Worker};
use treering_kit::sync_all::SyncAll;

/// Phases, and the kinds of their tasks.
pub(super) const SETUP: &str = "setup";
pub(super) const DIRECTORIES: &str = "directories";
pub(super) const ALLOCATION: &str = "allocation";
pub(super) const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
pub(super) const FINAL_SYNC: &str = "final sync";
const SLEEP: &str = "sleep";

/// Number of tasks that create the files of one fileset in parallel.
const ALLOCATORS: usize = 8;
/// Maximum backlog of events that nobody has taken, in seconds of the event rate.
const BACKLOG_SECONDS_MAX: u64 = 5;
const SECOND_NS: u64 = 1_000_000_000;
/// Polling interval for events and snapshots, and its minimum in nanoseconds.
const TICK: Duration = Duration::from_millis(100);
const TICK_LEAST_NS: u64 = 10_000_000;

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunOptions {
    pub(super) classic: bool,
    pub(super) seed: u64,
    pub(super) queue: QueueKind,
}

/// Commands of the workload file between the making of the files and the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeforeRun {
    /// Dirty data are written back.
    pub(super) syncs: bool,
    /// The kernel's caches are dropped.
    pub(super) drops_caches: bool,
}

/// Session of a run.
pub(super) struct BenchSession {
    namespace: Arc<Namespace>,
    run_options: RunOptions,
    sleeps: u64,
    before: BeforeRun,
    has_begun: bool,
    reused: Vec<bool>,
    failure: Option<SessionError>,
    headline: HeadlineSums,
    /// Number of events generated, of snapshots taken, and of snapshots requested.
    events: u64,
    snapshots: u64,
    asked: u64,
}

impl BenchSession {
    /// Creates a session that has not begun.
    pub(super) fn new(
        plan: &Plan,
        run_options: RunOptions,
        sleeps: u64,
        before: BeforeRun,
    ) -> Self {
        let namespace = Arc::new(Namespace::new(plan, run_options.classic, run_options.seed));
        let failure = namespace.filesets.iter().find_map(|fileset| {
            let missing = (fileset.tree.files.len() as u64) < fileset.plan.entries;
            let name = fileset.plan.name.escape_debug();
            missing
                .then(|| format!("the tree of {name} has too many directories: a larger dirwidth"))
                .map(SessionError::new)
        });
        Self {
            headline: HeadlineSums::new(plan),
            reused: vec![false; namespace.filesets.len()],
            namespace,
            run_options,
            sleeps,
            before,
            has_begun: false,
            failure,
            events: 0,
            snapshots: 0,
            asked: 0,
        }
    }

    fn subject(&self, fileset: usize) -> String {
        if self.run_options.classic {
            self.namespace.filesets[fileset].plan.name.clone()
        } else {
            directory(fileset).to_string_lossy().into_owned()
        }
    }

    /// Makes the directories of a fileset, then its files.
    fn make_fileset(&mut self, fileset: usize, conductor: &mut dyn Conductor) -> SessionResult {
        let subject = self.subject(fileset);
        let script = MakeDirectories::new(&self.namespace, fileset);
        let task = Task::new(DIRECTORIES, &subject, Op::MakeDir, Box::new(script));
        self.set_up(vec![task], fileset, conductor)?;
        let made = &self.namespace.filesets[fileset];
        let many = made.plan.paralloc && made.made_before.len() > ALLOCATORS;
        let count = if many { ALLOCATORS } else { 1 };
        let reuses = self.reused[fileset];
        let task = |first| {
            let script = AllocateFiles::new(&self.namespace, fileset, first, count, reuses);
            Task::new(ALLOCATION, &subject, Op::Create, Box::new(script))
        };
        self.set_up((0..count).map(task).collect(), fileset, conductor)
    }

    /// Runs a group of the setup of a fileset.
    fn set_up(
        &mut self,
        tasks: Vec<Task>,
        fileset: usize,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let group = ParallelGroup::new(tasks);
        conductor.group(group, &mut SetupListener { session: self, fileset })?;
        self.check()
    }

    fn run_sync(
        &mut self,
        name: &str,
        listener: fn(&mut HeadlineSums, &TaskTotals),
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let task = Task::new(SYNC, "all", Op::Sync, Box::new(SyncAll(SyncScope::Target)));
        let headline = &mut self.headline;
        let mut listener = AllRanks(|totals: &TaskTotals| listener(headline, totals));
        conductor.run_task(name, task, &mut listener)?;
        self.check()
    }

    /// Error that ends the run.
    fn failure(&self) -> Option<SessionError> {
        self.failure.clone().or_else(|| self.namespace.common.fatal_error())
    }

    fn check(&self) -> SessionResult {
        SessionStop::check(self.failure())
    }

    fn benchmark(&self) -> ParallelGroup {
        let plan = &self.namespace.plan;
        let mut tasks = Vec::new();
        for (number, thread) in plan.threads.iter().enumerate() {
            for instance in 0..thread.instances {
                let worker =
                    Worker::new(&self.namespace, tasks.len(), number, self.run_options.seed);
                let kind = format!("{} {}", thread.process, thread.name);
                let queue = IoQueue {
                    kind: self.run_options.queue,
                    depth: DEPTH,
                    read_bytes: 0,
                    write_bytes: 0,
                    flags: RequestFlags::default(),
                };
                tasks.push(Task {
                    direct: thread.direct,
                    synchronous: thread.synchronous.into(),
                    queue: thread.queued.then_some(queue),
                    ..Task::new(&kind, &instance.to_string(), Op::Create, Box::new(worker))
                });
            }
        }
        let side_by_side = ParallelOptions {
            on_signal: SignalEffect::Stop,
            unfinished: UnfinishedTasks::Reported,
            ..ParallelOptions::default()
        };
        let deadline = self.namespace.common.deadline.clone();
        let seconds = plan.run_length.seconds;
        let after = |seconds| TimeLimit { after: Duration::from_secs(seconds), deadline };
        ParallelGroup {
            tasks,
            side_by_side,
            time_limit: seconds.map(after),
            tick_every: self.tick_every(),
            caches: if self.before.drops_caches { CachePolicy::Drop } else { CachePolicy::Keep },
            ..ParallelGroup::default()
        }
    }

    fn tick_every(&self) -> Option<Duration> {
        let plan = &self.namespace.plan;
        match plan.rate {
            // As the original: every ten events.
            Some(rate) => {
                let ns = (10 * SECOND_NS / rate).max(TICK_LEAST_NS);
                Some(Duration::from_nanos(ns).min(TICK))
            }
            None => plan.run_length.period.map(|_| TICK),
        }
    }

    fn events_come(&mut self, elapsed_ns: u64) {
        let Some(rate) = self.namespace.plan.rate else { return };
        let due = u128::from(rate) * u128::from(elapsed_ns) / u128::from(SECOND_NS);
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        let more = due.saturating_sub(self.events);
        self.events = due;
        if more > 0 {
            self.namespace.common.events_come(more, rate.saturating_mul(BACKLOG_SECONDS_MAX));
        }
    }

    /// Counters of all workers at the end of a period. The workers are asked for them one tick
    /// earlier.
    fn snapshot(&mut self, elapsed_ns: u64) -> Counters {
        let run_length = self.namespace.plan.run_length;
        let Some((period, _)) = run_length.period else {
            return Counters::default();
        };
        let next = period.saturating_mul(SECOND_NS).saturating_mul(self.snapshots + 1);
        // As in the original, the end of the run reports the last period.
        if run_length.seconds.is_some_and(|seconds| next >= seconds.saturating_mul(SECOND_NS)) {
            return Counters::default();
        }
        let moment = u64::try_from(TICK.as_nanos()).unwrap_or(0);
        if elapsed_ns.saturating_add(moment) >= next && self.asked == self.snapshots {
            self.asked += 1;
            self.namespace.common.snapshot.fetch_add(1, Ordering::SeqCst);
        }
        if elapsed_ns < next {
            return Counters::default();
        }
        self.snapshots += 1;
        let mut sums = vec![FlowopCounters::default(); self.namespace.plan.rows.len()];
        for reported in &self.namespace.common.reported {
            reported.lock().unwrap_or_else(PoisonError::into_inner).add_to(&mut sums);
        }
        let rows = sums.into_iter().enumerate().collect();
        Counters::from_value(&WorkerReport { began_ns: elapsed_ns, ran_out: false, rows })
    }
}

/// Listener of the setup: counts its tasks, and records what existed in the place of a fileset.
struct SetupListener<'s> {
    session: &'s mut BenchSession,
    fileset: usize,
}

impl TaskListener for SetupListener<'_> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self.session.headline.set_up(totals);
        if totals.kind != DIRECTORIES {
            return;
        }
        match totals.counters.read().map(|tree: TreeCounters| tree.became) {
            Some(RemainsTreatment::Reused) => self.session.reused[self.fileset] = true,
            Some(RemainsTreatment::Foreign) => {
                let plan = &self.session.namespace.filesets[self.fileset].plan;
                let place = format!("{}/{}", plan.path, plan.name);
                self.session.failure.get_or_insert(SessionError::new(format!(
                    "{} holds something that no fileset has; nothing was removed: name another \
                     path, or remove it yourself",
                    place.escape_debug()
                )));
            }
            _ => {}
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.session.headline.set_up(totals);
    }
}

impl TaskListener for BenchSession {
    fn task_ended(&mut self, totals: &TaskTotals) {
        if let Some(account) = totals.counters.read::<WorkerReport>() {
            self.headline.add_work(totals, &account);
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.task_ended(totals);
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        self.events_come(elapsed_ns);
        self.snapshot(elapsed_ns)
    }
}

impl Session for BenchSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let is_native = !self.run_options.classic;
        let filesets = self.namespace.filesets.len();
        conductor.phase(Phase::new(SETUP, 2 * filesets))?;
        for fileset in 0..filesets {
            self.make_fileset(fileset, conductor)?;
        }
        if self.sleeps > 0 {
            let script = SleepScript { ns: self.sleeps.saturating_mul(SECOND_NS) };
            let task = Task::new(SLEEP, "all", Op::Pause, Box::new(script));
            self.set_up(vec![task], filesets, conductor)?;
        }
        if is_native || self.before.syncs {
            self.run_sync(SYNC, |_, _| {}, conductor)?;
        }
        conductor.phase(Phase::new(BENCHMARK, self.namespace.plan.workers()))?;
        conductor.group(self.benchmark(), self)?;
        self.check()?;
        if self.headline.operations() == 0 {
            let nothing = "the run yielded nothing: no operation was done";
            return Err(SessionError::new(nothing).into());
        }
        if is_native { self.run_sync(FINAL_SYNC, HeadlineSums::synced, conductor) } else { Ok(()) }
    }

    fn metrics(&self) -> Vec<Metric> {
        // A run that ended early has no number.
        if self.failure().is_some() {
            return Vec::new();
        }
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        if self.run_options.classic || !self.has_begun {
            return Vec::new();
        }
        (0..self.namespace.filesets.len()).map(|fileset| self.subject(fileset)).collect()
    }
}

/// Script that sleeps in short pieces.
struct SleepScript {
    ns: u64,
}

impl Script for SleepScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let mut left_ns = self.ns;
        while left_ns > 0 {
            let piece_ns = left_ns.min(SECOND_NS / 50);
            left_ns -= piece_ns;
            io.pause(piece_ns)?;
        }
        Ok(())
    }
}
