//! Execution of another program: it is started below the target, watched, and asked to end together
//! with the run.
//!
//! The program reads its input from and writes its output to files in memory, so that neither
//! touches the filesystem under test.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use treering_script::{ExternalProgram, ProgramEnd};
use treering_sys::{StopFlag, interrupt, leave_with_parent, memory_file, monotonic_ns};

use super::watched_program::run_watched;
use crate::{Target, TrialClock};

/// Interval at which the program's end is polled.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// Maximum bytes of its output that are read.
const SAID_BYTES_MAX: u64 = 256 << 20;

/// Starts a program and waits for its end. If the stop flag is raised, the program is asked once to
/// end; its output still counts.
pub(crate) fn run_program(
    target: &Target,
    program: &ExternalProgram,
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
        .envs(program.environment.iter().map(|(name, value)| (name, value)))
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
        output: read_output(output)?,
        errors: read_output(errors)?,
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

fn read_output(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(SAID_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
