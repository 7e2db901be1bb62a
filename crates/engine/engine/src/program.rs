//! External programs that do the work of a run: their reports become phases of the session.
//! `places` starts and supervises them.

use treering_model::{Caution, CautionCode, PhaseTotals, TrialEvent, TrialSink};
use treering_script::{ExternalProgram, ProgramEnd, ReportedPhase};
use treering_sys::{StopFlag, monotonic_ns};

use crate::places::watched_program::OrphanReaper;
use crate::totals::add_op;
use crate::{EngineError, SessionPlace, TrialClock};

/// External programs of a run, one after the other.
#[derive(Default)]
pub(crate) struct ProgramRunner {
    /// Processes that a supervised program left running.
    outlived: Option<OrphanReaper>,
    /// True if the first reported phase began with the program.
    has_begun: bool,
}

impl ProgramRunner {
    /// Runs a program to its end. A supervised program begins the phase with this number.
    pub(crate) fn run<P: SessionPlace + ?Sized>(
        &mut self,
        program: &ExternalProgram,
        place: &P,
        number: u32,
        clock: TrialClock,
        sink: &mut dyn TrialSink,
        stop: &StopFlag,
    ) -> Result<ProgramEnd, EngineError> {
        if let Some(watch) = &program.watch {
            self.outlived.get_or_insert_with(OrphanReaper::begin);
            let (name, at_ns) = (watch.phase.clone(), clock.at_ns(monotonic_ns()));
            sink.accept(&TrialEvent::PhaseBegan { phase: number, name, at_ns })?;
        }
        self.has_begun = program.watch.is_some();
        let cannot = |source| EngineError::Program { path: program.path.clone(), source };
        place.program(program, clock, stop).map_err(cannot)
    }

    /// True if no process that the programs started still runs.
    pub(crate) fn has_ended(&self) -> bool {
        self.outlived.as_ref().is_none_or(|processes| processes.left().is_empty())
    }

    /// Reports the phases of the last program, numbered from `number`.
    pub(crate) fn report(
        &mut self,
        phases: Vec<ReportedPhase>,
        number: &mut u32,
        sink: &mut dyn TrialSink,
    ) -> Result<(), EngineError> {
        for phase in phases {
            tell(phase, *number, std::mem::take(&mut self.has_begun), sink)?;
            *number += 1;
        }
        Ok(())
    }

    /// Kills processes left by supervised programs, and cautions about them.
    pub(crate) fn end(self, sink: &mut dyn TrialSink) -> Result<(), EngineError> {
        let Some(message) = self.outlived.and_then(OrphanReaper::end) else { return Ok(()) };
        let caution = Caution { code: CautionCode::ProcessesLeft, message };
        Ok(sink.accept(&TrialEvent::Cautioned(caution))?)
    }
}

fn tell(
    phase: ReportedPhase,
    number: u32,
    has_begun: bool,
    sink: &mut dyn TrialSink,
) -> Result<(), EngineError> {
    let ReportedPhase { totals, tasks } = phase;
    if !has_begun {
        let (name, at_ns) = (totals.name.clone(), totals.began_ns);
        sink.accept(&TrialEvent::PhaseBegan { phase: number, name, at_ns })?;
    }
    let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    let mut totals = PhaseTotals { phase: number, tasks: count, ..totals };
    for (place, mut task) in (0..).zip(tasks) {
        task.phase = number;
        task.task = place;
        totals.files += task.files;
        totals.bytes = totals.bytes.saturating_add(task.bytes);
        totals.cpu = totals.cpu.plus(task.cpu);
        task.ops.iter().for_each(|op| add_op(&mut totals.ops, op));
        sink.accept(&TrialEvent::TaskEnded(task))?;
    }
    Ok(sink.accept(&TrialEvent::PhaseEnded(totals))?)
}
