//! Child processes: their exit, signals to them, and the accounts in /proc of those that have ended
//! but are not reaped.

use std::fs::read_to_string;
use std::io;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::signals::StopFlag;

/// Reports whether a child has ended, without reaping it.
///
/// # Errors
/// `ECHILD` if the process is not a child of this one.
pub fn child_has_ended(process: u32) -> Result<bool, Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid(process)?), options).map(|ended| ended.is_some())
}

/// Sends a signal to a child.
///
/// # Errors
/// `EINVAL` for an unknown signal, else as `kill`.
pub fn signal_child(process: u32, signal: i32) -> Result<(), Errno> {
    let signal = Signal::from_named_raw(signal).ok_or(Errno::INVAL)?;
    kill_process(pid(process)?, signal)
}

/// End of a child that was waited for.
#[derive(Clone, Copy, Debug)]
pub struct EndedChild {
    /// Exit status.
    pub status: ExitStatus,
    /// Signal that was passed on to it, if one came.
    pub signal: Option<i32>,
    /// Bytes that it wrote to storage, as `written_by` counts them.
    pub written_bytes: Option<u64>,
}

/// Waits for a child, polled at this interval. The first signal that raises the flag is passed on:
/// signals of a terminal reach the child anyway, but signals sent to this process alone do not.
///
/// # Errors
/// When the child cannot be waited for.
pub fn wait_passing_signals(
    child: &mut Child,
    stop: &StopFlag,
    interval: Duration,
) -> io::Result<EndedChild> {
    let mut passed = None;
    while !child_has_ended(child.id())? {
        if let (None, Some(signal)) = (passed, stop.signal()) {
            passed = Some(signal);
            let _ended_already = signal_child(child.id(), signal);
        }
        sleep(interval);
    }
    let written_bytes = written_by(child.id());
    let status = child.wait()?;
    Ok(EndedChild { status, signal: passed, written_bytes })
}

/// Bytes that a process and its reaped children wrote to storage, as accounted by the kernel
/// (`write_bytes` of proc(5)): pages dirtied by write calls, `io_uring`, AIO or mappings, and
/// direct writes; not pipes, terminals or files in memory. `None` if the kernel does not report
/// them.
pub(crate) fn written_by(process: u32) -> Option<u64> {
    let accounts = read_to_string(format!("/proc/{process}/io")).ok()?;
    charged(&accounts)
}

/// Net written bytes from the text of `/proc/PID/io`: `write_bytes` minus bytes truncated before
/// writeback.
fn charged(accounts: &str) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let value = accounts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().parse().ok()
    };
    Some(number("write_bytes")?.saturating_sub(number("cancelled_write_bytes")?))
}

pub(super) fn pid(process: u32) -> Result<Pid, Errno> {
    i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{charged, child_has_ended, signal_child, written_by};

    #[test]
    fn written_bytes_come_from_the_io_accounts() {
        let accounts = "rchar: 5\nwchar: 30\nsyscr: 1\nsyscw: 1\nread_bytes: 0\n\
            write_bytes: 1048576\ncancelled_write_bytes: 4096\n";
        assert_eq!(charged(accounts), Some(1_044_480));
        assert_eq!(charged("wchar: 30\n"), None);
    }

    #[test]
    fn written_bytes_of_an_ended_child_can_be_read() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "head -c 100000 /dev/zero | cat; :"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !child_has_ended(child.id()).unwrap() {
            std::thread::yield_now();
        }
        let written = written_by(child.id());
        assert!(child.wait().unwrap().success());
        // Kernels without task accounting tell nothing. A pipe is no storage.
        assert!(written.is_none_or(|written| written < 100_000), "{written:?}");
        assert!(child_has_ended(child.id()).is_err());
    }

    #[test]
    fn a_child_can_be_stopped() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        assert_eq!(child_has_ended(child.id()), Ok(false));
        signal_child(child.id(), 15).unwrap();
        assert_eq!(child.wait().unwrap().code(), None);
        assert!(signal_child(0, 15).is_err());
    }
}
