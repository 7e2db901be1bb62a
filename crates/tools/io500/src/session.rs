//! Run of IO500: the tests of mdtest and ior, in the phases of IO500 and their order.

use treering_model::metrics::{cpu, rates};
use treering_model::workloads::io500::{
    FILES_FACT, FIND, FOUND_FACT, FindCounts, Io500Benchmark, Io500Phase, STEPS, StepKind, measured,
};
use treering_model::{Fact, Metric, Op, Scope, TaskTotals};
use treering_script::{
    CachePolicy, Conductor, ParallelGroup, ParallelOptions, Phase, Script, Session, SessionResult,
    Task, TaskListener, WorkerKind,
};

use super::beneath::DirectoryScript;
use super::find::{FindScript, MakeDirectoriesScript, TOP_DIRECTORY, TimestampFile, directory_of};
use treering_kit::parted::PartedSession;
use treering_kit::span::TimeSpan;

/// Kind of the setup tasks, which are not measured.
const SETUP: &str = "setup";

/// Options common to all tests of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonOptions {
    pub(super) workers: u16,
    /// True if caches are dropped before each phase.
    pub(super) cold: bool,
    pub(super) kind: WorkerKind,
}

/// The search of all workers.
#[derive(Clone, Copy, Debug, Default)]
struct SearchStep {
    span: TimeSpan,
    counts: FindCounts,
    cpu_ns: u64,
    tasks: u64,
}

/// Session of a rehearsal.
pub(super) struct RehearsalSession {
    frame: CommonOptions,
    /// The tests, as [`Io500Benchmark::ALL`].
    tests: [Box<dyn PartedSession>; 4],
    has_begun: bool,
    search: SearchStep,
}

impl RehearsalSession {
    pub(super) fn new(frame: CommonOptions, tests: [Box<dyn PartedSession>; 4]) -> Self {
        Self { frame, tests, has_begun: false, search: SearchStep::default() }
    }

    fn run_step(&mut self, step: &Io500Phase, conductor: &mut StepConductor<'_>) -> SessionResult {
        match step.kind {
            StepKind::Prepare => {
                let script = Box::new(MakeDirectoriesScript { makes: true });
                self.run_setup(Op::MakeDir, script, conductor)
            }
            StepKind::Timestamp => self.run_setup(Op::Create, Box::new(TimestampFile), conductor),
            StepKind::Find => self.run_search(conductor),
            // mdtest makes its trees before it creates, and removes them after its files.
            StepKind::Write(test) | StepKind::Delete(test) if !test.moves_data() => {
                self.run_part(test, conductor)?;
                self.run_part(test, conductor)
            }
            StepKind::Write(test)
            | StepKind::Read(test)
            | StepKind::Stat(test)
            | StepKind::Delete(test) => self.run_part(test, conductor),
            StepKind::CleanUp => {
                self.run_part(Io500Benchmark::IorEasy, conductor)?;
                self.run_part(Io500Benchmark::IorHard, conductor)?;
                let script = Box::new(MakeDirectoriesScript { makes: false });
                self.run_setup(Op::RemoveDir, script, conductor)
            }
        }
    }

    /// Runs the next part of a test in its directory.
    fn run_part(
        &mut self,
        test: Io500Benchmark,
        conductor: &mut StepConductor<'_>,
    ) -> SessionResult {
        conductor.test = Some(test);
        let ran = self.tests[test.place()].run_next_part(conductor);
        conductor.test = None;
        ran
    }

    fn run_setup(
        &self,
        op: Op,
        script: Box<dyn Script>,
        conductor: &mut StepConductor<'_>,
    ) -> SessionResult {
        let tasks = vec![Task::new(SETUP, TOP_DIRECTORY, op, script)];
        conductor.group(self.group(tasks), &mut |_: &TaskTotals| {})
    }

