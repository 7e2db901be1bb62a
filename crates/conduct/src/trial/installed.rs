//! Runs installed programs in place of an imitated tool: passes signals on, and copies the output.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use treering_sys::{SignalWatch, interrupt, leave_with_parent};

use crate::failure::Failure;

/// Interval at which a program is polled for its end.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A program that runs in place of a tool, in the current directory.
pub struct InstalledProgram<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Words of its command line, without its name.
    pub words: &'a [OsString],
    /// Environment variable that is set for the program.
    pub variable: (&'a str, &'a str),
    /// True if the program reads from standard input.
    pub reads_input: bool,
    /// Bytes that were already read from standard input.
    pub input: Option<Vec<u8>>,
    /// Maximum number of bytes of its output that are returned.
    pub output_bytes_max: u64,
}

/// Runs an installed program to its end, and copies its output as it comes; returns its status and
/// its output.
///
/// # Errors
/// When it cannot be started.
pub fn run_installed(
    installed: InstalledProgram<'_>,
    out: impl Write + Send + 'static,
) -> Result<(ExitStatus, Vec<u8>), Failure> {
    let InstalledProgram { program, words, variable, reads_input, input, output_bytes_max } =
        installed;
    let failed = |error: io::Error| {
        Failure::environment(format!("{} cannot be run: {error}", program.display()))
    };
    // The program must be interruptible even if SIGINT was ignored when treering started.
    let signals = SignalWatch::begin_despite_ignored().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(words).env(variable.0, variable.1).stdout(Stdio::piped());
    // Only the terminal's own process group may read from it.
    let shares_terminal = reads_input && input.is_none() && io::stdin().is_terminal();
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    if !shares_terminal {
        leave_with_parent(&mut command);
    }
    let mut child = command.spawn().map_err(failed)?;
    if let (Some(mut to), Some(input)) = (child.stdin.take(), input) {
        // Write errors are ignored: the program stopped reading, and reports its own errors.
        let writing = thread::Builder::new().spawn(move || to.write_all(&input));
        drop(writing);
    }
    let output = child.stdout.take();
    let copying = thread::Builder::new()
        .spawn(move || output.map(|from| copy(from, out, output_bytes_max)).unwrap_or_default())
        .map_err(|error| {
            // Without the thread nobody would read the program's output.
            let _ended = child.kill().and_then(|()| child.wait());
            failed(error)
        })?;
    let status = wait(&mut child, &signals, !shares_terminal).map_err(failed)?;
    Ok((status, copying.join().unwrap_or_default()))
}

/// Copies a stream as it arrives, and returns about its first `bytes_max` bytes.
fn copy(mut from: impl Read, mut out: impl Write, bytes_max: u64) -> Vec<u8> {
    let (mut contents, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let mut is_heard = true;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return contents,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return contents,
        };
        is_heard = is_heard && out.write_all(&buffer[..read]).and_then(|()| out.flush()).is_ok();
        if (contents.len() as u64) < bytes_max {
            contents.extend_from_slice(&buffer[..read]);
        }
    }
}

fn wait(child: &mut Child, signals: &SignalWatch, passes_on: bool) -> io::Result<ExitStatus> {
    let mut is_interrupted = !passes_on;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals.flag().is_raised() && !is_interrupted {
            interrupt(child);
            is_interrupted = true;
        }
        thread::sleep(POLL_EVERY);
    }
}
