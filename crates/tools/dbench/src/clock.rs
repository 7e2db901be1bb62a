//! Phases of a run (warm-up, measured time, end), decided at each second as the original's alarm
//! handler does.

use std::time::Duration;

use super::counters::{ClientCounters, CounterIndex, PhaseSignal};
use super::tick::{ProgressTick, RunPhase};

/// Extra warm-up granted to clients that do operations but move no bytes, in seconds.
const PATIENCE_SECONDS: f64 = 10.0;

/// State machine of the run's phases.
#[derive(Debug)]
pub(super) struct Clock {
    warmup: u64,
    /// Counter that shows activity of a client: bytes, or lines if the load moves no bytes.
    works: CounterIndex,
    /// Length of the measured time in seconds; `None` if passes end the run.
    seconds: Option<u64>,
    /// Bytes before the measured time.
    bytes_before: u64,
    measured_ns: u64,
    warm: bool,
    over_ns: Option<u64>,
    /// Tolerance for early ticks, in seconds.
    slack: f64,
}

impl Clock {
    /// Creates the clock; `warmup` and `seconds` are the lengths of the phases, `every` is the tick
    /// interval.
    pub(super) const fn new(
        warmup: u64,
        seconds: Option<u64>,
        works: CounterIndex,
        every: Duration,
    ) -> Self {
        let slack = every.as_secs_f64() / 10.0;
        Self {
            warmup,
            works,
            seconds,
            bytes_before: 0,
            measured_ns: 0,
            warm: false,
            over_ns: None,
            slack,
        }
    }

    /// Checks all clients, `elapsed_ns` after the start; may advance the phase.
    pub(super) fn tick(
        &mut self,
        elapsed_ns: u64,
        signal: &PhaseSignal,
        client_counters: &[ClientCounters],
    ) -> Option<ProgressTick> {
        let count = (client_counters.len() as u64).max(1);
        let sum = |index| {
            client_counters.iter().map(|counters| counters.get(index)).fold(0, u64::wrapping_add)
        };
        let moving =
            client_counters.iter().filter(|counters| counters.get(self.works) != 0).count() as u64;
        let latency_ns = latency(elapsed_ns, client_counters);
        let bytes = sum(CounterIndex::Bytes);
        let seconds = elapsed_ns.saturating_sub(self.measured_ns) as f64 / 1e9;
        // Clients whose reads and writes all go wrong would warm up for ever.
        let waits_in_vain = seconds > self.warmup as f64 + PATIENCE_SECONDS
            && client_counters.iter().all(|counters| counters.get(CounterIndex::Lines) != 0);
        let ready = moving == count || waits_in_vain;
        if !self.warm && ready && seconds + self.slack > self.warmup as f64 {
            self.warm = true;
            signal.set(RunPhase::Measured);
            if self.warmup > 0 {
                self.measured_ns = elapsed_ns;
                self.bytes_before = bytes;
                client_counters.iter().for_each(|counters| _ = counters.take_gap());
                return None;
            }
        }
        if self.warm
            && self.over_ns.is_none()
            && self.seconds.is_some_and(|limit| seconds + self.slack > limit as f64)
        {
            self.over_ns = Some(elapsed_ns);
            signal.set(RunPhase::Over);
        }
        // A client that gave up ended it for all.
        let part = signal.part();
        let active = match part {
            RunPhase::WarmUp => moving,
            RunPhase::Measured => count,
            RunPhase::Over => count - sum(CounterIndex::Done).min(count),
        };
        Some(ProgressTick {
            part,
            active,
            lines: sum(CounterIndex::Lines) / count,
            bytes: bytes.wrapping_sub(self.bytes_before),
            seconds,
            latency_ns,
            measured_ns: self.measured_ns,
        })
    }
}

