//! The monotonic clock, read through the vDSO: no system call.
//!
//! rustix finds the vDSO itself, so that the static musl build reads the clock as fast as the gnu
//! one does. Wall-clock time is not here; the command line hands it in.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`: since some fixed point before the process began.
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither part of the monotonic time is ever negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::monotonic_ns;

    #[test]
    fn time_goes_on() {
        let began = monotonic_ns();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = monotonic_ns() - began;
        assert!((2_000_000..10_000_000_000).contains(&passed), "{passed}");
    }
}
