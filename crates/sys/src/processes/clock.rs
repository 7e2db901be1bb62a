//! Monotonic clock, read through the vDSO without a system call.
//!
//! rustix locates the vDSO itself, so the static musl build reads the clock as fast as the gnu one.
//! Wall-clock time is passed in by the command line. [`CallClock`] costs less where each call is
//! timed.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the time stamp counter is read by an instruction")
)]

use std::fs::read_to_string;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

/// Current `CLOCK_MONOTONIC` time in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Monotonic time is never negative.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Time after which the clock is read again, and for which the rate is measured at first.
const ANCHORED_NS: u64 = 1_000_000;
/// Most ticks between the readings of the counter around one of the clock: more of them mean that
/// the thread was interrupted in between.
const UNINTERRUPTED_TICKS: u64 = 2_000;
/// Part of the rate by which a new measurement may differ; a counter that ran on or began anew
/// while the machine slept differs by more.
const RATE_TOLERANCE: u64 = 100;
/// Attempts to read the clock and the counter together.
const ATTEMPTS: u32 = 3;

/// Monotonic clock of one thread that times many calls: counts the processor's time stamp counter
/// from the last reading of `CLOCK_MONOTONIC` on, at most a millisecond ago. The kernel keeps its
/// own time by that counter if the counters of all processors agree; elsewhere each reading is one
/// of `CLOCK_MONOTONIC`. Readings never decrease.
#[derive(Debug)]
pub struct CallClock {
    counts: bool,
    /// Counter and time at the first reading, since when the rate is measured.
    first: Option<(u64, u64)>,
    /// Counter and time at the last reading of the clock.
    anchor: (u64, u64),
    /// Nanoseconds of a tick, times 2^32.
    rate: u64,
    /// Ticks for which the anchor serves; 0 while there is none.
    fresh_ticks: u64,
    last_ns: u64,
}

impl CallClock {
    /// Creates the clock.
    pub fn new() -> Self {
        static COUNTS: OnceLock<bool> = OnceLock::new();
        let counts = *COUNTS.get_or_init(is_time_kept_by_counter);
        Self { counts, first: None, anchor: (0, 0), rate: 0, fresh_ticks: 0, last_ns: 0 }
    }

    /// Current time of [`monotonic_ns`], to some ten nanoseconds.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        if self.fresh_ticks == 0 {
            return self.read();
        }
        let (since, at_ns) = self.anchor;
        let ticks = counter().wrapping_sub(since);
        if ticks >= self.fresh_ticks {
            return self.read();
        }
        // The product is below a millisecond times 2^32.
        self.last_ns = self.last_ns.max(at_ns + ((ticks * self.rate) >> 32));
        self.last_ns
    }

    /// Makes later readings return at least this time, a reading of [`monotonic_ns`].
    pub fn begin_at(&mut self, ns: u64) {
        self.last_ns = self.last_ns.max(ns);
    }

    /// Reads the clock and, if that succeeds without an interruption, the counter with it.
    #[cold]
    fn read(&mut self) -> u64 {
        if !self.counts {
            self.last_ns = self.last_ns.max(monotonic_ns());
            return self.last_ns;
        }
        self.fresh_ticks = 0;
        for _ in 0..ATTEMPTS {
            let before = counter();
            let now_ns = monotonic_ns();
            let between = counter().wrapping_sub(before);
            self.last_ns = self.last_ns.max(now_ns);
            if between <= UNINTERRUPTED_TICKS {
                self.anchor_at(before.wrapping_add(between / 2), now_ns);
                break;
            }
        }
        self.last_ns
    }

    fn anchor_at(&mut self, tick: u64, now_ns: u64) {
        let (first_tick, first_ns) = *self.first.get_or_insert((tick, now_ns));
        let (ticks, passed_ns) = (tick.wrapping_sub(first_tick), now_ns.saturating_sub(first_ns));
        if passed_ns < ANCHORED_NS || ticks == 0 {
            return;
        }
        let rate = (u128::from(passed_ns) << 32) / u128::from(ticks);
        let fresh = u128::from(ANCHORED_NS) * u128::from(ticks) / u128::from(passed_ns);
        let (Ok(rate), Ok(fresh_ticks)) = (u64::try_from(rate), u64::try_from(fresh)) else {
            return;
        };
        if self.rate > 0 && rate.abs_diff(self.rate) > self.rate / RATE_TOLERANCE {
            // Measured anew from here on; until then each reading is one of the clock.
            (self.first, self.rate) = (Some((tick, now_ns)), 0);
            return;
        }
        self.anchor = (tick, now_ns);
        (self.rate, self.fresh_ticks) = (rate, fresh_ticks);
    }
}

impl Default for CallClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every processor of this architecture has the instruction; a kernel that denies it
    // keeps no time by it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

/// True if the kernel's own time is that of the time stamp counter.
fn is_time_kept_by_counter() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64") && read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(test)]
mod tests {
    use super::{CallClock, monotonic_ns};

    #[test]
    fn monotonic_time_never_decreases() {
        let began = monotonic_ns();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let passed = monotonic_ns() - began;
        assert!((2_000_000..10_000_000_000).contains(&passed), "{passed}");
    }

    #[test]
    fn a_counter_that_ran_on_or_began_anew_is_measured_anew() {
        for tick_after in [3_600_000_000_000, 5] {
            let mut clock = CallClock { counts: true, ..CallClock::new() };
            // Three ticks a nanosecond.
            for ms in 0..=5 {
                clock.anchor_at(1_000 + ms * 3_000_000, ms * 1_000_000);
            }
            assert_eq!((clock.rate, clock.fresh_ticks), ((1_u64 << 32) / 3, 3_000_000));
            clock.fresh_ticks = 0;
            clock.anchor_at(tick_after, 6_000_000);
            assert_eq!(clock.fresh_ticks, 0);
            clock.anchor_at(tick_after + 3_000_000, 7_000_000);
            assert_eq!((clock.rate, clock.fresh_ticks), ((1_u64 << 32) / 3, 3_000_000));
        }
    }

    #[test]
    fn a_call_clock_follows_the_monotonic_one() {
        for counts in [true, false] {
            let mut clock = CallClock::new();
            clock.counts &= counts;
            let (mut last, until, mut apart) = (0, monotonic_ns() + 20_000_000, Vec::new());
            loop {
                let before = monotonic_ns();
                let now = clock.now_ns();
                let after = monotonic_ns();
                assert!(now >= last, "{now} after {last}");
                last = now;
                // A thread that is interrupted between the readings says nothing.
                if after - before < 5_000 {
                    apart.push(before.saturating_sub(now).max(now.saturating_sub(after)));
                }
                if after > until {
                    break;
                }
            }
            apart.sort_unstable();
            let typical = apart.get(apart.len() / 2).copied().unwrap_or(0);
            assert!(typical < 5_000, "half of the readings are {typical} ns apart");
            clock.begin_at(last + 1_000_000_000);
            assert_eq!(clock.now_ns(), last + 1_000_000_000);
        }
    }
}