/// Longest gap between two operations, including one that is still going on, in nanoseconds. Resets
/// the gaps.
fn latency(elapsed_ns: u64, client_counters: &[ClientCounters]) -> u64 {
    let of = |counters: &ClientCounters| {
        let now_ns = counters.get(CounterIndex::Began).saturating_add(elapsed_ns);
        let age_ns = match counters.get(CounterIndex::Done) {
            0 => now_ns.saturating_sub(counters.get(CounterIndex::Seen)),
            _ => 0,
        };
        counters.take_gap().max(age_ns)
    };
    client_counters.iter().map(of).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use treering_model::Counters;

    use super::{Clock, ProgressTick};
    use crate::counters::{ClientCounters, CounterIndex, PhaseSignal};
    use crate::tick::RunPhase;

    const SECOND: u64 = 1_000_000_100;

    fn tick(
        clock: &mut Clock,
        seconds: u64,
        signal: &PhaseSignal,
        client_counters: &[ClientCounters],
    ) -> Option<ProgressTick> {
        for counters in client_counters {
            counters.set(CounterIndex::Seen, seconds * SECOND);
        }
        clock.tick(seconds * SECOND, signal, client_counters)
    }

    #[test]
    fn phases_change_as_in_the_original() {
        let (signal, client_counters) =
            (PhaseSignal::default(), [ClientCounters::default(), ClientCounters::default()]);
        let mut clock = Clock::new(2, Some(3), CounterIndex::Bytes, Duration::from_secs(1));
        client_counters[0].set(CounterIndex::Bytes, 1000);
        client_counters[0].set(CounterIndex::Lines, 10);
        let first = tick(&mut clock, 1, &signal, &client_counters).unwrap();
        assert_eq!((first.part, first.active, first.lines), (RunPhase::WarmUp, 1, 5));
        // The second client has moved nothing: the warm-up goes on.
        let third = tick(&mut clock, 3, &signal, &client_counters).unwrap();
        assert_eq!(third.part, RunPhase::WarmUp);
        client_counters[1].set(CounterIndex::Bytes, 1000);
        client_counters[1].set(CounterIndex::Gap, 77);
        assert_eq!(tick(&mut clock, 4, &signal, &client_counters), None);
        assert_eq!(
            (signal.part(), client_counters[1].get(CounterIndex::Gap)),
            (RunPhase::Measured, 0)
        );
        client_counters[1].set(CounterIndex::Bytes, 4_000_000);
        client_counters[0].set(CounterIndex::Gap, 55);
        let fifth = tick(&mut clock, 5, &signal, &client_counters).unwrap();
        assert_eq!((fifth.part, fifth.active, fifth.latency_ns), (RunPhase::Measured, 2, 55));
        assert!((fifth.megabytes() - 3.999).abs() < 0.001, "{}", fifth.megabytes());
        assert_eq!(Counters::from_value(&fifth).read(), Some(fifth));
        let seventh = tick(&mut clock, 7, &signal, &client_counters).unwrap();
        assert_eq!((seventh.part, signal.part()), (RunPhase::Over, RunPhase::Over));
        client_counters[0].set(CounterIndex::Done, 1);
        assert_eq!(tick(&mut clock, 8, &signal, &client_counters).unwrap().active, 1);
    }

    #[test]
    fn warm_up_ends_for_clients_that_move_no_bytes() {
        let (signal, client_counters) = (PhaseSignal::default(), [ClientCounters::default()]);
        let mut clock = Clock::new(1, Some(1), CounterIndex::Bytes, Duration::from_secs(1));
        client_counters[0].set(CounterIndex::Lines, 1);
        assert_eq!(tick(&mut clock, 10, &signal, &client_counters).unwrap().part, RunPhase::WarmUp);
        assert_eq!(tick(&mut clock, 12, &signal, &client_counters), None);
        assert_eq!(tick(&mut clock, 13, &signal, &client_counters).unwrap().part, RunPhase::Over);
    }

    #[test]
    fn without_warm_up_counting_starts_at_once() {
        let (signal, client_counters) = (PhaseSignal::default(), [ClientCounters::default()]);
        let mut clock = Clock::new(0, None, CounterIndex::Lines, Duration::from_secs(1));
        assert_eq!(tick(&mut clock, 1, &signal, &client_counters).unwrap().part, RunPhase::WarmUp);
        client_counters[0].set(CounterIndex::Lines, 1);
        for second in 2..100 {
            assert_eq!(
                tick(&mut clock, second, &signal, &client_counters).unwrap().part,
                RunPhase::Measured
            );
        }
    }
}
