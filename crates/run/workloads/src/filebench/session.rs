//! One run: filesets are made, then all threads work; natively, everything is brought to disk
//! before and after.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use treering_model::{Counters, Metric, Op, TaskTotals};
use treering_script::{
    Io, OnSignal, ParallelGroup, Phase, Queue, QueueKind, Script, StepSession, SessionError,
    SideBySide, Stop, SyncScope, Task, TimeLimit, Unfinished,
};

use super::headline::Headline;
use super::names::directory;
use super::namespace::Namespace;
use super::plan::Plan;
use super::prepare::{Allocation, Directories};
use super::tally::{Account, Became, Tally, TreeCounters};
use super::worker::{DEPTH, Worker};
use crate::sync_all::SyncAll;

/// Phases, and the kinds of their tasks.
pub(super) const SETUP: &str = "setup";
pub(super) const DIRECTORIES: &str = "directories";
pub(super) const ALLOCATION: &str = "allocation";
pub(super) const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
pub(super) const FINAL_SYNC: &str = "final sync";
const SLEEP: &str = "sleep";

/// Tasks that make the files of one fileset side by side.
const ALLOCATORS: usize = 8;
/// Seconds of events that wait at most.
const EVENTS_SECONDS: u64 = 5;
const SECOND_NS: u64 = 1_000_000_000;
/// How often it is looked after events and snapshots.
const TICK: Duration = Duration::from_millis(100);
const TICK_LEAST_NS: u64 = 10_000_000;

/// How a run is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) classic: bool,
    pub(super) seed: u64,
    pub(super) queue: QueueKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Setup,
    Sync,
    Benchmark,
    FinalSync,
}

/// A run in progress.
pub(super) struct BenchSession {
    namespace: Arc<Namespace>,
    manner: Manner,
    sleeps: u64,
    part: Option<Part>,
    group: usize,
    reused: Vec<bool>,
    failure: Option<SessionError>,
    headline: Headline,
    /// Events that came so far, and when the next snapshot is.
    events: u64,
    snapshots: u64,
    asked: u64,
}

impl BenchSession {
    /// A run that has not begun.
    pub(super) fn new(plan: &Plan, manner: Manner, sleeps: u64) -> Self {
        let namespace = Arc::new(Namespace::new(plan, manner.classic, manner.seed));
        let failure = namespace.filesets.iter().find_map(|fileset| {
            let missing = (fileset.tree.files.len() as u64) < fileset.plan.entries;
            let name = fileset.plan.name.escape_debug();
            missing
                .then(|| format!("the tree of {name} has too many directories: a larger dirwidth"))
                .map(SessionError::new)
        });
        Self {
            headline: Headline::new(plan),
            reused: vec![false; namespace.filesets.len()],
            namespace,
            manner,
            sleeps,
            part: None,
            group: 0,
            failure,
            events: 0,
            snapshots: 0,
            asked: 0,
        }
    }

    fn subject(&self, fileset: usize) -> String {
        if self.manner.classic {
            self.namespace.filesets[fileset].plan.name.clone()
        } else {
            directory(fileset).to_string_lossy().into_owned()
        }
    }

    /// For each fileset its directories, then its files; at last what the file sleeps.
    fn setup(&self, group: usize) -> Option<ParallelGroup> {
        let filesets = self.namespace.filesets.len();
        let (fileset, allocates) = (group / 2, !group.is_multiple_of(2));
        if fileset >= filesets {
            let sleeps = self.sleeps > 0 && group == 2 * filesets;
            return sleeps.then(|| {
                let script = Sleep { ns: self.sleeps.saturating_mul(SECOND_NS) };
                let task = Task::new(SLEEP, "all", Op::Pause, Box::new(script));
                ParallelGroup { tasks: vec![task], ..ParallelGroup::default() }
            });
        }
        let subject = self.subject(fileset);
        if !allocates {
            let script = Directories::new(&self.namespace, fileset);
            let task = Task::new(DIRECTORIES, &subject, Op::MakeDir, Box::new(script));
            return Some(ParallelGroup { tasks: vec![task], ..ParallelGroup::default() });
        }
        let made = &self.namespace.filesets[fileset];
        let many = made.plan.paralloc && made.made_before.len() > ALLOCATORS;
        let count = if many { ALLOCATORS } else { 1 };
        let tasks = (0..count).map(|first| {
            let reuses = self.reused[fileset];
            let script = Allocation::new(&self.namespace, fileset, first, count, reuses);
            Task::new(ALLOCATION, &subject, Op::Create, Box::new(script))
        });
        Some(ParallelGroup { tasks: tasks.collect(), ..ParallelGroup::default() })
    }

