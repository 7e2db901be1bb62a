//! Cost of sending events from a guest: CPU time of the sending threads as a share of the busy time
//! of the guest's processors.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use treering_model::metrics::cpu::GUEST_PORT_CPU_PERCENT;
use treering_model::{Metric, Scope};
use treering_sys::thread_cpu;

/// Nanoseconds of a tick in `/proc/stat` (`USER_HZ` is 100, proc(5)).
const TICK_NS: u64 = 10_000_000;
/// Columns of busy time in the `cpu` line: user, nice, system; idle and iowait are skipped; irq,
/// softirq.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

/// Counters since the start of the trial.
#[derive(Debug, Default)]
pub(crate) struct Overhead {
    busy_before_ns: AtomicU64,
    sending_ns: AtomicU64,
}

impl Overhead {
    /// Resets the counters at the start of the trial.
    pub(crate) fn begin(&self) {
        self.busy_before_ns.store(busy_ns(), Ordering::Relaxed);
        self.sending_ns.store(0, Ordering::Relaxed);
    }

    /// Runs `send` and counts the CPU time of the calling thread.
    pub(crate) fn measure<T>(&self, send: impl FnOnce() -> T) -> T {
        let used = || {
            let cpu = thread_cpu();
            cpu.user_ns + cpu.system_ns
        };
        let before = used();
        let sent = send();
        self.sending_ns.fetch_add(used().saturating_sub(before), Ordering::Relaxed);
        sent
    }

    /// Share so far; `None` if the processors were busy for less than a tick.
    pub(crate) fn metric(&self) -> Option<Metric> {
        let busy = busy_ns().checked_sub(self.busy_before_ns.load(Ordering::Relaxed))?;
        let sending = self.sending_ns.load(Ordering::Relaxed);
        let share = (busy > 0).then(|| 100.0 * sending as f64 / busy as f64)?;
        Some(GUEST_PORT_CPU_PERCENT.of(Scope::Trial, share))
    }
}

fn busy_ns() -> u64 {
    fs::read_to_string("/proc/stat").map_or(0, |text| busy_of(&text) * TICK_NS)
}

/// Busy ticks of all processors since boot.
fn busy_of(stat: &str) -> u64 {
    let totals = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let ticks: Vec<u64> = totals
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    BUSY.iter().filter_map(|&at| ticks.get(at)).sum()
}

#[cfg(test)]
mod tests {
    use super::{Overhead, busy_of};

    #[test]
    fn idle_and_iowait_are_not_busy() {
        let stat = "cpu  10 2 30 400 50 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n";
        assert_eq!(busy_of(stat), 10 + 2 + 30 + 6 + 7);
        assert_eq!(busy_of("intr 5\n"), 0);
    }

    #[test]
    fn sending_time_is_counted() {
        let overhead = Overhead::default();
        let sum = overhead.measure(|| (0..3_000_000_u64).map(std::hint::black_box).sum::<u64>());
        assert!(sum > 0 && overhead.sending_ns.load(super::Ordering::Relaxed) > 0);
        overhead.begin();
        assert_eq!(overhead.sending_ns.load(super::Ordering::Relaxed), 0);
    }
}
