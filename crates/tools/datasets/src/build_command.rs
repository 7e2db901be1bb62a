//! Build command of the user, run in a tree between two scans. Its output is handed to the caller,
//! who decides where to show it.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Poll period for the end of a silent command.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Wait for output after the command's end. Background processes may hold the pipe open for ever.
const LINGER: Duration = Duration::from_millis(500);

/// Runs `sh -c COMMAND` in a directory; standard output and error are handed to the caller at once.
pub(super) fn run(
    command: &str,
    directory: &Path,
    output: &mut dyn FnMut(&[u8]),
) -> io::Result<ExitStatus> {
    let (mut reader, writer) = io::pipe()?;
    let (pieces, received) = channel();
    // The thread is not joined: it ends with the last process that holds the other end of the pipe.
    let forward = move || {
        let mut piece = [0; 4096];
        while let Ok(length) = reader.read(&mut piece) {
            if length == 0 || pieces.send(piece[..length].to_vec()).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("build output".to_owned()).spawn(forward)?;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    loop {
        match received.recv_timeout(ASK_EVERY) {
            Ok(piece) => output(&piece),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
        }
        if let Some(status) = child.try_wait()? {
            take_rest(&received, output);
            return Ok(status);
        }
    }
}

fn take_rest(received: &Receiver<Vec<u8>>, output: &mut dyn FnMut(&[u8])) {
    let end = Instant::now() + LINGER;
    let mut left = LINGER;
    while let Ok(piece) = received.recv_timeout(left) {
        output(&piece);
        left = end.saturating_duration_since(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::run;

    fn output_of(command: &str) -> (String, Option<i32>) {
        let mut output = Vec::new();
        let status = run(command, Path::new("/"), &mut |piece| output.extend_from_slice(piece));
        (String::from_utf8(output).unwrap(), status.unwrap().code())
    }

    #[test]
    fn output_error_and_status_are_returned() {
        assert_eq!(output_of("pwd; echo oops >&2; exit 3"), ("/\noops\n".to_owned(), Some(3)));
        let (many, status) = output_of("seq 1 50000");
        assert_eq!((many.lines().count(), status), (50000, Some(0)));
    }

    #[test]
    fn background_processes_are_not_awaited() {
        let began = Instant::now();
        assert_eq!(output_of("sleep 20 & echo done"), ("done\n".to_owned(), Some(0)));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
