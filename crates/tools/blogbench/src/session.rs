//! Run of blogbench: syncs the filesystem, runs all threads in parallel, and takes a row each
//! interval.

use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

use treering_model::{Counters, Metric, Op, TaskTotals};
use treering_script::{
    Conductor, CounterBoard, Deadline, GroupStart, NoListener, ParallelGroup, ParallelOptions,
    Phase, Random, Session, SessionResult, SignalEffect, SyncScope, Task, TaskListener, TimeLimit,
    UnfinishedTasks,
};

use super::config::{RunConfig, ThreadRole};
use super::counts::{BlogCounters, CounterSums};
use super::headline::HeadlineSums;
use super::once::SingleCallScript;
use super::thread::{SharedState, ThreadScript};

/// The phases, by name.
const SETUP: &str = "setup";
const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
const FINAL_SYNC: &str = "final sync";
/// The directory of a native run's blogs.
pub(super) const ROOT: &str = "blogbench-0";

/// Extra time in seconds: a run is ended after twice its length plus this, if no rows were seen.
const GRACE_SECONDS: u64 = 60;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub(super) struct RunParameters {
    pub(super) config: RunConfig,
    pub(super) classic: bool,
    /// Number of blogs that exist at a time.
    pub(super) standing: u64,
}

/// Session of a run.
pub(super) struct BlogSession {
    run: RunParameters,
    common: Arc<SharedState>,
    /// Counts per thread.
    counts: Vec<BlogCounters>,
    has_begun: bool,
    headline: HeadlineSums,
}

impl BlogSession {
    /// Creates a session that has not begun.
    pub(super) fn new(run: RunParameters) -> Self {
        let root = (!run.classic).then(|| CString::new(ROOT).unwrap_or_default());
        let common = SharedState {
            begun: CounterBoard::new(),
            deadline: Deadline::default(),
            standing: run.standing,
            root,
            read_bytes: run.config.reads.read_bytes,
            finishes: run.classic,
            is_timed: !run.classic,
        };
        Self {
            common: Arc::new(common),
            counts: Vec::new(),
            has_begun: false,
            headline: HeadlineSums::default(),
            run,
        }
    }

    /// Tasks of the threads, writers first.
    fn threads(&mut self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for role in ThreadRole::ALL {
            for number in 0..self.run.config.threads_of(role) {
                let counts = BlogCounters::default();
                self.counts.push(counts.clone());
                let part = format!("{} {number}", role.name());
                let random = Random::for_part(self.run.config.reads.seed, &part);
                let script = ThreadScript::new(role, Arc::clone(&self.common), counts, random);
                let file_op = if role == ThreadRole::Reader { Op::Open } else { Op::Create };
                tasks.push(Task::new(role.name(), "blogs", file_op, Box::new(script)));
            }
        }
        tasks
    }

    /// Time limit for the case that no rows are taken any more; normally the rows end the work.
    fn end(&self) -> TimeLimit {
        let RunConfig { iterations, sleep_seconds, .. } = self.run.config;
        let seconds = iterations.saturating_mul(sleep_seconds).saturating_mul(2);
        let after = Duration::from_secs(seconds.saturating_add(GRACE_SECONDS));
        TimeLimit { after, deadline: self.common.deadline.clone() }
    }

    fn sums(&self) -> CounterSums {
        self.counts.iter().map(BlogCounters::sums).fold(CounterSums::default(), CounterSums::plus)
    }

    fn benchmark(&mut self) -> ParallelGroup {
        let start = if self.run.classic { GroupStart::AsMade } else { GroupStart::Together };
        let side_by_side = ParallelOptions {
            start,
            on_signal: SignalEffect::Stop,
            unfinished: UnfinishedTasks::Reported,
            ..ParallelOptions::default()
        };
        ParallelGroup {
            side_by_side,
            tick_every: Some(self.run.config.interval()),
            time_limit: Some(self.end()),
            ..ParallelGroup::new(self.threads())
        }
    }
}

fn task(kind: &str, script: SingleCallScript) -> Task {
    Task::new(kind, "all", Op::MakeDir, Box::new(script))
}

impl TaskListener for BlogSession {
    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        // A thread may still be busy with its last blog.
        if self.common.deadline.is_reached() {
            return Counters::default();
        }
        let sums = self.sums();
        let rows = self.headline.row(elapsed_ns, sums);
        if rows >= self.run.config.iterations {
            self.common.deadline.reach();
        }
        Counters::from_value(&sums)
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        self.headline.worked(totals);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.headline.others_worked(totals);
    }
}

impl Session for BlogSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let is_native = !self.run.classic;
        let scope = if is_native { SyncScope::Target } else { SyncScope::Machine };
        if is_native {
            let root = self.common.root.clone().unwrap_or_default();
            conductor.run_task(
                SETUP,
                task(SETUP, SingleCallScript::MakeDir(root)),
                &mut NoListener,
            )?;
        }
        conductor.run_task(SYNC, task(SYNC, SingleCallScript::Sync(scope)), &mut NoListener)?;
        conductor.phase(Phase::new(BENCHMARK, self.run.config.all_threads()))?;
        conductor.group(self.benchmark(), self)?;
        if is_native {
            // The original leaves what it wrote to the kernel.
            let mut listener = |totals: &TaskTotals| self.headline.synced(totals);
            conductor.run_task(
                FINAL_SYNC,
                task(FINAL_SYNC, SingleCallScript::Sync(scope)),
                &mut listener,
            )?;
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        (self.has_begun && !self.run.classic).then(|| ROOT.to_owned()).into_iter().collect()
    }
}
