//! Another program that does the work of a run: it is started below the target, watched, and asked
//! to end when we are.
//!
//! What it reads and says goes through files in memory, so that the filesystem under test has
//! nothing to do with it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use treering_model::{Caution, CautionCode, PhaseTotals, TrialEvent, TrialSink};
use treering_script::{Program, ProgramEnd, ReportedPhase, Session};
use treering_sys::{StopFlag, interrupt, leave_with_parent, memory_file, monotonic_ns};

use crate::watched_program::{Outlived, run_watched};
use crate::{EngineError, Place, Target, TrialClock};

/// How often it is asked whether it has ended.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// More than this of what it says is not read.
const SAID_BYTES_MAX: u64 = 256 << 20;

/// Starts a program and waits for its end. When the flag is raised it is asked to end, once; what
/// it says then counts.
pub(crate) fn run_program(
    target: &Target,
    program: &Program,
    clock: TrialClock,
    stop: &StopFlag,
) -> io::Result<ProgramEnd> {
    if let Some(watch) = &program.watch {
        return run_watched(target, program, watch, clock, stop);
    }
    let mut input = memory_file("input")?;
    input.write_all(&program.input)?;
    input.seek(SeekFrom::Start(0))?;
    let (output, errors) = (memory_file("output")?, memory_file("errors")?);
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .current_dir(target.path().join(&program.directory))
        .stdin(input)
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?);
    let began = monotonic_ns();
    let mut child = leave_with_parent(&mut command).spawn()?;
    let status = wait(&mut child, stop)?;
    let wall_ns = monotonic_ns() - began;
    Ok(ProgramEnd {
        code: status.code(),
        output: said(output)?,
        errors: said(errors)?,
        began_ns: clock.at_ns(began),
        wall_ns,
        ..ProgramEnd::default()
    })
}

fn wait(child: &mut Child, stop: &StopFlag) -> io::Result<std::process::ExitStatus> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.is_raised() && !is_asked {
            interrupt(child);
            is_asked = true;
        }
        thread::sleep(ASK_EVERY);
    }
}

fn said(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(SAID_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

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
        let cannot = |error: io::Error| EngineError::Session {
            why: format!("{} cannot be run: {error}", program.path.display()),
        };
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
        (None, Some(why)) => Err(EngineError::Session { why }),
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
        task.ops.iter().for_each(|op| crate::conduct::add_op(&mut totals.ops, op));
        sink.accept(&TrialEvent::TaskEnded(task))?;
    }
    Ok(sink.accept(&TrialEvent::PhaseEnded(totals))?)
}
