//! Compared methods: treering's, and PELT as its paper describes it. `docs/evidence/history.md`
//! also compares other programs.

use treering_stats::{HistoryPoint, SHIFT_PLAN, ShiftPlan, level_shifts};

/// Ratio of standard deviation and median absolute deviation of a normal distribution.
const BY_MEDIAN_DEVIATION: f64 = 1.4826;

#[derive(Clone, Copy)]
pub(crate) enum Method {
    Treering,
    /// Exact minimum of the squared costs; each change costs this many times log n (Killick 2012).
    Pelt(u8),
}

impl Method {
    pub(crate) const ALL: [Self; 3] = [Self::Treering, Self::Pelt(2), Self::Pelt(3)];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Treering => "treering",
            Self::Pelt(2) => "PELT, 2 log n",
            Self::Pelt(_) => "PELT, 3 log n",
        }
    }

    /// First points of new levels; `judged` is the number of series judged together.
    pub(crate) fn shifts(self, values: &[f64], judged: usize) -> Vec<usize> {
        match self {
            Self::Treering => {
                let point = |&value: &f64| HistoryPoint { value, standard_error: 0.0 };
                let points: Vec<HistoryPoint> = values.iter().map(point).collect();
                let alpha = SHIFT_PLAN.alpha / judged as f64;
                let plan = ShiftPlan { alpha, ..SHIFT_PLAN };
                let shifts = level_shifts(&points, &plan).unwrap_or_default();
                shifts.iter().map(|shift| shift.index).collect()
            }
            Self::Pelt(penalty) => least_squares(values, f64::from(penalty)),
        }
    }
}

/// Starts of the levels, each of at least three points, that minimise the squared deviations plus
/// `penalty` × log n × variance per change. The variance comes from the median difference of
/// neighbours.
fn least_squares(values: &[f64], penalty: f64) -> Vec<usize> {
    let n = values.len();
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let variance = (BY_MEDIAN_DEVIATION * steps[steps.len() / 2]).powi(2) / 2.0;
    let penalty = penalty * (n as f64).ln() * variance;
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (at, value) in values.iter().enumerate() {
        sums[at + 1] = sums[at] + value;
        squares[at + 1] = squares[at] + value * value;
    }
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    for end in 3..=n {
        for start in 0..=end - 3 {
            let around = squares[end]
                - squares[start]
                - (sums[end] - sums[start]).powi(2) / (end - start) as f64;
            let cost = best[start].0 + penalty + around;
            if cost < best[end].0 {
                best[end] = (cost, start);
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = best[n].1;
    while end > 0 {
        starts.push(end);
        end = best[end].1;
    }
    starts.reverse();
    starts
}
