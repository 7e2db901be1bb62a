//! Progress of a run of any session: its phase, the sums of its tasks, its end.

use treering_model::metrics::{cpu, rates, times};
use treering_model::{Caution, Fact, Metric, Scope, TaskTotals};
use treering_script::{
    Conductor, LayoutFeed, ParallelGroup, Phase, SessionError, SessionResult, SessionStop,
};

use super::calls::ROOT;
use super::ending::EndingMonitor;
use super::steps::StepCounters;
use treering_kit::ahead::refusal;

/// Names of the phases.
pub(super) const FILL: &str = "fill";
pub(super) const AGE: &str = "age";

/// Sums over the tasks of a run.
#[derive(Clone, Copy, Debug, Default)]
struct TaskSums {
    operations: u64,
    wall_ns: u64,
    cpu_ns: u64,
}

/// Progress of a run.
#[derive(Debug)]
pub(super) struct RunProgress {
    pub(super) ending: EndingMonitor,
    /// Current phase; `None` before the first.
    pub(super) phase: Option<&'static str>,
    /// Error of a run that could not begin because the filesystem lacks a required call.
    refusal: Option<SessionError>,
    /// Error of a run that could not go on because of an entry that is not its own.
    foreign: Option<SessionError>,
    /// Filesystem type, for the error about a call.
    filesystem: Option<String>,
    sums: TaskSums,
}

impl RunProgress {
    pub(super) fn new(ending: EndingMonitor) -> Self {
        Self {
            ending,
            phase: None,
            refusal: None,
            foreign: None,
            filesystem: None,
            sums: TaskSums::default(),
        }
    }

    /// Sets the type of the filesystem, which errors name.
    pub(super) fn on(self, filesystem: Option<&str>) -> Self {
        Self { filesystem: filesystem.map(str::to_owned), ..self }
    }

    /// Begins a phase of this many tasks.
    pub(super) fn begin(&mut self, name: &'static str, tasks: u64) -> Phase {
        self.phase = Some(name);
        Phase::new(name, tasks)
    }

    /// Runs a group; fails if the filesystem cannot allocate, or no rule can end the run.
    pub(super) fn run_group(
        &mut self,
        group: ParallelGroup,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        conductor.group(group, &mut |totals: &TaskTotals| self.task_ended(totals))?;
        self.check()
    }

    /// Fails if the filesystem cannot allocate, or no rule can end the run.
    pub(super) fn check(&self) -> SessionResult {
        let stopped = self.refusal.as_ref().or(self.foreign.as_ref());
        SessionStop::check(stopped.cloned().or_else(|| self.ending.failure()))
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let StepCounters { ahead: counted, put_back, refused, foreign, .. } =
            totals.counters.read().unwrap_or_default();
        self.ending.count_put_back(put_back);
        let is_aging = self.phase == Some(AGE);
        let aged = if is_aging { counted.operations } else { 0 };
        self.ending.task_ended(totals, aged, counted.ahead_bytes);
        if is_aging {
            self.ending.end_step();
        }
        self.sums.operations += counted.operations;
        self.sums.wall_ns += totals.wall_ns;
        self.sums.cpu_ns += totals.cpu.total_ns();
        self.ending.count_shortages(counted.short_of_space, counted.deleted_for_space);
        if counted.is_full {
            self.ending.end_full();
        }
        if counted.cannot_allocate {
            self.refusal = Some(refusal());
        }
        if let Some(foreign) = foreign {
            let message = format!(
                "{ROOT}/{} is not of the interrupted run, and in its way; nothing was changed: move \
                 it away, then repeat the command",
                foreign.escape_debug()
            );
            self.foreign = Some(SessionError::new(message));
        }
        if let Some(refused) = refused {
            let filesystem = self.filesystem.as_deref().unwrap_or("this filesystem");
            let message = format!(
                "{filesystem} cannot do what the profile needs: {refused}; nothing was aged: take \
                 it out of the profile, or age another filesystem"
            );
            self.refusal = Some(SessionError::new(message));
        }
    }

    pub(super) fn layouts(&self) -> Option<LayoutFeed> {
        self.ending.feed()
    }

    /// Facts about the end, followed by those of the session.
    pub(super) fn facts<const N: usize>(&self, own: [(&str, String); N]) -> Vec<Fact> {
        let own = own.map(|(name, value)| Fact { name: name.to_owned(), value });
        self.ending.facts().into_iter().chain(own).collect()
    }

    pub(super) fn metrics(&self) -> Vec<Metric> {
        metrics(self.sums)
    }

    pub(super) fn cautions(&self) -> Vec<Caution> {
        self.ending.cautions()
    }

    pub(super) fn remains(&self) -> Vec<String> {
        let made = self.phase.filter(|_| self.refusal.is_none());
        made.map(|_| ROOT.to_owned()).into_iter().collect()
    }
}

/// Metrics from the sums of a run.
fn metrics(sums: TaskSums) -> Vec<Metric> {
    let seconds = sums.wall_ns as f64 / 1e9;
    if sums.operations == 0 || seconds <= 0.0 {
        return Vec::new();
    }
    let operations = sums.operations as f64;
    vec![
        rates::OPERATIONS_PER_SECOND.of(Scope::Trial, operations / seconds).primary(),
        rates::OPERATIONS.of(Scope::Trial, operations),
        times::OPERATION_SECONDS.of(Scope::Trial, seconds),
        cpu::OPERATION_CPU_SECONDS.of(Scope::Trial, sums.cpu_ns as f64 / 1e9),
    ]
}

/// Names of the metrics that a run will have, with placeholder values.
pub(super) fn foreseen() -> Vec<Metric> {
    metrics(TaskSums { operations: 1, wall_ns: 1, cpu_ns: 1 })
}
