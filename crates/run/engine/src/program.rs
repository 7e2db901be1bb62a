//! Another program that does the work of a run: what it reported becomes phases of the session. It
//! is started and watched in `places::program`.

use treering_model::{PhaseTotals, TrialEvent, TrialSink};
use treering_script::{Program, ReportedPhase, Session};
use treering_sys::StopFlag;

use crate::totals::add_op;
use crate::{EngineError, Place, TrialClock};

/// Has a program do the rest of a session, and tells what it reported: phases from this number on.
pub(crate) fn by_program<P: Place + ?Sized>(
    session: &mut dyn Session,
    program: &Program,
    place: &P,
    first: u32,
    (clock, sink, stop): (TrialClock, &mut dyn TrialSink, &StopFlag),
) -> Result<(), EngineError> {
    let cannot = |source| EngineError::Program { path: program.path.clone(), source };
    let end = place.program(program, clock, stop).map_err(cannot)?;
    for (number, phase) in (first..).zip(session.program_ended(end)) {
        tell(phase, number, sink)?;
    }
    match (stop.signal(), session.failure()) {
        (Some(signal), _) => Err(EngineError::Interrupted { signal }),
        (None, Some(failure)) => Err(failure.into()),
        (None, None) => Ok(()),
    }
}

fn tell(phase: ReportedPhase, number: u32, sink: &mut dyn TrialSink) -> Result<(), EngineError> {
    let ReportedPhase { totals, tasks } = phase;
    let (name, at_ns) = (totals.name.clone(), totals.began_ns);
    sink.accept(&TrialEvent::PhaseBegan { phase: number, name, at_ns })?;
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
