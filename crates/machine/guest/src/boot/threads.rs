//! Threads of the emulator on the CPUs of the host: the time that they ran and that they waited.

use std::time::{Duration, Instant};

use treering_model::{Fact, GuestSpec};

/// Time of the emulator's threads on the CPUs of the host, and waiting for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadTimes {
    running_ns: u64,
    waiting_ns: u64,
    /// Wait of the thread that waited longest.
    longest_wait_ns: u64,
    /// Time of the thread that ran longest.
    longest_run_ns: u64,
}

impl ThreadTimes {
    /// Sums the threads of a process; threads that have ended are not counted.
    pub(super) fn of_process(pid: u32) -> Self {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        let texts = threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
        texts.filter_map(|text| Self::parse(&text)).fold(Self::default(), |sum, own| Self {
            running_ns: sum.running_ns + own.running_ns,
            waiting_ns: sum.waiting_ns + own.waiting_ns,
            longest_wait_ns: sum.longest_wait_ns.max(own.waiting_ns),
            longest_run_ns: sum.longest_run_ns.max(own.running_ns),
        })
    }

    /// Time of the busiest thread.
    pub(super) fn longest_run(self) -> Duration {
        Duration::from_nanos(self.longest_run_ns)
    }

    /// Parses a line of `schedstat`: nanoseconds running, nanoseconds waiting, time slices.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        let (running_ns, waiting_ns) = (numbers.next()??, numbers.next()??);
        let (longest_wait_ns, longest_run_ns) = (waiting_ns, running_ns);
        Some(Self { running_ns, waiting_ns, longest_wait_ns, longest_run_ns })
    }

    /// Facts of a trial that began at `before` and has ended now.
    pub(super) fn facts_since(self, before: Self) -> Vec<Fact> {
        let seconds = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e9;
        let times = [
            (GuestSpec::CPU_FACT, seconds(self.running_ns, before.running_ns)),
            (GuestSpec::RUN_DELAY_FACT, seconds(self.waiting_ns, before.waiting_ns)),
        ];
        let fact = |(name, seconds): (&str, f64)| Fact {
            name: name.to_owned(),
            value: format!("{seconds:.3}"),
        };
        times.into_iter().map(fact).collect()
    }
}

/// Point in time of a guest. The time since then counts while the guest runs or sleeps, and not
/// while its slowest thread waits for a CPU of the host: a busy host does not make a guest hang.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuestInstant {
    at: Instant,
    waited: Duration,
}

impl GuestInstant {
    /// Now, for the guest of this process.
    pub(super) fn now(pid: u32) -> Self {
        Self { at: Instant::now(), waited: longest_wait(pid) }
    }

    /// The present for a guest that starts.
    pub(super) fn of_start() -> Self {
        Self { at: Instant::now(), waited: Duration::ZERO }
    }

    /// Wall-clock time since then.
    pub(super) fn wall(self) -> Duration {
        self.at.elapsed()
    }

    /// Reports whether the guest had more than this time since then.
    pub(super) fn is_past(self, limit: Duration, pid: u32) -> bool {
        let waits = || longest_wait(pid).saturating_sub(self.waited);
        self.wall() > limit && self.wall().saturating_sub(waits()) > limit
    }
}

fn longest_wait(pid: u32) -> Duration {
    Duration::from_nanos(ThreadTimes::of_process(pid).longest_wait_ns)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{GuestInstant, ThreadTimes};

    #[test]
    fn times_of_threads_are_told_from_the_beginning_of_the_trial() {
        let before = ThreadTimes::parse("1000000000 250000000 17\n").unwrap();
        let after = ThreadTimes::parse("3500000000 1000000000 99\n").unwrap();
        let facts = after.facts_since(before);
        let told: Vec<(&str, &str)> =
            facts.iter().map(|fact| (fact.name.as_str(), fact.value.as_str())).collect();
        let expected =
            [("host.qemu_cpu_seconds", "2.500"), ("host.qemu_run_delay_seconds", "0.750")];
        assert_eq!(told, expected);
        assert_eq!(ThreadTimes::parse("not a line"), None);
        let own = ThreadTimes::of_process(std::process::id());
        assert!(own.running_ns > 0 || !std::path::Path::new("/proc/self/schedstat").exists());
    }

    #[test]
    fn a_guest_that_waited_for_the_host_is_not_past_its_limit() {
        let Some(begin) = Instant::now().checked_sub(Duration::from_secs(100)) else { return };
        let limit = Duration::from_secs(60);
        // No process has this number: nothing waits.
        let none = u32::MAX;
        assert!(GuestInstant { at: begin, waited: Duration::ZERO }.is_past(limit, none));
        assert!(!GuestInstant::of_start().is_past(limit, none));
    }
}
