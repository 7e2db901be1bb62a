//! A handicap: a worker slowed on purpose, by a known share, so that whoever doubts the verdicts of
//! a comparison can see whether it finds what is there.
//!
//! The worker spins for its share of the time that its steps took, on the CPU as slower code would
//! be. Single calls keep their latency; tasks, and all that is made of their times, get slower.

use treering_sys::{StopFlag, monotonic_ns};

/// The largest handicap: a task takes ten times as long.
pub const HANDICAP_PERCENT_MAX: u32 = 900;

/// So many steps are paid for at a time: reading the clock for each would slow them by itself.
const STEPS: u32 = 16;

/// The debt of a worker.
#[derive(Debug)]
pub(crate) struct Handicap {
    percent: u32,
    steps: u32,
    since_ns: u64,
}

impl Handicap {
    pub(crate) fn new(percent: u32) -> Self {
        Self { percent, steps: 0, since_ns: 0 }
    }

    /// A task begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.steps = 0;
        self.since_ns = now_ns;
    }

    /// A step was made.
    #[inline]
    pub(crate) fn step(&mut self, stop: &StopFlag) {
        if self.percent > 0 {
            self.steps += 1;
            if self.steps == STEPS {
                self.pay(stop);
            }
        }
    }

    /// Spins for what is due; at the end of a task for the rest.
    #[cold]
    pub(crate) fn pay(&mut self, stop: &StopFlag) {
        self.steps = 0;
        if self.percent == 0 {
            return;
        }
        let mut now_ns = monotonic_ns();
        let until_ns = now_ns.saturating_add(due_ns(now_ns - self.since_ns, self.percent));
        while now_ns < until_ns && !stop.is_raised() {
            std::hint::spin_loop();
            now_ns = monotonic_ns();
        }
        self.since_ns = now_ns;
    }
}

/// What so much work costs more.
fn due_ns(worked_ns: u64, percent: u32) -> u64 {
    worked_ns.saturating_mul(u64::from(percent)) / 100
}

#[cfg(test)]
mod tests {
    use super::{Handicap, STEPS, due_ns};
    use treering_sys::{StopFlag, monotonic_ns};

    #[test]
    fn the_share_is_of_the_work_and_not_of_the_handicap() {
        assert_eq!(due_ns(1_000_000, 5), 50_000);
        assert_eq!(due_ns(0, 5), 0);
        assert_eq!(due_ns(u64::MAX, 200), u64::MAX / 100);
    }

    #[test]
    fn it_waits_at_least_for_its_share_and_not_at_all_without_one() {
        let stop = StopFlag::new();
        let began_ns = monotonic_ns();
        let mut handicap = Handicap::new(100);
        handicap.begin(began_ns);
        while monotonic_ns() - began_ns < 1_000_000 {}
        (0..STEPS).for_each(|_| handicap.step(&stop));
        assert!(monotonic_ns() - began_ns >= 2_000_000);

        // Nothing reads the clock: what it is told to begin with stays.
        let mut none = Handicap::new(0);
        none.begin(7);
        (0..STEPS).for_each(|_| none.step(&stop));
        none.pay(&stop);
        assert_eq!(none.since_ns, 7);
    }
}
