//! One run: everything is on disk, the threads work side by side, a row is taken each interval.

use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

use treering_model::{Counters, Metric, Op, TaskTotals};
use treering_script::{
    Board, Deadline, GroupStart, OnSignal, ParallelGroup, Phase, Random, Script, StepSession,
    SideBySide, SyncScope, Task, TimeLimit, Unfinished,
};

use super::config::{Config, Role};
use super::counts::{Counts, Sums};
use super::headline::Headline;
use super::once::Once;
use super::thread::{Common, Thread};

/// The phases, by name.
const SETUP: &str = "setup";
const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
const FINAL_SYNC: &str = "final sync";
/// The directory of a native run's blogs.
pub(super) const ROOT: &str = "blogbench-0";

/// A run that takes twice its time and this has lost its rows.
const GRACE_SECONDS: u64 = 60;

/// How it is run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) config: Config,
    pub(super) classic: bool,
    /// Blogs that stand at once.
    pub(super) standing: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Setup,
    Sync,
    Benchmark,
    FinalSync,
}

/// A run in progress.
pub(super) struct BlogSession {
    run: Run,
    common: Arc<Common>,
    /// Of each thread.
    counts: Vec<Counts>,
    part: Option<Part>,
    /// Whether the present part's group is still to come.
    group_to_come: bool,
    headline: Headline,
}

impl BlogSession {
    /// A run that has not begun.
    pub(super) fn new(run: Run) -> Self {
        let root = (!run.classic).then(|| CString::new(ROOT).unwrap_or_default());
        let common = Common {
            begun: Board::new(),
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
            part: None,
            group_to_come: false,
            headline: Headline::default(),
            run,
        }
    }

    fn next_part(&self) -> Option<Part> {
        match self.part {
            None if self.run.classic => Some(Part::Sync),
            None => Some(Part::Setup),
            Some(Part::Setup) => Some(Part::Sync),
            Some(Part::Sync) => Some(Part::Benchmark),
            // The original leaves what it wrote to the kernel.
            Some(Part::Benchmark) if !self.run.classic => Some(Part::FinalSync),
            Some(Part::Benchmark | Part::FinalSync) => None,
        }
    }

    /// The threads, writers first.
    fn threads(&mut self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for role in Role::ALL {
            for number in 0..self.run.config.threads_of(role) {
                let counts = Counts::default();
                self.counts.push(counts.clone());
                let part = format!("{} {number}", role.name());
                let random = Random::for_part(self.run.config.reads.seed, &part);
                let script = Thread::new(role, Arc::clone(&self.common), counts, random);
                let file_op = if role == Role::Reader { Op::Open } else { Op::Create };
                tasks.push(Task::new(role.name(), "blogs", file_op, Box::new(script)));
            }
        }
        tasks
    }

    /// The rows end the work, unless nobody can hear of them any more.
    fn end(&self) -> TimeLimit {
        let Config { iterations, sleep_seconds, .. } = self.run.config;
        let seconds = iterations.saturating_mul(sleep_seconds).saturating_mul(2);
        let after = Duration::from_secs(seconds.saturating_add(GRACE_SECONDS));
        TimeLimit { after, deadline: self.common.deadline.clone() }
    }

    fn sums(&self) -> Sums {
        self.counts.iter().map(Counts::sums).fold(Sums::default(), Sums::plus)
    }

    fn once(kind: &str, script: Once) -> ParallelGroup {
        let script: Box<dyn Script> = Box::new(script);
        ParallelGroup {
            tasks: vec![Task::new(kind, "all", Op::MakeDir, script)],
            ..ParallelGroup::default()
        }
    }
}

impl StepSession for BlogSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let part = self.next_part()?;
        self.part = Some(part);
        self.group_to_come = true;
        let (name, tasks) = match part {
            Part::Setup => (SETUP, 1),
            Part::Sync => (SYNC, 1),
            Part::Benchmark => (BENCHMARK, self.run.config.all_threads()),
            Part::FinalSync => (FINAL_SYNC, 1),
        };
        Some(Phase { name: name.to_owned(), tasks })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.part.filter(|_| std::mem::replace(&mut self.group_to_come, false))?;
        let scope = if self.run.classic { SyncScope::Machine } else { SyncScope::Target };
        Some(match part {
            Part::Setup => {
                let root = self.common.root.clone().unwrap_or_default();
                Self::once(SETUP, Once::MakeDir(root))
            }
            Part::Sync => Self::once(SYNC, Once::Sync(scope)),
            Part::FinalSync => Self::once(FINAL_SYNC, Once::Sync(scope)),
            Part::Benchmark => {
                let start =
                    if self.run.classic { GroupStart::AsMade } else { GroupStart::Together };
                let side_by_side = SideBySide {
                    start,
                    on_signal: OnSignal::Stop,
                    unfinished: Unfinished::Reported,
                    ..SideBySide::default()
                };
                let tick_every = Some(self.run.config.interval());
                let time_limit = Some(self.end());
                let tasks = self.threads();
                ParallelGroup {
                    tasks,
                    side_by_side,
                    tick_every,
                    time_limit,
                    ..ParallelGroup::default()
                }
            }
        })
    }

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
        Counters::of(&sums)
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Benchmark) => self.headline.worked(totals),
            Some(Part::FinalSync) => self.headline.synced(totals),
            Some(Part::Setup | Part::Sync) | None => {}
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        if self.part == Some(Part::Benchmark) {
            self.headline.others_worked(totals);
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        let has_begun = self.part.is_some() && !self.run.classic;
        has_begun.then(|| ROOT.to_owned()).into_iter().collect()
    }
}
