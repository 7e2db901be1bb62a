//! Artificial slowdown: a task is slowed by a known share of its time, to test whether a comparison
//! detects the difference.
//!
//! The worker spins at the end of the task, within its time, and on the CPU as slower code would.
//! Not between the steps: a filesystem goes on writing behind them, and would catch up meanwhile,
//! so that the task as a whole were slowed by less than was said. Single calls keep their latency.

use treering_sys::{StopFlag, monotonic_ns};

/// The largest handicap: a task takes ten times as long.
pub const HANDICAP_PERCENT_MAX: u32 = 900;

/// Spins for so many percent of the time since the task began.
pub(crate) fn lag(percent: u32, began_ns: u64, stop: &StopFlag) {
    if percent == 0 {
        return;
    }
    let mut now_ns = monotonic_ns();
    let until_ns = now_ns.saturating_add(due_ns(now_ns.saturating_sub(began_ns), percent));
    while now_ns < until_ns && !stop.is_raised() {
        std::hint::spin_loop();
        now_ns = monotonic_ns();
    }
}

/// Extra time for `worked_ns` of work, in nanoseconds.
fn due_ns(worked_ns: u64, percent: u32) -> u64 {
    worked_ns.saturating_mul(u64::from(percent)) / 100
}

#[cfg(test)]
mod tests {
    use super::{due_ns, lag};
    use treering_sys::{StopFlag, monotonic_ns};

    #[test]
    fn the_handicap_is_a_share_of_the_work() {
        assert_eq!(due_ns(1_000_000, 5), 50_000);
        assert_eq!(due_ns(0, 5), 0);
        assert_eq!(due_ns(u64::MAX, 200), u64::MAX / 100);
    }

    #[test]
    fn the_handicap_waits_its_share_unless_stopped() {
        let stop = StopFlag::new();
        let began_ns = monotonic_ns();
        while monotonic_ns() - began_ns < 1_000_000 {}
        lag(100, began_ns, &stop);
        assert!(monotonic_ns() - began_ns >= 2_000_000);
        // Nine times the time since the machine was started would never end.
        stop.halt();
        lag(900, 0, &stop);
        assert!(stop.is_raised());
    }
}
