//! Histories: the same measurement again and again, from kernel to kernel, from day to day. Where
//! its level changed, what else changed there, and whether the newest point is out of line.
//!
//! Which trials make a point is decided by the caller; nothing is laid out here. The method and
//! its errors, by simulation: `docs/evidence/history.md`.

mod anchor;
mod explain;
mod facts;
mod gather;

use std::ops::Range;

use treering_model::{Better, Mode, Trial, TrialId, Unit};
use treering_stats::{
    ChangePointPlan, HistoryPoint, SHIFT_PLAN, StatsError, level_shifts, ljung_box, newest_differs,
    noise_shift,
};

pub use anchor::{AnchorChanges, anchor_changes};
pub use explain::explain;
pub use facts::ChangedFact;
use gather::{Gathered, gather, half_width};

/// Fewest points of which anything is said.
pub const FEWEST_POINTS: usize = 6;
/// Permutations for each series that is judged.
const PERMUTATIONS_EACH: usize = 200;
/// Points of which memory can be told, and its level.
const FEWEST_FOR_MEMORY: usize = 20;
const MEMORY_ALPHA: f64 = 0.01;
/// Trials on each side of a change whose facts are compared: a level may have many thousands.
pub const TRIALS_BESIDE: usize = 100;

/// A trial, and the point of the history that it belongs to: its kernel, its day, its label.
#[derive(Clone, Debug)]
pub struct Dated {
    /// The name of the point.
    pub key: String,
    /// The trial.
    pub trial: Trial,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct HistoryTerms {
    /// This metric only, by its full name; otherwise those that decide comparisons.
    pub metric: Option<String>,
    /// The variant to which the others are put in relation, round by round.
    pub anchor: Option<String>,
}

/// Every series there is.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The series, by workload, job, variant and metric as they first occur.
    pub series: Vec<Series>,
    /// Trials that are in no series: they did not complete, or have no partner in their round.
    pub left_out: usize,
}

/// A metric of one job on one variant, point by point.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The workload.
    pub workload: String,
    /// Classic or native.
    pub mode: Mode,
    /// The parameters that tell the job from others of the workload; may be empty.
    pub job: String,
    /// The variant of the plan, or the filesystem.
    pub variant: String,
    /// The full name of the metric.
    pub metric: String,
    /// The unit of the values; ratios to an anchor have none.
    pub unit: Unit,
    /// Its better direction.
    pub better: Better,
    /// The points in the order of time.
    pub points: Vec<Point>,
    /// The changes of level, in the order of time.
    pub shifts: Vec<Shift>,
    /// The changes of the environment, in the order of time; empty until [`explain()`] is called.
    pub environment: Vec<EnvironmentChange>,
    /// That the newest point is out of line with its level.
    pub suspect: Option<Suspect>,
    /// That the scatter of the points changed.
    pub noise: Option<Noise>,
    /// Whether points depend on their neighbours: then changes are found too often.
    pub has_memory: bool,
}

/// Facts that are others from a point on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// The first point that has them, from 0.
    pub index: usize,
    /// The facts, by the first trials of this point and of the one before.
    pub facts: Vec<ChangedFact>,
}

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its name.
    pub key: String,
    /// When its first trial began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Its trials in the order of time, one at least.
    pub trials: Vec<TrialId>,
    /// The geometric mean of its trials; with an anchor of their ratios.
    pub value: f64,
    /// The 95 % interval of `value`, by the scatter within all points; `None` where no point has
    /// two trials.
    pub interval: Option<(f64, f64)>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// The first point of the new level, from 0.
    pub index: usize,
    /// The first and the last point at which it may have begun, at 95 %.
    pub between: (usize, usize),
    /// The new level by the old one.
    pub ratio: f64,
    /// The 95 % interval of `ratio`.
    pub interval: Option<(f64, f64)>,
    /// The p of its place among permutations.
    pub p_value: f64,
    /// Whether the new level is worse.
    pub is_worse: bool,
    /// Trials of the levels before and after it: all, or [`TRIALS_BESIDE`] spread over the level.
    pub beside: (Vec<TrialId>, Vec<TrialId>),
    /// What else changed there, most telling first; empty until [`explain()`] is called.
    pub facts: Vec<ChangedFact>,
}

/// The newest point, out of line with the level before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// It by its level.
    pub ratio: f64,
    /// The p of a prediction from the level.
    pub p_value: f64,
    /// Whether it is worse.
    pub is_worse: bool,
    /// So many more points decide whether it is a new level.
    pub points_needed: usize,
}

/// A change of the scatter.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The first point of the new scatter, from 0.
    pub index: usize,
    /// The new scatter by the old one.
    pub ratio: f64,
}

