//! Session of a profile that another workload carries out, ended by our rules. Each task counts as
//! one operation; the tasks of the first phases count as filling.

use treering_model::{Caution, Fact, Fingerprint, Metric, TaskTotals};
use treering_script::{
    Conductor, LayoutFeed, ParallelGroup, Phase, Session, SessionResult, SessionStop, SyncScope,
    TaskListener,
};

use super::ending::EndingMonitor;
use treering_kit::ahead::{AheadCounters, WRITE};

/// Session of a run.
pub(super) struct WorkloadSession<'j> {
    inner: Box<dyn Session + 'j>,
    operations: OperationMonitor,
    /// Phase whose tasks count as operations.
    aging: &'static str,
}

impl<'j> WorkloadSession<'j> {
    pub(super) fn new(
        inner: Box<dyn Session + 'j>,
        ending: EndingMonitor,
        aging: &'static str,
    ) -> Self {
        let operations =
            OperationMonitor { ending, stage: RunStage::Fill, print: Fingerprint::new() };
        Self { inner, operations, aging }
    }
}

/// The stages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunStage {
    /// The tree is filled.
    Fill,
    /// Operations: each task is one.
    Age,
    /// Files that were only allocated are written after the operations.
    Write,
}

/// The operations of a run and the rules that end them.
struct OperationMonitor {
    ending: EndingMonitor,
    stage: RunStage,
    print: Fingerprint,
}

impl OperationMonitor {
    fn task_ended(&mut self, totals: &TaskTotals) {
        let parts = [&totals.kind, " ", &totals.subject, " ", &totals.state, "\n"];
        if self.stage != RunStage::Write {
            parts.iter().for_each(|part| self.print.add(part.as_bytes()));
        }
        let counted: AheadCounters = totals.counters.read().unwrap_or_default();
        let is_aging = self.stage == RunStage::Age;
        self.ending.task_ended(totals, u64::from(is_aging), counted.ahead_bytes);
        if is_aging {
            self.ending.end_step();
        }
    }
}

/// Conductor that runs the session until a rule ends its operations, and then the writing of
/// allocated files.
struct EndingConductor<'c> {
    conductor: &'c mut dyn Conductor,
    operations: &'c mut OperationMonitor,
    aging: &'static str,
}

impl Conductor for EndingConductor<'_> {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        let OperationMonitor { ending, stage, .. } = &mut *self.operations;
        *stage = match *stage {
            RunStage::Fill if phase.name == self.aging => {
                ending.begin_first_step();
                RunStage::Age
            }
            RunStage::Fill => RunStage::Fill,
            RunStage::Age if phase.name == WRITE => {
                ending.is_over();
                SessionStop::check(ending.failure())?;
                RunStage::Write
            }
            RunStage::Age | RunStage::Write => return Err(SessionStop::Ended),
        };
        self.conductor.phase(phase)
    }

    fn group(&mut self, group: ParallelGroup, listener: &mut dyn TaskListener) -> SessionResult {
        self.conductor.group(group, &mut |totals: &TaskTotals| {
            self.operations.task_ended(totals);
            listener.task_ended(totals);
        })?;
        SessionStop::check(self.operations.ending.failure())
    }

    fn sync(&mut self, scope: SyncScope) -> SessionResult {
        self.conductor.sync(scope)
    }

    fn wants_more(&mut self) -> bool {
        self.operations.stage != RunStage::Age || !self.operations.ending.is_over()
    }
}

impl Session for WorkloadSession<'_> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let Self { inner, operations, aging } = self;
        inner.run(&mut EndingConductor { conductor, operations, aging })?;
        if operations.stage == RunStage::Age {
            // The plan of the session may be over with the last operation.
            operations.ending.is_over();
        }
        SessionStop::check(operations.ending.failure())
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.operations.ending.feed()
    }

    fn facts(&self) -> Vec<Fact> {
        let print =
            Fact { name: "age.fingerprint".to_owned(), value: self.operations.print.text() };
        let own = self.operations.ending.facts().into_iter().chain([print]);
        self.inner.facts().into_iter().chain(own).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.inner.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.inner.cautions().into_iter().chain(self.operations.ending.cautions()).collect()
    }

    fn remains(&self) -> Vec<String> {
        self.inner.remains()
    }

    fn left_paths(&self) -> Vec<String> {
        self.inner.left_paths()
    }
}
