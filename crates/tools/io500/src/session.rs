//! One run: the tests of mdtest and ior, led through the phases of IO500 in their order.

use treering_model::metrics::{cpu, rates};
use treering_model::workloads::io500::{
    Benchmark, FILES_FACT, FIND, FOUND_FACT, FindCounts, STEPS, Step, StepKind, measured,
};
use treering_model::{Fact, Metric, Op, Scope, TaskTotals};
use treering_script::{
    Caches, ParallelGroup, Phase, Script, Session, SideBySide, Task, WorkerKind,
};

use super::beneath::InDirectory;
use super::find::{Directories, Find, TOP_DIRECTORY, TimestampFile, directory_of};
use super::phases::{Part, parts};
use treering_kit::span::Span;

/// The kind of tasks that make room and are not measured.
const SETUP: &str = "setup";

/// What of a run is no matter of a single test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) workers: u16,
    /// Whether caches are dropped before each phase.
    pub(super) cold: bool,
    pub(super) kind: WorkerKind,
}

/// The search of all workers.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    span: Span,
    counts: FindCounts,
    cpu_ns: u64,
    tasks: u64,
}

/// A run in progress.
pub(super) struct RehearsalSession {
    frame: Frame,
    /// The tests, as [`Benchmark::ALL`].
    tests: [Box<dyn Session>; 4],
    /// How many phases have begun.
    begun: usize,
    /// Parts of the present phase that have not begun, the next one last.
    waiting: Vec<Part>,
    part: Option<Part>,
    is_first_group: bool,
    search: Search,
}

impl RehearsalSession {
    pub(super) fn new(frame: Frame, tests: [Box<dyn Session>; 4]) -> Self {
        Self {
            frame,
            tests,
            begun: 0,
            waiting: Vec::new(),
            part: None,
            is_first_group: false,
            search: Search::default(),
        }
    }

    fn step(&self) -> Option<&'static Step> {
        STEPS.get(self.begun.checked_sub(1)?)
    }

    /// The next group of the present part; `None` ends the part.
    fn group_of(&mut self, part: Part) -> Option<ParallelGroup> {
        match part {
            Part::Of(test) => {
                let group = self.tests[test.place()].next_group()?;
                Some(self.in_its_directory(test, group))
            }
            own if self.part.is_none() => {
                self.part = Some(own);
                let side_by_side = SideBySide { workers: self.frame.kind, ..SideBySide::default() };
                let tasks = self.own_tasks(own);
                Some(ParallelGroup { tasks, side_by_side, ..ParallelGroup::default() })
            }
            _done => None,
        }
    }

    fn own_tasks(&self, part: Part) -> Vec<Task> {
        let one = |op, script: Box<dyn Script>| vec![Task::new(SETUP, TOP_DIRECTORY, op, script)];
        match part {
            Part::Of(_) => Vec::new(),
            Part::MakeDirectories => one(Op::MakeDir, Box::new(Directories { makes: true })),
            Part::RemoveDirectories => one(Op::RemoveDir, Box::new(Directories { makes: false })),
            Part::Timestamp => one(Op::Create, Box::new(TimestampFile)),
            Part::Find => {
                let workers = self.frame.workers;
                let search = |worker| {
                    let counts = FindCounts::default();
                    let script = Box::new(Find { worker, workers, counts });
                    Task::new(FIND, TOP_DIRECTORY, Op::Stat, script)
                };
                (0..workers).map(search).collect()
            }
        }
    }

    /// A group of a test, its tasks under the name of the phase.
    fn in_its_directory(&self, test: Benchmark, mut group: ParallelGroup) -> ParallelGroup {
        let Some(step) = self.step() else { return group };
        if !step.is_written() {
            // Only writing ends by time. ior by itself would end its reads likewise.
            group.time_limit = None;
        }
        group.tasks = group
            .tasks
            .into_iter()
            .map(|task| {
                let is_measured = is_measured(&task.kind) && step.is_measured();
                let script = Box::new(InDirectory {
                    directory: directory_of(test),
                    inner: task.script,
                    syncs: step.is_written() && is_measured && !test.moves_data(),
                });
                let kind = if is_measured { step.name } else { SETUP };
                Task { kind: kind.to_owned(), tally: String::new(), script, ..task }
            })
            .collect();
        group
    }

    fn search_metrics(&self) -> Vec<Metric> {
        let Search { span, counts, cpu_ns, tasks } = self.search;
        let seconds = span.seconds();
        if tasks == 0 || seconds <= 0.0 {
            return Vec::new();
        }
        let of = || Scope::Kind(FIND.to_owned());
        let rate = rates::OPERATIONS_PER_SECOND.of(of(), counts.files as f64 / seconds);
        let cpu = cpu::CPU_SECONDS.of(of(), cpu_ns as f64 / 1e9);
        [rate.primary(), cpu].into_iter().map(|metric| metric.of_tasks(tasks)).collect()
    }
}

