//! A child that has ended and is still to be waited for: its accounts can be read until then.

use std::fs::read_to_string;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Whether a child of ours has ended; it stays to be waited for.
///
/// # Errors
/// `ECHILD` where it is no child of ours.
pub fn child_has_ended(process: u32) -> Result<bool, Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid(process)?), options).map(|ended| ended.is_some())
}

/// Sends a signal to a child.
///
/// # Errors
/// `EINVAL` for a signal that there is not, else as `kill`.
pub fn signal_child(process: u32, signal: i32) -> Result<(), Errno> {
    let signal = Signal::from_named_raw(signal).ok_or(Errno::INVAL)?;
    kill_process(pid(process)?, signal)
}

/// Bytes that a process, and those of its children that it has waited for, asked to write: files,
/// pipes and terminals, but not what was written to mapped files. `None` where the kernel does not
/// tell.
pub fn written_by(process: u32) -> Option<u64> {
    let accounts = read_to_string(format!("/proc/{process}/io")).ok()?;
    let written = accounts.lines().find_map(|line| line.strip_prefix("wchar:"))?;
    written.trim().parse().ok()
}

fn pid(process: u32) -> Result<Pid, Errno> {
    i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{child_has_ended, signal_child, written_by};

    #[test]
    fn what_a_child_wrote_can_be_read_when_it_has_ended() {
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
        // Kernels without task accounting tell nothing. Both ends of the pipe write all of it.
        assert!(written.is_none_or(|written| written >= 200_000), "{written:?}");
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
