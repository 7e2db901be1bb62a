//! CPU time of the calling thread, as the kernel accounts it (`getrusage(RUSAGE_THREAD)`).
#![expect(unsafe_code, reason = "rustix has no getrusage")]

use std::mem::MaybeUninit;

/// CPU time of one thread since it began, in nanoseconds.
///
/// The sum is exact to a microsecond; how it splits into user and system follows the timer tick
/// where the kernel is built without precise accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

/// What one thread used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time.
    pub cpu: ThreadCpu,
    /// Switches of context, of its own will or not.
    pub switches: u64,
    /// Faults of pages that were read from a disk.
    pub major_faults: u64,
    /// Faults of pages that were not.
    pub minor_faults: u64,
}

/// CPU time of the calling thread since it began.
pub fn thread_cpu() -> ThreadCpu {
    thread_usage().cpu
}

/// What the calling thread used since it began.
pub fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a whole rusage, which the kernel fills.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // RUSAGE_THREAD is as old as Linux 2.6.26; a refusal would leave the zeroes.
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
    // The kernel never gives a negative CPU time.
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
