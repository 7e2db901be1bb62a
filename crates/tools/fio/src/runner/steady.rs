//! Detection of a steady state: `steadystate`.
//!
//! As in the original, once a second the rate of that second joins a window, and the job ends when
//! the window's largest deviation from its mean, or its slope, is small enough. Clones of a
//! reporting group are evaluated together, by the last one of them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::language::{Section, SteadyState};
use treering_script::CounterBoard;

use super::super::tally::SteadyTally;

/// Cells of the group's board: bytes, requests, and 1 once the state is reached.
const BYTES: usize = 0;
const REQUESTS: usize = 1;
const REACHED: usize = 2;
const SECOND_NS: u64 = 1_000_000_000;

/// A clone's part in the steady state detection of its group.
#[derive(Clone, Debug)]
pub(in super::super) struct SteadyShare {
    board: CounterBoard,
    target: SteadyState,
    /// True for the clone that evaluates the rates.
    looks: bool,
    next_ns: Option<u64>,
    last_ns: u64,
    counted: [u64; 2],
    /// Requests and bytes of each second in the window.
    window: VecDeque<[u64; 2]>,
    result: SteadyTally,
}

impl SteadyShare {
    /// Joins the board of the group; `None` if the job sets no `steadystate`.
    pub(in super::super) fn from_job(
        job: &Section,
        board: CounterBoard,
        looks: bool,
    ) -> Option<Self> {
        let target = job.extras.steady;
        (target.seconds > 0).then(|| Self {
            board,
            target,
            looks,
            next_ns: None,
            last_ns: 0,
            counted: [0; 2],
            window: VecDeque::new(),
            result: SteadyTally::default(),
        })
    }

    /// Counts a completed request.
    pub(super) fn counted(&self, bytes: u64) {
        self.board.cell(BYTES).fetch_add(bytes, Ordering::Relaxed);
        self.board.cell(REQUESTS).fetch_add(1, Ordering::Relaxed);
    }

    /// True if the steady state is reached at `now_ns`, for a job that began at `start_ns`.
    pub(super) fn is_reached(&mut self, now_ns: u64, start_ns: u64) -> bool {
        let next_ns = *self.next_ns.get_or_insert(start_ns + SECOND_NS);
        if now_ns >= next_ns && self.looks {
            self.look(now_ns, start_ns);
        }
        self.board.cell(REACHED).load(Ordering::Relaxed) != 0
    }

    fn look(&mut self, now_ns: u64, start_ns: u64) {
        let since_ns = if self.last_ns == 0 { start_ns } else { self.last_ns };
        let spent_ms = ((now_ns - since_ns) / 1_000_000).max(1);
        let counts = [REQUESTS, BYTES].map(|cell| self.board.cell(cell).load(Ordering::Relaxed));
        let [requests, bytes] =
            [0, 1].map(|place| 1000 * counts[place].saturating_sub(self.counted[place]) / spent_ms);
        (self.counted, self.last_ns, self.next_ns) = (counts, now_ns, Some(now_ns + SECOND_NS));
        // The first second is skipped, since the original takes its rate as zero.
        let before_ns = self.target.ramp_us * 1000 + SECOND_NS;
        let is_first = self.target.ramp_us == 0 && now_ns - start_ns < 2 * SECOND_NS;
        if now_ns - start_ns < before_ns || is_first {
            return;
        }
        let seconds = usize::try_from(self.target.seconds).unwrap_or(usize::MAX);
        if self.window.len() == seconds {
            self.window.pop_front();
        }
        self.window.push_back([requests, bytes]);
        if self.window.len() == seconds {
            self.judge();
            if self.result.attained {
                self.board.cell(REACHED).store(1, Ordering::Relaxed);
            }
        }
    }

