//! Monotonic clock, read through the vDSO without a system call.
//!
//! rustix locates the vDSO itself, so the static musl build reads the clock as fast as the gnu one.
//! Wall-clock time is passed in by the command line.

use rustix::time::{ClockId, clock_gettime};

/// Current `CLOCK_MONOTONIC` time in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Monotonic time is never negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::monotonic_ns;

    #[test]
    fn monotonic_time_never_decreases() {
        let began = monotonic_ns();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = monotonic_ns() - began;
        assert!((2_000_000..10_000_000_000).contains(&passed), "{passed}");
    }
}
