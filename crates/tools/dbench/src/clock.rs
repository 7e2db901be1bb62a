//! The warm-up, the measured time and the end, as the original's alarm of each second decides them.

use std::time::Duration;

use super::panel::{Dial, Panel, Signal};
use super::tick::{Part, Tick};

/// Extra warm-up granted to clients that do operations but move no bytes, in seconds.
const PATIENCE_SECONDS: f64 = 10.0;

/// State machine of the run's phases.
#[derive(Debug)]
pub(super) struct Clock {
    warmup: u64,
    /// Counter that shows activity of a client: bytes, or lines if the load moves no bytes.
    works: Dial,
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
        works: Dial,
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
        signal: &Signal,
        panels: &[Panel],
    ) -> Option<Tick> {
        let count = (panels.len() as u64).max(1);
        let sum = |dial| panels.iter().map(|panel| panel.get(dial)).fold(0, u64::wrapping_add);
        let moving = panels.iter().filter(|panel| panel.get(self.works) != 0).count() as u64;
        let latency_ns = latency(elapsed_ns, panels);
        let bytes = sum(Dial::Bytes);
        let seconds = elapsed_ns.saturating_sub(self.measured_ns) as f64 / 1e9;
        // Clients whose reads and writes all go wrong would warm up for ever.
        let waits_in_vain = seconds > self.warmup as f64 + PATIENCE_SECONDS
            && panels.iter().all(|panel| panel.get(Dial::Lines) != 0);
        let ready = moving == count || waits_in_vain;
        if !self.warm && ready && seconds + self.slack > self.warmup as f64 {
            self.warm = true;
            signal.set(Part::Measured);
            if self.warmup > 0 {
                self.measured_ns = elapsed_ns;
                self.bytes_before = bytes;
                panels.iter().for_each(|panel| _ = panel.take_gap());
                return None;
            }
        }
        if self.warm
            && self.over_ns.is_none()
            && self.seconds.is_some_and(|limit| seconds + self.slack > limit as f64)
        {
            self.over_ns = Some(elapsed_ns);
            signal.set(Part::Over);
        }
        // A client that gave up ended it for all.
        let part = signal.part();
        let active = match part {
            Part::WarmUp => moving,
            Part::Measured => count,
            Part::Over => count - sum(Dial::Done).min(count),
        };
        Some(Tick {
            part,
            active,
            lines: sum(Dial::Lines) / count,
            bytes: bytes.wrapping_sub(self.bytes_before),
            seconds,
            latency_ns,
            measured_ns: self.measured_ns,
        })
    }
}

/// Longest gap between two operations, including one that is still going on, in nanoseconds. Resets
/// the gaps.
fn latency(elapsed_ns: u64, panels: &[Panel]) -> u64 {
    let of = |panel: &Panel| {
        let now_ns = panel.get(Dial::Began).saturating_add(elapsed_ns);
        let age_ns = match panel.get(Dial::Done) {
            0 => now_ns.saturating_sub(panel.get(Dial::Seen)),
            _ => 0,
        };
        panel.take_gap().max(age_ns)
    };
    panels.iter().map(of).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use treering_model::Counters;

    use super::{Clock, Tick};
    use crate::panel::{Dial, Panel, Signal};
    use crate::tick::Part;

    const SECOND: u64 = 1_000_000_100;

    fn tick(clock: &mut Clock, seconds: u64, signal: &Signal, panels: &[Panel]) -> Option<Tick> {
        for panel in panels {
            panel.set(Dial::Seen, seconds * SECOND);
        }
        clock.tick(seconds * SECOND, signal, panels)
    }

    #[test]
    fn phases_change_as_in_the_original() {
        let (signal, panels) = (Signal::default(), [Panel::default(), Panel::default()]);
        let mut clock = Clock::new(2, Some(3), Dial::Bytes, Duration::from_secs(1));
        panels[0].set(Dial::Bytes, 1000);
        panels[0].set(Dial::Lines, 10);
        let first = tick(&mut clock, 1, &signal, &panels).unwrap();
        assert_eq!((first.part, first.active, first.lines), (Part::WarmUp, 1, 5));
        // The second client has moved nothing: the warm-up goes on.
        let third = tick(&mut clock, 3, &signal, &panels).unwrap();
        assert_eq!(third.part, Part::WarmUp);
        panels[1].set(Dial::Bytes, 1000);
        panels[1].set(Dial::Gap, 77);
        assert_eq!(tick(&mut clock, 4, &signal, &panels), None);
        assert_eq!((signal.part(), panels[1].get(Dial::Gap)), (Part::Measured, 0));
        panels[1].set(Dial::Bytes, 4_000_000);
        panels[0].set(Dial::Gap, 55);
        let fifth = tick(&mut clock, 5, &signal, &panels).unwrap();
        assert_eq!((fifth.part, fifth.active, fifth.latency_ns), (Part::Measured, 2, 55));
        assert!((fifth.megabytes() - 3.999).abs() < 0.001, "{}", fifth.megabytes());
        assert_eq!(Counters::from_value(&fifth).read(), Some(fifth));
        let seventh = tick(&mut clock, 7, &signal, &panels).unwrap();
        assert_eq!((seventh.part, signal.part()), (Part::Over, Part::Over));
        panels[0].set(Dial::Done, 1);
        assert_eq!(tick(&mut clock, 8, &signal, &panels).unwrap().active, 1);
    }

    #[test]
    fn warm_up_ends_for_clients_that_move_no_bytes() {
        let (signal, panels) = (Signal::default(), [Panel::default()]);
        let mut clock = Clock::new(1, Some(1), Dial::Bytes, Duration::from_secs(1));
        panels[0].set(Dial::Lines, 1);
        assert_eq!(tick(&mut clock, 10, &signal, &panels).unwrap().part, Part::WarmUp);
        assert_eq!(tick(&mut clock, 12, &signal, &panels), None);
        assert_eq!(tick(&mut clock, 13, &signal, &panels).unwrap().part, Part::Over);
    }

    #[test]
    fn without_warm_up_counting_starts_at_once() {
        let (signal, panels) = (Signal::default(), [Panel::default()]);
        let mut clock = Clock::new(0, None, Dial::Lines, Duration::from_secs(1));
        assert_eq!(tick(&mut clock, 1, &signal, &panels).unwrap().part, Part::WarmUp);
        panels[0].set(Dial::Lines, 1);
        for second in 2..100 {
            assert_eq!(tick(&mut clock, second, &signal, &panels).unwrap().part, Part::Measured);
        }
    }
}
