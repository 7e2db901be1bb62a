//! Sessions that are still written as steps, as a session of the engine.

use treering_model::{Caution, Counters, Fact, Metric, TaskTotals};

use crate::job::{Conductor, LayoutFeed, ParallelGroup, Phase, Session, SessionStop, TaskListener};
use crate::program::{Program, ProgramEnd, ReportedPhase};
use crate::session_error::SessionError;

/// One run of a job, asked for one phase and group after the other.
pub trait StepSession: Send {
    /// The next phase; `None` ends the run.
    fn next_phase(&mut self) -> Option<Phase>;

    /// The next group of the present phase; `None` ends the phase.
    fn next_group(&mut self) -> Option<ParallelGroup>;

    /// Receives the totals of a task, tasks of a group in the order of their workers.
    fn task_ended(&mut self, totals: &TaskTotals);

    /// Receives the totals of a task that another rank did, where each does the whole session in a
    /// directory of its own: as if the worker here had done it a second time, beside the first.
    fn others_task_ended(&mut self, _totals: &TaskTotals) {}

    /// Is asked each [`ParallelGroup::tick_every`] while a group works, so many nanoseconds from
    /// its start, for what its output is to hear.
    fn tick(&mut self, _elapsed_ns: u64) -> Counters {
        Counters::default()
    }

    /// Why it cannot go on, asked after each group.
    fn failure(&self) -> Option<SessionError> {
        None
    }

    /// What does the rest of the run after the last phase, where that is another program. Asked
    /// again when that has ended, unless we are to stop.
    fn program(&mut self) -> Option<Program> {
        None
    }

    /// Receives how that ended; returns what the program reported about its phases. Why the run
    /// failed is asked next.
    fn program_ended(&mut self, _end: ProgramEnd) -> Vec<ReportedPhase> {
        Vec::new()
    }

    /// Where it hears the layout of the place after every task and phase, if it decides by that.
    /// Asked once, before it begins.
    fn layouts(&self) -> Option<LayoutFeed> {
        None
    }

    /// What it learnt of its tools, at the end.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// The headline numbers of what was done so far.
    fn metrics(&self) -> Vec<Metric>;

    /// Cautions that the run itself raised so far.
    fn cautions(&self) -> Vec<Caution> {
        Vec::new()
    }

    /// The trees left standing, to be removed when the user does not keep them.
    fn remains(&self) -> Vec<String>;

    /// Files and trees that the imitated tool removes itself, whatever happens: they go also in
    /// classic mode, where a run was ended early.
    fn litter(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A session of steps, run as loops.
pub struct Stepped<S>(pub S);

/// Hands the totals of tasks to a session of steps.
struct StepListener<'s, S>(&'s mut S);

impl<S: StepSession> TaskListener for StepListener<'_, S> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self.0.task_ended(totals);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.0.others_task_ended(totals);
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        self.0.tick(elapsed_ns)
    }
}

impl<S: StepSession> Session for Stepped<S> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> Result<(), SessionStop> {
        let session = &mut self.0;
        while let Some(phase) = session.next_phase() {
            conductor.phase(phase)?;
            while conductor.wants_more()
                && let Some(group) = session.next_group()
            {
                conductor.group(group, &mut StepListener(session))?;
                session.failure().map_or(Ok(()), Err)?;
            }
        }
        let mut has_program = false;
        while let Some(program) = session.program() {
            has_program = true;
            let end = conductor.program(program)?;
            let phases = session.program_ended(end);
            conductor.report(phases)?;
        }
        Ok(session.failure().filter(|_| has_program).map_or(Ok(()), Err)?)
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.0.layouts()
    }

    fn facts(&self) -> Vec<Fact> {
        self.0.facts()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.0.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.0.cautions()
    }

    fn remains(&self) -> Vec<String> {
        self.0.remains()
    }

    fn litter(&self) -> Vec<String> {
        self.0.litter()
    }
}
