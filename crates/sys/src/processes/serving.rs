//! Processes that serve a block device to the kernel: they must not deadlock on their own device,
//! and must wake up on time.
#![expect(unsafe_code, reason = "rustix has no function for most of these")]

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// `PR_SET_IO_FLUSHER` of linux/prctl.h.
const IO_FLUSHER: libc::c_int = 57;

/// Requests of [`serve_a_device`] that the kernel refused; serving works without them, but later
/// and less safely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedServingRequests {
    /// Refusal of `PR_SET_IO_FLUSHER`: memory allocation may write to the served device.
    pub io_flusher: Option<Errno>,
    /// Refusal of real-time priority over compute-bound programs.
    pub real_time: Option<Errno>,
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Sets the timer slack of the calling thread, and of threads it starts later, to 1 ns; the default
/// of 50 us delays wake-ups to coalesce them.
pub fn wake_on_time() {
    // SAFETY: integer arguments. A refusal keeps the old slack; lateness is measured anyway.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Prepares the calling thread, and threads it starts later, to serve a device: memory allocation
/// does not write to the device, dirty page limits do not throttle it, timers are exact, and it has
/// priority over compute-bound programs.
pub fn serve_a_device() -> RefusedServingRequests {
    // SAFETY: integer arguments.
    let flusher = unsafe { libc::prctl(IO_FLUSHER, 1, 0, 0, 0) };
    let io_flusher = (flusher != 0).then(last_error);
    wake_on_time();
    // By system call: musl's function refuses, since POSIX applies it to processes.
    let priority: libc::c_int = 1;
    // SAFETY: the kernel's `sched_param` is one int, which is read during the call.
    let set = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority)
    };
    let real_time = (set != 0).then(last_error);
    RefusedServingRequests { io_flusher, real_time }
}

/// Sleeps until a time of [`crate::monotonic_ns`]; returns at once if it is past.
pub fn sleep_until(at_ns: u64) {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let until =
        Timespec { tv_sec: whole(at_ns / 1_000_000_000), tv_nsec: whole(at_ns % 1_000_000_000) };
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}

/// CPU time of the whole process in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Kills a process with SIGKILL.
///
/// # Errors
/// `ESRCH` if the process does not exist.
pub fn kill_at_once(pid: u32) -> Result<(), Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    kill_process(pid, Signal::KILL)
}

#[cfg(test)]
mod tests {
    use super::{kill_at_once, process_cpu_ns, serve_a_device, sleep_until};
    use crate::monotonic_ns;
    use rustix::io::Errno;

    #[test]
    fn sleep_until_waits_for_future_times_only() {
        let wanted = monotonic_ns() + 3_000_000;
        sleep_until(wanted);
        assert!(monotonic_ns() >= wanted);
        sleep_until(wanted - 2_000_000);
        assert!(process_cpu_ns() > 0);
    }

    #[test]
    fn serving_works_without_privileges() {
        let refused = std::thread::spawn(serve_a_device).join().unwrap();
        if rustix::process::geteuid().is_root() {
            // Before Linux 5.6, and root of a sandbox without CAP_SYS_RESOURCE.
            let known = [Errno::INVAL, Errno::PERM];
            assert!(refused.io_flusher.is_none_or(|errno| known.contains(&errno)), "{refused:?}");
        }
        assert_eq!(kill_at_once(u32::MAX), Err(Errno::SRCH));
    }
}