/// The histories of these trials.
///
/// # Errors
/// When a metric has a value that no logarithm has, or a history is too long.
pub fn history(trials: &[Dated], terms: &HistoryTerms) -> Result<History, StatsError> {
    let (gathered, left_out) = gather(trials, terms);
    let judged = gathered.iter().filter(|one| one.points.len() >= FEWEST_POINTS).count().max(1);
    let series: Result<Vec<Series>, StatsError> =
        gathered.into_iter().map(|one| series(one, judged)).collect();
    Ok(History { series: series?, left_out })
}

fn series(gathered: Gathered<'_>, judged: usize) -> Result<Series, StatsError> {
    let logs: Vec<HistoryPoint> = gathered.logs();
    let error = logs.first().map_or(0.0, |one| one.standard_error);
    let points = gathered.points.iter().zip(&logs).map(|(point, log)| {
        let half = half_width(log.standard_error);
        Point {
            key: point.key.to_owned(),
            started_unix_ms: point.started_unix_ms,
            trials: point.trials.iter().map(|trial| trial.beginning.trial).collect(),
            value: log.value.exp(),
            interval: (error > 0.0).then(|| ((log.value - half).exp(), (log.value + half).exp())),
        }
    });
    let mut series = Series {
        workload: gathered.workload.to_owned(),
        mode: gathered.mode,
        job: gathered.job.clone(),
        variant: gathered.variant.to_owned(),
        metric: gathered.metric.clone(),
        unit: gathered.unit,
        better: gathered.better,
        points: points.collect(),
        shifts: Vec::new(),
        environment: Vec::new(),
        suspect: None,
        noise: None,
        has_memory: false,
    };
    if logs.len() >= FEWEST_POINTS {
        judge(&mut series, &gathered, &logs, judged)?;
    }
    Ok(series)
}

/// Looks for changes; `judged` series are looked at, so each is given its share of the level.
fn judge(
    series: &mut Series,
    gathered: &Gathered<'_>,
    logs: &[HistoryPoint],
    judged: usize,
) -> Result<(), StatsError> {
    let alpha = SHIFT_PLAN.alpha / judged as f64;
    // Enough of them that the smallest p is far below what is asked.
    let permutations = SHIFT_PLAN.permutations.max(PERMUTATIONS_EACH * judged);
    let plan = ChangePointPlan { alpha, permutations, ..SHIFT_PLAN };
    let is_worse = |change: f64| (change > 0.0) == (series.better == Better::Lower);
    let found = level_shifts(logs, &plan)?;
    let starts: Vec<usize> = found.iter().map(|shift| shift.index).collect();
    let ends = |at: usize| {
        let before = if at == 0 { 0 } else { starts[at - 1] };
        (before, starts.get(at + 1).copied().unwrap_or(logs.len()))
    };
    let shifts = found.iter().enumerate().map(|(at, shift)| {
        let (before, after) = ends(at);
        Shift {
            index: shift.index,
            between: shift.between,
            ratio: shift.change.exp(),
            interval: shift.interval.map(|it| (it.low.exp(), it.high.exp())),
            p_value: shift.p_value,
            is_worse: is_worse(shift.change),
            beside: beside(gathered, before..shift.index, shift.index..after),
            facts: Vec::new(),
        }
    });
    let shifts: Vec<Shift> = shifts.collect();
    let level = starts.last().copied().unwrap_or(0);
    let suspect = newest_differs(&logs[level..]).filter(|newest| newest.p_value <= alpha);
    series.suspect = suspect.map(|newest| Suspect {
        ratio: newest.change.exp(),
        p_value: newest.p_value,
        is_worse: is_worse(newest.change),
        points_needed: SHIFT_PLAN.fewest - 1,
    });
    series.noise = noise_shift(logs, &starts, &plan)?
        .map(|noise| Noise { index: noise.index, ratio: noise.ratio });
    let residuals = treering_stats::residuals(logs, &starts);
    series.has_memory = residuals.len() >= FEWEST_FOR_MEMORY
        && ljung_box(&residuals, residuals.len().min(10) / 2)
            .is_ok_and(|test| test.p_value < MEMORY_ALPHA);
    series.shifts = shifts;
    Ok(())
}

/// The trials on both sides of a change; of many so many, evenly spread over the level.
fn beside(
    gathered: &Gathered<'_>,
    before: Range<usize>,
    after: Range<usize>,
) -> (Vec<TrialId>, Vec<TrialId>) {
    let trials = |range: Range<usize>| -> Vec<TrialId> {
        let points = gathered.points[range].iter();
        let all = points.flat_map(|point| point.trials.iter().map(|trial| trial.beginning.trial));
        let all: Vec<TrialId> = all.collect();
        let shown = all.len().min(TRIALS_BESIDE);
        (0..shown).map(|number| all[number * all.len() / shown]).collect()
    };
    (trials(before), trials(after))
}
