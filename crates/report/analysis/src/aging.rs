//! Aging of one run: the cost of each task by kind, with a trend line.

use treering_model::{TaskTotals, Trial};
use treering_stats::median;

use crate::kind::{MIB, grouped};
use crate::trend::{basis, cost};
use crate::{Trend, TrendBasis};

/// Task of an aging series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgingPoint {
    /// Number of the task in the run, counted from 1.
    pub number: usize,
    /// Cost in nanoseconds per MiB, per file or per task, depending on the basis of the series.
    pub cost_ns: f64,
}

/// Tasks of one kind that have a duration, in run order.
#[derive(Clone, Debug, PartialEq)]
pub struct AgingSeries {
    /// Row label of the kind in tables: `read compiled`.
    pub label: String,
    /// Kind without state or phase: `read`.
    pub kind: String,
    /// Unit of work the cost is normalised by.
    pub basis: TrendBasis,
    /// Points of the trend, a point for each task; at least as many as a trend requires.
    pub points: Vec<AgingPoint>,
    /// Trend fitted to the points.
    pub trend: Trend,
    /// Cost at the first task on the trend line, in nanoseconds.
    pub level_ns: f64,
}

impl AgingSeries {
    /// Cost on the trend line at task `place` (counted from 0), in nanoseconds.
    pub fn trend_line_ns(&self, place: usize) -> f64 {
        trend_line_ns(self.level_ns, self.trend.percent_per_10_tasks, place)
    }
}

/// Cost at task `place` on a line that starts at `level_ns` and changes by this percentage over ten
/// tasks.
pub fn trend_line_ns(level_ns: f64, percent_per_10_tasks: f64, place: usize) -> f64 {
    level_ns * (1.0 + percent_per_10_tasks / 100.0).powf(place as f64 / 10.0)
}

/// Aging series of every kind that has enough tasks for a trend.
pub fn aging(trial: &Trial) -> Vec<AgingSeries> {
    grouped(trial).into_iter().filter_map(|(key, tasks)| of_kind(key.label(), &tasks)).collect()
}

fn of_kind(label: String, tasks: &[(usize, &TaskTotals)]) -> Option<AgingSeries> {
    let bare: Vec<&TaskTotals> = tasks.iter().map(|(_, task)| *task).collect();
    let trend = Trend::fit(&bare)?;
    let timed: Vec<&(usize, &TaskTotals)> =
        tasks.iter().filter(|(_, task)| task.wall_ns > 0).collect();
    let basis = basis(&timed.iter().map(|(_, task)| *task).collect::<Vec<_>>());
    let unit = if basis == TrendBasis::Byte { MIB } else { 1.0 };
    let point = |(place, task): &&(usize, &TaskTotals)| AgingPoint {
        number: place + 1,
        cost_ns: cost(task, basis) * unit,
    };
    let points: Vec<AgingPoint> = timed.iter().map(point).collect();
    let logs: Vec<f64> = points.iter().map(|point| point.cost_ns.ln()).collect();
    // The line passes through the middle of the tasks, as a Theil-Sen line does.
    let step = (1.0 + trend.percent_per_10_tasks / 100.0).ln() / 10.0;
    let middle = (points.len() as f64 - 1.0) / 2.0;
    let level_ns = (median(&logs).ok()? - step * middle).exp();
    let kind = bare.first()?.kind.clone();
    Some(AgingSeries { label, kind, basis, points, trend, level_ns })
}

#[cfg(test)]
mod tests {
    use super::aging;
    use crate::TrendBasis;
    use treering_model::{Ending, RunMode, TaskTotals, Trial, TrialHeader, TrialId};

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    fn trial(tasks: u32) -> Trial {
        let task = |place: u32| TaskTotals {
            kind: (if place.is_multiple_of(2) { "read" } else { "stat" }).to_owned(),
            wall_ns: (2e9 * 1.03f64.powi((place / 2).cast_signed())) as u64,
            bytes: if place.is_multiple_of(2) { 2 << 20 } else { 0 },
            files: 100,
            ..TaskTotals::default()
        };
        Trial {
            tasks: (0..tasks).map(task).collect(),
            ending: Ending::Completed,
            wall_ns: 1,
            ..Trial::new(TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native))
        }
    }

    #[test]
    fn the_line_runs_through_the_tasks() {
        let series = aging(&trial(24));
        assert_eq!(series.len(), 2);
        let (read, stat) = (&series[0], &series[1]);
        assert_eq!((read.label.as_str(), read.basis), ("read", TrendBasis::Byte));
        assert_eq!((stat.label.as_str(), stat.basis), ("stat", TrendBasis::File));
        assert_eq!(read.points[0].number, 1);
        assert_eq!(stat.points[1].number, 4);
        // The tasks take one second per MiB, increasing by 3 % each time.
        assert!((read.points[0].cost_ns / 1e9 - 1.0).abs() < 1e-6);
        for (place, point) in read.points.iter().enumerate() {
            assert!((read.trend_line_ns(place) / point.cost_ns - 1.0).abs() < 1e-6, "{place}");
        }
    }

    #[test]
    fn few_tasks_have_no_series() {
        assert!(aging(&trial(10)).is_empty());
        assert_eq!(aging(&trial(11)).len(), 1);
    }
}
