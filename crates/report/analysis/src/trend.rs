//! How the tasks of a kind become slower or faster over one run.
//!
//! A trend describes one run; whether one filesystem ages differently from another takes several
//! runs of each.

use treering_model::TaskTotals;
use treering_stats::{mann_kendall, theil_sen};

/// Fewer tasks than this have no trend worth naming.
pub(crate) const TREND_MIN_TASKS: usize = 6;

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// For what amount of work the time is taken, so that large tasks do not look like slow ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendBasis {
    /// Time per byte: every task has bytes.
    Byte,
    /// Time per file: not every task has bytes, but each has files.
    File,
    /// Time per task.
    Task,
}

impl TrendBasis {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::File => "file",
            Self::Task => "task",
        }
    }
}

/// The trend of the tasks of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Tasks that have a duration.
    pub tasks: usize,
    /// What the time is divided by.
    pub basis: TrendBasis,
    /// Change of the time from a task to the tenth after it of the same kind, in percent;
    /// positive is slower. Theil-Sen slope of the logarithms.
    pub percent_per_10_tasks: f64,
    /// Its 95 % interval by Kendall's S, lowest and highest percent; `None` when all are equal.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p of the Mann-Kendall test, which takes the tasks as independent.
    pub p: f64,
}

impl Trend {
    /// The trend of tasks in their order; `None` below [`TREND_MIN_TASKS`] with a duration.
    pub(crate) fn of(tasks: &[&TaskTotals]) -> Option<Self> {
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
            interval: slope.interval.map(|around| (percent(around.low), percent(around.high))),
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

/// Nanoseconds for one unit of the basis, above zero.
pub(crate) fn cost(task: &TaskTotals, basis: TrendBasis) -> f64 {
    let amount = match basis {
        TrendBasis::Byte => counted_bytes(task) as f64,
        TrendBasis::File => task.files as f64,
        TrendBasis::Task => 1.0,
    };
    task.wall_ns as f64 / amount
}

/// The bytes by which a task's rate is reckoned.
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
        Trend::of(&tasks.iter().collect::<Vec<_>>())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    fn growing(place: u32, percent: f64) -> u64 {
        (1e9 * (1.0 + percent / 100.0).powi(place.cast_signed())) as u64
    }

    #[test]
    fn growth_is_reported_in_percent_per_ten_tasks() {
        let slower = tasks(|n| TaskTotals { wall_ns: growing(n, 2.0), ..TaskTotals::default() });
        let found = trend(&slower).unwrap();
        assert_eq!((found.tasks, found.basis), (12, TrendBasis::Task));
        assert!((found.percent_per_10_tasks - 21.899).abs() < 0.01, "{found:?}");
        assert!(found.p < 0.001);
        let (low, high) = found.interval.unwrap();
        assert!(low <= found.percent_per_10_tasks && found.percent_per_10_tasks <= high);
    }

    #[test]
    fn larger_tasks_are_not_slower_ones() {
        let larger = |n: u32| TaskTotals {
            wall_ns: 1_000_000 * u64::from(n + 1),
            files: 10 * u64::from(n + 1),
            ..TaskTotals::default()
        };
        let found = trend(&tasks(larger)).unwrap();
        assert_eq!(found.basis, TrendBasis::File);
        assert!(found.percent_per_10_tasks.abs() < 1e-9, "{found:?}");
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
