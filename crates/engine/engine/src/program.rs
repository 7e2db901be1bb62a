//! Another program that does the work of a run: what it reported becomes phases of the session. It
//! is started and watched in `places`.

use treering_model::{Caution, CautionCode, PhaseTotals, TrialEvent, TrialSink};
use treering_script::{Program, ReportedPhase, Session};
use treering_sys::{StopFlag, monotonic_ns};

use crate::places::watched_program::Outlived;
use crate::totals::add_op;
use crate::{EngineError, Place, TrialClock};

/// Has programs do the rest of a session, one after the other, and reports what they came to:
/// phases from this number on.
pub(crate) fn by_programs<P: Place + ?Sized>(
    session: &mut dyn Session,
    first: Program,
    place: &P,
    mut number: u32,
    (clock, sink, stop): (TrialClock, &mut dyn TrialSink, &StopFlag),
) -> Result<(), EngineError> {
    let mut outlived: Option<Outlived> = None;
    let mut next = Some(first);
    while let Some(program) = next {
        let cannot = |source| EngineError::Program { path: program.path.clone(), source };
        if let Some(watch) = &program.watch {
            outlived.get_or_insert_with(Outlived::begin);
            let (name, at_ns) = (watch.phase.clone(), clock.at_ns(monotonic_ns()));
            sink.accept(&TrialEvent::PhaseBegan { phase: number, name, at_ns })?;
        }
        let end = place.program(&program, clock, stop).map_err(cannot)?;
        let mut has_begun = program.watch.is_some();
        for phase in session.program_ended(end) {
            tell(phase, number, std::mem::take(&mut has_begun), sink)?;
            number += 1;
        }
        next = if stop.is_raised() { None } else { session.program() };
    }
    if let Some(message) = outlived.and_then(Outlived::end) {
        sink.accept(&TrialEvent::Cautioned(Caution { code: CautionCode::ProcessesLeft, message }))?;
    }
    match (stop.signal(), session.failure()) {
        (Some(signal), _) => Err(EngineError::Interrupted { signal }),
        (None, Some(failure)) => Err(failure.into()),
        (None, None) => Ok(()),
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