    /// Evaluates a full window.
    fn judge(&mut self) {
        let target = self.target;
        let rates = self.window.iter().map(|second| second[usize::from(!target.of_requests)]);
        let (count, sum) = (self.window.len() as f64, rates.clone().sum::<u64>());
        let mean = sum as f64 / count;
        let (value, base) = if target.is_slope {
            let places = || (0..self.window.len()).map(|place| place as f64);
            let (sum_x, sum_xx) = (places().sum::<f64>(), places().map(|x| x * x).sum::<f64>());
            let sum_xy: f64 = places().zip(rates).map(|(x, rate)| x * rate as f64).sum();
            let slope = (sum_xy - sum_x * sum as f64 / count) / (sum_xx - sum_x * sum_x / count);
            self.result.slope = slope;
            // As in the original, the mean is truncated to an integer.
            (slope, (sum / self.window.len() as u64) as f64)
        } else {
            let far = rates.map(|rate| (rate as f64 - mean).abs()).fold(0.0, f64::max);
            self.result.deviation = far;
            (far, mean)
        };
        self.result.criterion = if target.in_percent { 100.0 * value / base } else { value };
        self.result.attained = self.result.criterion.abs() < target.limit;
    }

    /// Result, from the clone that evaluates the rates.
    pub(super) fn result(mut self) -> Option<SteadyTally> {
        self.result.seconds = self.window.into();
        let seconds = usize::try_from(self.target.seconds).unwrap_or(0);
        self.result.seconds.resize(seconds, [0; 2]);
        self.looks.then_some(self.result)
    }
}

#[cfg(test)]
mod tests {
    use crate::language::{Section, SteadyState};
    use treering_script::CounterBoard;

    use super::{SECOND_NS, SteadyShare, SteadyTally};

    /// Result for these rates of 4 KiB requests per second, and the second in which the state was
    /// reached.
    fn detect(target: SteadyState, rates: &[u64]) -> (SteadyTally, Option<usize>) {
        let mut job = Section::default();
        job.extras.steady = target;
        let mut share = SteadyShare::from_job(&job, CounterBoard::default(), true).unwrap();
        let start_ns = 7 * SECOND_NS;
        let mut reached = None;
        for (second, rate) in (1..).zip(rates) {
            (0..*rate).for_each(|_| share.counted(4096));
            if share.is_reached(start_ns + second as u64 * SECOND_NS, start_ns) {
                reached = Some(second);
                break;
            }
        }
        (share.result().unwrap(), reached)
    }

    #[test]
    fn steady_state_is_reached_when_the_largest_deviation_is_below_the_limit() {
        let target = SteadyState {
            of_requests: true,
            is_slope: false,
            limit: 10.0,
            in_percent: true,
            seconds: 3,
            ramp_us: 0,
        };
        let (tally, reached) = detect(target, &[900, 500, 100, 110, 105, 100]);
        assert_eq!(reached, Some(5));
        assert_eq!(tally.seconds, [[100, 409_600], [110, 450_560], [105, 430_080]]);
        assert!(tally.attained && (tally.criterion - 100.0 * 5.0 / 105.0).abs() < 1e-9);
        let later = SteadyState { ramp_us: 4_000_000, ..target };
        let (tally, reached) = detect(later, &[100; 6]);
        assert_eq!((reached, tally.attained), (None, false));
        assert_eq!(tally.seconds, [[100, 409_600], [100, 409_600], [0, 0]]);
        assert_eq!(detect(later, &[100; 7]).1, Some(7));
    }

    #[test]
    fn slope_is_the_least_squares_slope_over_the_window() {
        let target = SteadyState {
            of_requests: false,
            is_slope: true,
            limit: 100.0,
            in_percent: false,
            seconds: 4,
            ramp_us: 0,
        };
        let (tally, reached) = detect(target, &[1, 10, 20, 30, 40, 40]);
        assert_eq!(reached, None);
        assert!((tally.slope - 7.0 * 4096.0).abs() < 1e-6, "{}", tally.slope);
        let percent = SteadyState { limit: 30.0, in_percent: true, ..target };
        assert_eq!(detect(percent, &[1, 10, 20, 30, 40, 40]).1, Some(6));
    }
}
