//! The tasks of a kind over one run: the cost of each, and their trend line.

use treering_model::{TaskTotals, Trial};
use treering_stats::median;

use crate::kind::{MIB, grouped};
use crate::trend::{basis, cost};
use crate::{Trend, TrendBasis};

/// A task of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgingPoint {
    /// The number of the task in the run, counted from 1.
    pub number: usize,
    /// Nanoseconds for one MiB, for one file or for the task, as the basis says.
    pub cost_ns: f64,
}

/// The tasks of one kind that have a duration, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct AgingSeries {
    /// How the kind is called in tables: `read compiled`.
    pub label: String,
    /// The kind alone: `read`.
    pub kind: String,
    /// For what the time is taken.
    pub basis: TrendBasis,
    /// The tasks, as many as a trend wants at least.
    pub points: Vec<AgingPoint>,
    /// Their trend.
    pub trend: Trend,
    /// The cost at the first task on the line of the trend, in nanoseconds.
    pub level_ns: f64,
}

impl AgingSeries {
    /// The cost on the line of the trend at a task of the series, counted from 0, in nanoseconds.
    pub fn line_ns(&self, place: usize) -> f64 {
        line_ns(self.level_ns, self.trend.percent_per_10_tasks, place)
    }
}

/// The cost on a line that begins at a level and changes by so many percent over ten tasks.
pub fn line_ns(level_ns: f64, percent_per_10_tasks: f64, place: usize) -> f64 {
    level_ns * (1.0 + percent_per_10_tasks / 100.0).powf(place as f64 / 10.0)
}

/// The series of every kind that has enough tasks for a trend.
pub fn aging(trial: &Trial) -> Vec<AgingSeries> {
    grouped(trial).into_iter().filter_map(|(key, tasks)| of_kind(key.label(), &tasks)).collect()
}

fn of_kind(label: String, tasks: &[(usize, &TaskTotals)]) -> Option<AgingSeries> {
    let bare: Vec<&TaskTotals> = tasks.iter().map(|(_, task)| *task).collect();
    let trend = Trend::of(&bare)?;
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
    // Through the middle of the tasks, as the slope of Theil and Sen wants it.
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
    use treering_model::{Beginning, Ending, Mode, TaskTotals, Trial, TrialId};

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
            ..Trial::new(Beginning::new(TrialId::new(), "compilebench", Mode::Native))
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
        // Two seconds for two MiB, 3 % more each time.
        assert!((read.points[0].cost_ns / 1e9 - 1.0).abs() < 1e-6);
        for (place, point) in read.points.iter().enumerate() {
            assert!((read.line_ns(place) / point.cost_ns - 1.0).abs() < 1e-6, "{place}");
        }
    }

    #[test]
    fn few_tasks_have_no_series() {
        assert!(aging(&trial(10)).is_empty());
        assert_eq!(aging(&trial(11)).len(), 1);
    }
}