    fn run_search(&mut self, conductor: &mut StepConductor<'_>) -> SessionResult {
        let workers = self.frame.workers;
        let task = |worker| {
            let script = Box::new(FindScript { worker, workers, counts: FindCounts::default() });
            Task::new(FIND, TOP_DIRECTORY, Op::Stat, script)
        };
        let group = self.group((0..workers).map(task).collect());
        let search = &mut self.search;
        conductor.group(group, &mut |totals: &TaskTotals| {
            let counts = totals.counters.read::<FindCounts>().unwrap_or_default();
            search.span.add(totals);
            search.counts.files += counts.files;
            search.counts.found += counts.found;
            search.cpu_ns += totals.cpu.total_ns();
            search.tasks += 1;
        })
    }

    fn group(&self, tasks: Vec<Task>) -> ParallelGroup {
        let side_by_side =
            ParallelOptions { workers: self.frame.kind, ..ParallelOptions::default() };
        ParallelGroup { side_by_side, ..ParallelGroup::new(tasks) }
    }

    fn search_metrics(&self) -> Vec<Metric> {
        let SearchStep { span, counts, cpu_ns, tasks } = self.search;
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

/// True if a phase measures this kind of task of mdtest or ior.
fn is_measured(kind: &str) -> bool {
    kind.starts_with("file-") || kind == "write" || kind == "read"
}

/// Metrics that a run will have; the values are meaningless.
pub(super) fn foreseen() -> Vec<Metric> {
    let rate = |step: &Io500Phase| {
        let spec =
            if step.moves_data() { rates::MIB_PER_SECOND } else { rates::OPERATIONS_PER_SECOND };
        spec.of(Scope::Kind(step.name.to_owned()), 1.0).primary()
    };
    measured().map(rate).collect()
}

/// Conductor for the groups of a phase: those of a test work in its directory, under the name of
/// the phase.
struct StepConductor<'c> {
    conductor: &'c mut dyn Conductor,
    step: &'static Io500Phase,
    /// Test that the groups belong to.
    test: Option<Io500Benchmark>,
    /// True if caches are dropped before the next group.
    drops: bool,
}

impl StepConductor<'_> {
    fn in_directory(&self, test: Io500Benchmark, task: Task) -> Task {
        let is_measured = is_measured(&task.kind) && self.step.is_measured();
        let script = Box::new(DirectoryScript {
            directory: directory_of(test),
            inner: task.script,
            syncs: self.step.is_written() && is_measured && !test.moves_data(),
        });
        let kind = if is_measured { self.step.name } else { SETUP };
        Task { kind: kind.to_owned(), tally: String::new(), script, ..task }
    }
}

impl Conductor for StepConductor<'_> {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        self.conductor.phase(phase)
    }

    fn group(
        &mut self,
        mut group: ParallelGroup,
        listener: &mut dyn TaskListener,
    ) -> SessionResult {
        if let Some(test) = self.test {
            let tasks = group.tasks.into_iter();
            group.tasks = tasks.map(|task| self.in_directory(test, task)).collect();
            if !self.step.is_written() {
                // Only writing ends by time. ior by itself would end its reads likewise.
                group.time_limit = None;
            }
        }
        if std::mem::take(&mut self.drops) {
            group.caches = CachePolicy::Drop;
        }
        self.conductor.group(group, listener)
    }
}

impl Session for RehearsalSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        for step in &STEPS {
            conductor.phase(Phase::new(step.name, self.frame.workers))?;
            let drops = self.frame.cold;
            let conductor = &mut StepConductor { conductor, step, test: None, drops };
            self.run_step(step, conductor)?;
        }
        Ok(())
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
        let of_step = |step: &Io500Phase| {
            if step.kind == StepKind::Find {
                return self.search_metrics();
            }
            let scope = Scope::Kind(step.name.to_owned());
            of_tests.iter().filter(|metric| metric.scope == scope).cloned().collect()
        };
        STEPS.iter().flat_map(of_step).collect()
    }

    fn remains(&self) -> Vec<String> {
        if self.has_begun { vec![TOP_DIRECTORY.to_owned()] } else { Vec::new() }
    }
}
