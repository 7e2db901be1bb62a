//! A program and its descendants: exit status and resource usage, orphaned processes, and their
//! output pipes.
#![expect(unsafe_code, reason = "rustix has no wait4")]

use std::fs::{read_dir, read_to_string};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, set_child_subreaper,
};

use super::child::pid;
use super::rusage::{ThreadCpu, nanoseconds};

/// Unit of `ru_inblock` and `ru_oublock` in bytes.
const USAGE_BLOCK_BYTES: u64 = 512;

/// Exit status and resource usage of a child, including those of its children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildEnd {
    /// Exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Signal that ended the process.
    pub signal: Option<i32>,
    /// CPU time.
    pub cpu: ThreadCpu,
    /// Bytes read from storage, as accounted by the kernel.
    pub read_bytes: u64,
    /// Bytes dirtied or written to storage, as accounted by the kernel.
    pub written_bytes: u64,
}

/// Reaps a child that has ended; `None` while it runs.
///
/// # Errors
/// `ECHILD` if the process is not a child of this one.
pub fn take_ended(process: u32) -> io::Result<Option<ChildEnd>> {
    let raw = pid(process)?.as_raw_nonzero().get();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    // SAFETY: both pointers are valid for the data that the kernel writes.
    let taken = unsafe { libc::wait4(raw, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    if taken < 0 {
        return Err(io::Error::last_os_error());
    }
    if taken == 0 {
        return Ok(None);
    }
    // SAFETY: all-zero bytes are a valid rusage, and the kernel writes only valid ones.
    let usage = unsafe { usage.assume_init() };
    let bytes =
        |blocks: libc::c_long| u64::try_from(blocks).unwrap_or(0).saturating_mul(USAGE_BLOCK_BYTES);
    Ok(Some(ChildEnd {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu: ThreadCpu {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
        },
        read_bytes: bytes(usage.ru_inblock),
        written_bytes: bytes(usage.ru_oublock),
    }))
}

/// Opens a pidfd, which becomes readable when the process ends.
///
/// # Errors
/// `ENOSYS` before Linux 5.3.
pub fn process_descriptor(process: u32) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid(process)?, PidfdFlags::empty())?)
}

/// Sets whether orphaned descendants become children of this process (child subreaper).
///
/// # Errors
/// As `prctl`.
pub fn adopt_orphans(adopt: bool) -> io::Result<()> {
    Ok(set_child_subreaper(adopt.then(getpid))?)
}

/// Child processes, including zombies; empty if /proc is not mounted.
pub fn children() -> Vec<u32> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(entries) = read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|process| parent(*process) == Some(own)).collect()
}

fn parent(process: u32) -> Option<i32> {
    let stat = read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The command name in parentheses may contain any character.
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(1)?.parse().ok()
}

/// Sends a signal to all processes of the group that this process leads or led.
///
/// # Errors
/// `ESRCH` if the group is empty, `EINVAL` for an unknown signal.
pub fn signal_group(leader: u32, signal: i32) -> Result<(), Errno> {
    let signal = Signal::from_named_raw(signal).ok_or(Errno::INVAL)?;
    kill_process_group(pid(leader)?, signal)
}

/// Sets `O_NONBLOCK` on a descriptor.
///
/// # Errors
/// As `fcntl`.
pub fn read_without_waiting(file: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&file)?;
    Ok(fcntl_setfl(&file, flags | OFlags::NONBLOCK)?)
}

/// Waits until one of the files is readable or its other end is closed, at most for `longest`.
///
/// # Errors
/// As `poll`; a signal counts as a timeout.
pub fn wait_to_read(files: &[BorrowedFd<'_>], longest: Duration) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> =
        files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
    let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&longest)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{children, process_descriptor, take_ended, wait_to_read};
    use std::os::fd::AsFd;

    #[test]
    #[expect(clippy::zombie_processes, reason = "`take_ended` waits for it")]
    fn a_reaped_child_reports_the_usage_of_its_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; exit 7"]);
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        assert!(children().contains(&child.id()));
        let end = loop {
            if let Ok(descriptor) = process_descriptor(child.id()) {
                wait_to_read(&[descriptor.as_fd()], Duration::from_secs(60)).unwrap();
            }
            if let Some(end) = take_ended(child.id()).unwrap() {
                break end;
            }
        };
        assert_eq!((end.code, end.signal), (Some(7), None));
        assert!(end.cpu.user_ns + end.cpu.system_ns > 0, "{end:?}");
        assert!(take_ended(child.id()).is_err() && !children().contains(&child.id()));
    }
}
