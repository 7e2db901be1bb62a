//! CPU time of the calling thread (`getrusage(RUSAGE_THREAD)`).
#![expect(unsafe_code, reason = "rustix has no getrusage")]

use std::mem::MaybeUninit;

/// CPU time of a thread since its start, in nanoseconds.
///
/// The sum is exact to a microsecond; without precise accounting in the kernel the split into user
/// and system follows the timer tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// User time.
    pub user_ns: u64,
    /// System time.
    pub system_ns: u64,
}

/// Resource usage of a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time.
    pub cpu: ThreadCpu,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
    /// Page faults that required I/O.
    pub major_faults: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
}

/// CPU time of the calling thread since its start.
pub fn thread_cpu() -> ThreadCpu {
    thread_usage().cpu
}

/// Resource usage of the calling thread since its start.
pub fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for an rusage, which the kernel fills.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // RUSAGE_THREAD exists since Linux 2.6.26; a refusal would leave zeros.
    debug_assert_eq!(status, 0, "getrusage(RUSAGE_THREAD) is always there");
    // SAFETY: all-zero bytes are a valid rusage, and the kernel writes only valid ones.
    let usage = unsafe { usage.assume_init() };
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    ThreadUsage {
        cpu: ThreadCpu {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
        },
        switches: count(usage.ru_nvcsw) + count(usage.ru_nivcsw),
        major_faults: count(usage.ru_majflt),
        minor_faults: count(usage.ru_minflt),
    }
}

pub(super) fn nanoseconds(time: libc::timeval) -> u64 {
    // The kernel never returns a negative CPU time.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
}

#[cfg(test)]
mod tests {
    use super::{thread_cpu, thread_usage};

    #[test]
    fn work_costs_cpu_of_this_thread_only() {
        let before = thread_cpu();
        let mut sum = 0u64;
        while thread_cpu().user_ns + thread_cpu().system_ns
            < before.user_ns + before.system_ns + 5_000_000
        {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        let other = std::thread::spawn(thread_cpu).join().unwrap();
        assert!(other.user_ns + other.system_ns < 5_000_000, "{other:?}");
    }

    #[test]
    fn pages_and_pauses_are_counted() {
        let before = thread_usage();
        std::hint::black_box(vec![1_u8; 4 << 20]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let after = thread_usage();
        assert!(after.minor_faults > before.minor_faults && after.switches > before.switches);
    }
}
