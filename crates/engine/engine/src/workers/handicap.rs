//! Artificial slowdown: a task is slowed by a known share of its time, to test whether a comparison
//! detects the difference.
//!
//! The worker spins at the end of the task, within its time, and uses CPU as slower code would. It
//! does not spin between the steps: the filesystem would meanwhile continue to write in the
//! background and catch up, so the slowdown of the whole task would be too small. Latencies of
//! single calls do not change.

use treering_sys::{StopFlag, monotonic_ns};

/// Largest handicap in percent: a task takes ten times as long.
pub const HANDICAP_PERCENT_MAX: u32 = 900;

/// Spins for this percentage of the time since the task began.
pub(crate) fn slow_down(percent: u32, began_ns: u64, stop: &StopFlag) {
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
    use super::{due_ns, slow_down};
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
        slow_down(100, began_ns, &stop);
        assert!(monotonic_ns() - began_ns >= 2_000_000);
        // Nine times the time since the machine was started would never end.
        stop.halt();
        slow_down(900, 0, &stop);
        assert!(stop.is_raised());
    }
}
