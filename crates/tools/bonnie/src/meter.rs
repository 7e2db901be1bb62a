//! Measurements of a task beside the engine's: times of the original's loop bodies, time of the
//! end, steadiness of the rate.

use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::OperationSpans;

/// Number of pieces of equal work into which a task is divided.
const PIECES: u64 = 32;
/// Minimum number of pieces from which a standard error is computed.
const PIECES_FEW: usize = 6;

/// Recorder of the measurements.
#[derive(Debug)]
pub(super) struct TestMeter {
    /// Times of the loop bodies, if every call is timed.
    spans: Option<OperationSpans>,
    /// Start of the current loop body.
    began_ns: Option<u64>,
    closing_ns: u64,
    /// Number of completed bodies; `next_mark` is the number at the next mark.
    done: u64,
    piece: u64,
    next_mark: u64,
    marks: Vec<(u64, u64)>,
    /// First irregularity, if any.
    pub(super) trouble: TestIrregularity,
}

/// Irregularity in a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TestIrregularity {
    #[default]
    None,
    /// A read ended before the end of its file.
    ShortRead,
    /// A directory was not empty after all its files had been unlinked.
    NotEmpty,
}

impl TestMeter {
    /// Recorder for a task of `bodies` loop bodies.
    pub(super) fn new(bodies: u64, all_timed: bool) -> Self {
        Self {
            spans: all_timed.then(|| OperationSpans::new(1)),
            began_ns: None,
            closing_ns: 0,
            done: 0,
            piece: (bodies / PIECES).max(1),
            next_mark: 0,
            marks: Vec::new(),
            trouble: TestIrregularity::None,
        }
    }

    /// Records a call of a body that is not its last: start and end, if it was timed.
    #[inline]
    pub(super) fn call(&mut self, timed: Option<(u64, u64)>) {
        let Some((began_ns, ended_ns)) = timed else { return };
        self.began_ns.get_or_insert(began_ns);
        self.mark(ended_ns);
    }

    /// Records the last call of a body, which may be its only one.
    #[inline]
    pub(super) fn last(&mut self, timed: Option<(u64, u64)>) {
        self.done += 1;
        let first_began_ns = self.began_ns.take();
        let Some((began_ns, ended_ns)) = timed else { return };
        if let Some(spans) = &mut self.spans {
            spans.record(0, false, first_began_ns.or(Some(began_ns)), Some(ended_ns));
        }
        self.mark(ended_ns);
    }

    /// Records a call after the loop: the fsync, the close or the sync.
    pub(super) fn closing(&mut self, timed: Option<(u64, u64)>) {
        self.closing_ns += timed.map_or(0, |(began, ended)| ended.saturating_sub(began));
    }

    fn mark(&mut self, at_ns: u64) {
        if self.done >= self.next_mark {
            self.next_mark = self.done + self.piece;
            self.marks.push((self.done, at_ns));
        }
    }

    /// Takes the measurements as counters of the task.
    pub(super) fn counters(&mut self) -> Counters {
        Counters::from_value(&TaskMeasurements {
            trouble: self.trouble,
            closing_ns: self.closing_ns,
            marks: std::mem::take(&mut self.marks),
            bodies: self.spans.take(),
        })
    }
}

/// Measurements of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskMeasurements {
    pub(super) trouble: TestIrregularity,
    /// Time of the fsync and the close, or the sync, at the end.
    pub(super) closing_ns: u64,
    /// Numbers of completed bodies, with the times.
    pub(super) marks: Vec<(u64, u64)>,
    /// Times of the bodies, if every call was timed.
    pub(super) bodies: Option<OperationSpans>,
}

impl TaskMeasurements {
    /// Standard error of the rate in bodies per second, from the pieces of work, and the rate;
    /// `None` with too few pieces.
    pub(super) fn rate_error(&self) -> Option<(f64, f64)> {
        let pieces: Vec<(f64, f64)> = self
            .marks
            .windows(2)
            .map(|pair| {
                let (done, ns) = (pair[1].0 - pair[0].0, pair[1].1.saturating_sub(pair[0].1));
                (done as f64, ns as f64 / 1e9)
            })
            .collect();
        let seconds: f64 = pieces.iter().map(|piece| piece.1).sum();
        let done: f64 = pieces.iter().map(|piece| piece.0).sum();
        if pieces.len() < PIECES_FEW || seconds <= 0.0 {
            return None;
        }
        let rate = done / seconds;
        // Variance of a ratio of sums (Cochran).
        let squares: f64 = pieces.iter().map(|(done, took)| (done - rate * took).powi(2)).sum();
        let count = pieces.len() as f64;
        Some(((squares * count / (count - 1.0)).sqrt() / seconds, rate))
    }
}

#[cfg(test)]
mod tests {
    use super::{TaskMeasurements, TestMeter};

    fn metered(took: impl Fn(u64) -> u64, bodies: u64) -> TaskMeasurements {
        let mut meter = TestMeter::new(bodies, true);
        let mut now = 1_000;
        let mut takes = |ns| {
            now += ns;
            Some((now - ns, now))
        };
        for body in 0..bodies {
            meter.call(takes(10));
            meter.call(takes(took(body)));
            meter.last(takes(20));
        }
        meter.closing(takes(500));
        meter.closing(takes(50));
        meter.counters().read::<TaskMeasurements>().unwrap()
    }

    #[test]
    fn loop_bodies_and_the_end_are_measured_separately() {
        let noted = metered(|body| if body == 7 { 3_000 } else { 100 }, 64);
        let bodies = noted.bodies.as_ref().unwrap().row(0);
        assert_eq!((bodies.count, bodies.longest_ns), (64, 3_030));
        assert_eq!(noted.closing_ns, 550);
    }

    #[test]
    fn standard_error_reflects_unsteady_rates() {
        let error = |noted: TaskMeasurements| noted.rate_error().unwrap().0 / (1e9 / 130.0);
        assert!(error(metered(|_| 100, 3200)) < 0.001);
        let unsteady = error(metered(|body| if body / 100 % 2 == 0 { 60 } else { 140 }, 3200));
        assert!((0.03..0.2).contains(&unsteady), "{unsteady}");
        assert_eq!(metered(|_| 100, 3).rate_error(), None);
    }

    #[test]
    fn marks_are_complete_when_only_some_calls_are_timed() {
        let mut meter = TestMeter::new(6400, false);
        for body in 0..6400_u64 {
            meter.last((body % 29 == 0).then_some((body * 100, body * 100 + 90)));
        }
        let noted = meter.counters().read::<TaskMeasurements>().unwrap();
        assert!((20..=33).contains(&noted.marks.len()), "{}", noted.marks.len());
        let error = noted.rate_error().unwrap().0 / 1e7;
        assert!(error < 0.001, "{error}");
        assert_eq!(noted.bodies, None);
    }
}