/// Whether a task of mdtest or ior is what a phase measures.
fn is_measured(kind: &str) -> bool {
    kind.starts_with("file-") || kind == "write" || kind == "read"
}

/// The metrics of a run. Their values mean nothing.
pub(super) fn foreseen() -> Vec<Metric> {
    let rate = |step: &Step| {
        let spec =
            if step.moves_data() { rates::MIB_PER_SECOND } else { rates::OPERATIONS_PER_SECOND };
        spec.of(Scope::Kind(step.name.to_owned()), 1.0).primary()
    };
    measured().map(rate).collect()
}

impl Session for RehearsalSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let step = STEPS.get(self.begun)?;
        self.begun += 1;
        self.waiting = parts(step.kind);
        self.waiting.reverse();
        self.part = None;
        self.is_first_group = true;
        Some(Phase { name: step.name.to_owned(), tasks: self.frame.workers.into() })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        loop {
            let part = *self.waiting.last()?;
            if self.part.is_none()
                && let Part::Of(test) = part
            {
                self.tests[test.place()].next_phase()?;
                self.part = Some(part);
            }
            if let Some(mut group) = self.group_of(part) {
                if std::mem::take(&mut self.is_first_group) && self.frame.cold {
                    group.caches = Caches::Drop;
                }
                return Some(group);
            }
            self.waiting.pop();
            self.part = None;
        }
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Of(test)) => self.tests[test.place()].task_ended(totals),
            Some(Part::Find) => {
                let counts = totals.counters.read::<FindCounts>().unwrap_or_default();
                self.search.span.add(totals);
                self.search.counts.files += counts.files;
                self.search.counts.found += counts.found;
                self.search.cpu_ns += totals.cpu.total_ns();
                self.search.tasks += 1;
            }
            _ => {}
        }
    }

    fn facts(&self) -> Vec<Fact> {
        if self.search.tasks == 0 {
            return Vec::new();
        }
        let fact =
            |name: &str, value: u64| Fact { name: name.to_owned(), value: value.to_string() };
        let FindCounts { files, found } = self.search.counts;
        vec![fact(FILES_FACT, files), fact(FOUND_FACT, found)]
    }

    fn metrics(&self) -> Vec<Metric> {
        let of_tests: Vec<Metric> =
            self.tests.iter().flat_map(|session| session.metrics()).collect();
        let of_step = |step: &Step| {
            if step.kind == StepKind::Find {
                return self.search_metrics();
            }
            let scope = Scope::Kind(step.name.to_owned());
            of_tests.iter().filter(|metric| metric.scope == scope).cloned().collect()
        };
        STEPS.iter().flat_map(of_step).collect()
    }

    fn remains(&self) -> Vec<String> {
        if self.begun == 0 { Vec::new() } else { vec![TOP_DIRECTORY.to_owned()] }
    }
}
