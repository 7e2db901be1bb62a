//! CPU time and peak memory of a child, and peak memory of this process, as the kernel keeps them.
#![expect(unsafe_code, reason = "no safe crate of ours waits for a child with its usage")]

use std::io;
use std::mem::MaybeUninit;
use std::process::Child;

/// What a child came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUsage {
    /// Whether it ended by itself with status 0.
    pub succeeded: bool,
    /// User and system time, its own children's that it waited for included, in nanoseconds.
    pub cpu_ns: u64,
    /// The most memory that it had at a time, in bytes.
    pub peak_bytes: u64,
}

/// Waits until a child ends, and gives what the kernel counted for it.
///
/// # Errors
/// As `wait4`.
pub fn wait_for(child: &Child) -> io::Result<ChildUsage> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    loop {
        // SAFETY: both pointers are valid for what the kernel writes; the child is not reaped yet.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if reaped == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all-zero bytes are a valid rusage, and the kernel writes only valid ones.
    let usage = unsafe { usage.assume_init() };
    Ok(ChildUsage {
        succeeded: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        cpu_ns: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
        // The kernel counts in KiB.
        peak_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
    })
}

fn nanoseconds(time: libc::timeval) -> u64 {
    // The kernel never gives a negative CPU time.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
}

#[cfg(test)]
#[expect(clippy::zombie_processes, reason = "wait_for is what waits")]
mod tests {
    use super::wait_for;
    use std::process::Command;

    #[test]
    fn a_child_leaves_its_usage() {
        let count = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let busy = Command::new("sh").args(["-c", count]).spawn();
        let usage = wait_for(&busy.unwrap()).unwrap();
        assert!(usage.succeeded && usage.cpu_ns > 1_000_000, "{usage:?}");
        assert!(usage.peak_bytes > 100_000, "{usage:?}");
        let failing = Command::new("false").spawn().unwrap();
        assert!(!wait_for(&failing).unwrap().succeeded);
    }
}
