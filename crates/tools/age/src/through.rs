//! A profile that another workload carries out: its session, ended by our rules. Each of its tasks
//! counts as one operation, those of its first phases as filling.

use treering_model::{Caution, Counters, Fact, Fingerprint, Metric, TaskTotals};
use treering_script::{
    LayoutFeed, ParallelGroup, Phase, Program, ProgramEnd, ReportedPhase, Session, SessionError,
};

use super::ending::Ending;
use treering_kit::ahead::{Counted, WRITE};

/// A run in progress.
pub(super) struct ThroughSession<'j> {
    inner: Box<dyn Session + 'j>,
    ending: Ending,
    /// The phase whose tasks are the operations.
    aging: &'static str,
    is_aging: bool,
    /// Whether what was only allocated is being written, behind the operations.
    is_writing: bool,
    print: Fingerprint,
}

impl<'j> ThroughSession<'j> {
    pub(super) fn new(inner: Box<dyn Session + 'j>, ending: Ending, aging: &'static str) -> Self {
        let (is_aging, is_writing) = (false, false);
        Self { inner, ending, aging, is_aging, is_writing, print: Fingerprint::new() }
    }
}

impl Session for ThroughSession<'_> {
    fn next_phase(&mut self) -> Option<Phase> {
        let phase = self.inner.next_phase()?;
        if self.is_aging || self.is_writing {
            self.is_aging = false;
            self.is_writing = phase.name == WRITE && self.failure().is_none();
            return Some(phase).filter(|_| self.is_writing);
        }
        self.is_aging = phase.name == self.aging;
        if self.is_aging {
            self.ending.begins();
        }
        Some(phase)
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        if self.is_aging && self.ending.is_over() {
            return None;
        }
        self.inner.next_group()
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let parts = [&totals.kind, " ", &totals.subject, " ", &totals.state, "\n"];
        if !self.is_writing {
            parts.iter().for_each(|part| self.print.add(part.as_bytes()));
        }
        let counted: Counted = totals.counters.read().unwrap_or_default();
        self.ending.task_ended(totals, u64::from(self.is_aging), counted.ahead_bytes);
        if self.is_aging {
            self.ending.stepped();
        }
        self.inner.task_ended(totals);
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        self.inner.tick(elapsed_ns)
    }

    fn failure(&self) -> Option<SessionError> {
        self.inner.failure().or_else(|| self.ending.failure())
    }

    fn program(&mut self) -> Option<Program> {
        self.inner.program()
    }

    fn program_ended(&mut self, end: ProgramEnd) -> Vec<ReportedPhase> {
        self.inner.program_ended(end)
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.ending.feed()
    }

    fn facts(&self) -> Vec<Fact> {
        let print = Fact { name: "age.fingerprint".to_owned(), value: self.print.text() };
        let own = self.ending.facts().into_iter().chain([print]);
        self.inner.facts().into_iter().chain(own).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.inner.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.inner.cautions().into_iter().chain(self.ending.cautions()).collect()
    }

    fn remains(&self) -> Vec<String> {
        self.inner.remains()
    }

    fn litter(&self) -> Vec<String> {
        self.inner.litter()
    }
}
