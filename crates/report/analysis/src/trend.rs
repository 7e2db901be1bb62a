//! Trend of a kind's task times over one run.
//!
//! A trend describes one run; comparing the aging of two filesystems requires several runs of each.

use treering_model::TaskTotals;
use treering_stats::{mann_kendall, theil_sen};

/// Minimum number of tasks for a trend.
pub(crate) const TREND_MIN_TASKS: usize = 6;

/// Confidence level of the trend's interval.
const CONFIDENCE: f64 = 0.95;

/// Unit of work by which times are divided, so that large tasks do not appear slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendBasis {
    /// Time per byte; chosen when every task has bytes.
    Byte,
    /// Time per file; chosen when every task has files but not every one has bytes.
    File,
    /// Time per task.
    Task,
}

impl TrendBasis {
    /// Name of the basis in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::File => "file",
            Self::Task => "task",
        }
    }
}

/// Trend of the tasks of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Number of tasks that have a duration.
    pub tasks: usize,
    /// Unit of work by which the times are divided.
    pub basis: TrendBasis,
    /// Change of the time over ten tasks of the same kind, in percent; positive is slower.
    /// Theil-Sen slope of the logarithms.
    pub percent_per_10_tasks: f64,
    /// 95 % confidence interval by Kendall's S, in percent; `None` when all times are equal.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of the Mann-Kendall test, which assumes independent tasks.
    pub p: f64,
}

impl Trend {
    /// Fits the trend of tasks in run order; `None` when fewer than [`TREND_MIN_TASKS`] have a
    /// duration.
    pub(crate) fn fit(tasks: &[&TaskTotals]) -> Option<Self> {
        let timed: Vec<&TaskTotals> =
            tasks.iter().copied().filter(|task| task.wall_ns > 0).collect();
        if timed.len() < TREND_MIN_TASKS {
            return None;
        }
        let basis = basis(&timed);
        let costs: Vec<f64> = timed.iter().map(|task| cost(task, basis).ln()).collect();
        let slope = theil_sen(&costs, CONFIDENCE).ok()?;
        let percent = |slope: f64| 100.0 * (10.0 * slope).exp_m1();
        Some(Self {
            tasks: timed.len(),
            basis,
            percent_per_10_tasks: percent(slope.slope),
            interval: slope
                .interval
                .map(|interval| (percent(interval.low), percent(interval.high))),
            p: mann_kendall(&costs).ok()?.p_value,
        })
    }
}

pub(crate) fn basis(tasks: &[&TaskTotals]) -> TrendBasis {
    if tasks.iter().all(|task| counted_bytes(task) > 0) {
        TrendBasis::Byte
    } else if tasks.iter().all(|task| task.files > 0) {
        TrendBasis::File
    } else {
        TrendBasis::Task
    }
}

/// Cost of a task in nanoseconds per unit of the basis; always positive.
pub(crate) fn cost(task: &TaskTotals, basis: TrendBasis) -> f64 {
    let amount = match basis {
        TrendBasis::Byte => counted_bytes(task) as f64,
        TrendBasis::File => task.files as f64,
        TrendBasis::Task => 1.0,
    };
    task.wall_ns as f64 / amount
}

/// Bytes that a task's rate is based on: listed bytes, else bytes transferred.
pub(crate) fn counted_bytes(task: &TaskTotals) -> u64 {
    if task.listed_bytes == 0 { task.bytes } else { task.listed_bytes }
}

#[cfg(test)]
mod tests {
    use super::{Trend, TrendBasis};
    use treering_model::TaskTotals;

    fn tasks(of: impl Fn(u32) -> TaskTotals) -> Vec<TaskTotals> {
        (0..12).map(of).collect()
    }

    fn trend(tasks: &[TaskTotals]) -> Option<Trend> {
        Trend::fit(&tasks.iter().collect::<Vec<_>>())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    fn growing(place: u32, percent: f64) -> u64 {
        (1e9 * (1.0 + percent / 100.0).powi(place.cast_signed())) as u64
    }

    #[test]
    fn growth_is_reported_in_percent_per_ten_tasks() {
        let slower = tasks(|n| TaskTotals { wall_ns: growing(n, 2.0), ..TaskTotals::default() });
        let growth = trend(&slower).unwrap();
        assert_eq!((growth.tasks, growth.basis), (12, TrendBasis::Task));
        assert!((growth.percent_per_10_tasks - 21.899).abs() < 0.01, "{growth:?}");
        assert!(growth.p < 0.001);
        let (low, high) = growth.interval.unwrap();
        assert!(low <= growth.percent_per_10_tasks && growth.percent_per_10_tasks <= high);
    }

    #[test]
    fn larger_tasks_are_not_slower_ones() {
        let larger = |n: u32| TaskTotals {
            wall_ns: 1_000_000 * u64::from(n + 1),
            files: 10 * u64::from(n + 1),
            ..TaskTotals::default()
        };
        let growth = trend(&tasks(larger)).unwrap();
        assert_eq!(growth.basis, TrendBasis::File);
        assert!(growth.percent_per_10_tasks.abs() < 1e-9, "{growth:?}");
        let with_bytes = |n: u32| TaskTotals { bytes: 1 << n, ..larger(n) };
        assert_eq!(trend(&tasks(with_bytes)).unwrap().basis, TrendBasis::Byte);
    }

    #[test]
    fn five_tasks_or_no_durations_have_no_trend() {
        let steady = tasks(|_| TaskTotals { wall_ns: 5, ..TaskTotals::default() });
        assert_eq!(trend(&steady[..5]), None);
        assert_eq!(trend(&tasks(|_| TaskTotals::default())), None);
        let flat = trend(&steady[..6]).unwrap();
        assert_eq!((flat.percent_per_10_tasks, flat.interval, flat.p), (0.0, None, 1.0));
    }
}