    fn benchmark(&self) -> ParallelGroup {
        let plan = &self.namespace.plan;
        let mut tasks = Vec::new();
        for (number, thread) in plan.threads.iter().enumerate() {
            for instance in 0..thread.instances {
                let worker = Worker::new(&self.namespace, tasks.len(), number, self.manner.seed);
                let kind = format!("{} {}", thread.process, thread.name);
                let queue = Queue { kind: self.manner.queue, depth: DEPTH };
                tasks.push(Task {
                    direct: thread.direct,
                    synchronous: thread.synchronous.into(),
                    queue: thread.queued.then_some(queue),
                    ..Task::new(&kind, &instance.to_string(), Op::Create, Box::new(worker))
                });
            }
        }
        let side_by_side = SideBySide {
            on_signal: OnSignal::Stop,
            unfinished: Unfinished::Reported,
            ..SideBySide::default()
        };
        let deadline = self.namespace.common.deadline.clone();
        let seconds = plan.run_length.seconds;
        let after = |seconds| TimeLimit { after: Duration::from_secs(seconds), deadline };
        ParallelGroup {
            tasks,
            side_by_side,
            time_limit: seconds.map(after),
            tick_every: self.tick_every(),
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
        let all = u128::from(rate) * u128::from(elapsed_ns) / u128::from(SECOND_NS);
        let all = u64::try_from(all).unwrap_or(u64::MAX);
        let more = all.saturating_sub(self.events);
        self.events = all;
        if more > 0 {
            self.namespace.common.events_come(more, rate.saturating_mul(EVENTS_SECONDS));
        }
    }

    /// What all have done, at the end of a period: asked for a moment before.
    fn snapshot(&mut self, elapsed_ns: u64) -> Counters {
        let Some((period, _)) = self.namespace.plan.run_length.period else {
            return Counters::default();
        };
        let next = period.saturating_mul(SECOND_NS).saturating_mul(self.snapshots + 1);
        let moment = u64::try_from(TICK.as_nanos()).unwrap_or(0);
        if elapsed_ns.saturating_add(moment) >= next && self.asked == self.snapshots {
            self.asked += 1;
            self.namespace.common.snapshot.fetch_add(1, Ordering::SeqCst);
        }
        if elapsed_ns < next {
            return Counters::default();
        }
        self.snapshots += 1;
        let mut sums = vec![Tally::default(); self.namespace.plan.rows.len()];
        for reported in &self.namespace.common.reported {
            reported.lock().unwrap_or_else(PoisonError::into_inner).add_to(&mut sums);
        }
        let rows = sums.into_iter().enumerate().collect();
        Counters::of(&Account { began_ns: elapsed_ns, ran_out: false, rows })
    }

    fn worked(&mut self, totals: &TaskTotals) {
        if let Some(account) = totals.counters.read::<Account>() {
            self.headline.worked(totals, &account);
        }
    }
}

impl StepSession for BenchSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let native = !self.manner.classic;
        let part = match self.part {
            None => Part::Setup,
            Some(Part::Setup) if native => Part::Sync,
            Some(Part::Setup | Part::Sync) => Part::Benchmark,
            Some(Part::Benchmark) if native => Part::FinalSync,
            Some(Part::Benchmark | Part::FinalSync) => return None,
        };
        self.part = Some(part);
        self.group = 0;
        let (name, tasks) = match part {
            Part::Setup => (SETUP, 2 * self.namespace.filesets.len() as u64),
            Part::Sync => (SYNC, 1),
            Part::Benchmark => (BENCHMARK, self.namespace.plan.workers()),
            Part::FinalSync => (FINAL_SYNC, 1),
        };
        Some(Phase { name: name.to_owned(), tasks: u32::try_from(tasks).unwrap_or(u32::MAX) })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let group = self.group;
        self.group += 1;
        match self.part? {
            Part::Setup => self.setup(group),
            Part::Benchmark if group == 0 => Some(self.benchmark()),
            Part::Sync | Part::FinalSync if group == 0 => {
                let task = Task::new(SYNC, "all", Op::Sync, Box::new(SyncAll(SyncScope::Target)));
                Some(ParallelGroup { tasks: vec![task], ..ParallelGroup::default() })
            }
            _ => None,
        }
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Setup) => {
                self.headline.set_up(totals);
                if totals.kind != DIRECTORIES {
                    return;
                }
                let fileset = (self.group - 1) / 2;
                match totals.counters.read().map(|tree: TreeCounters| tree.became) {
                    Some(Became::Reused) => self.reused[fileset] = true,
                    Some(Became::Foreign) => {
                        let plan = &self.namespace.filesets[fileset].plan;
                        let place = format!("{}/{}", plan.path, plan.name);
                        self.failure.get_or_insert(SessionError::new(format!(
                            "{} holds something that no fileset has; nothing was removed: name \
                             another path, or remove it yourself",
                            place.escape_debug()
                        )));
                    }
                    _ => {}
                }
            }
            _ => self.others_task_ended(totals),
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Setup) => self.headline.set_up(totals),
            Some(Part::Benchmark) => self.worked(totals),
            Some(Part::FinalSync) => self.headline.synced(totals),
            Some(Part::Sync) | None => {}
        }
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        self.events_come(elapsed_ns);
        self.snapshot(elapsed_ns)
    }

    fn failure(&self) -> Option<SessionError> {
        let yielded = self.part != Some(Part::Benchmark) || self.headline.operations() > 0;
        self.failure.clone().or_else(|| self.namespace.common.trouble()).or_else(|| {
            let nothing = || SessionError::new("the run yielded nothing: no operation was done");
            (!yielded).then(nothing)
        })
    }

    fn metrics(&self) -> Vec<Metric> {
        // A run that ended early has no number.
        if self.failure.is_some() || self.namespace.common.trouble().is_some() {
            return Vec::new();
        }
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        if self.manner.classic || self.part.is_none() {
            return Vec::new();
        }
        (0..self.namespace.filesets.len()).map(|fileset| self.subject(fileset)).collect()
    }
}

/// Rests, in pieces.
struct Sleep {
    ns: u64,
}

impl Script for Sleep {
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
