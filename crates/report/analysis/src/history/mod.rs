//! Histories: the same measurement repeated over kernels or days. Finds changes of level, their
//! suspects, and a newest point that is out of line.
//!
//! The caller decides which trials make a point; pages are laid out elsewhere.
//! `docs/evidence/history.md` describes the method, and its errors by simulation.

mod anchor;
mod explain;
mod facts;
mod gather;

use std::ops::Range;

use treering_model::{BetterDirection, RunMode, Trial, TrialId, Unit};
use treering_stats::{
    ChangePointPlan, HistoryPoint, SHIFT_PLAN, StatsError, level_shifts, ljung_box, newest_differs,
    noise_shift,
};

pub use anchor::{AnchorChanges, anchor_changes};
pub use explain::explain;
pub use facts::ChangedFact;
use gather::{GatheredSeries, gather, half_width};

/// Minimum number of points for any judgement.
pub const FEWEST_POINTS: usize = 6;
/// Number of permutations for each judged series.
const PERMUTATIONS_EACH: usize = 200;
/// Minimum number of points for the autocorrelation test, and its significance level.
const FEWEST_FOR_MEMORY: usize = 20;
const MEMORY_ALPHA: f64 = 0.01;
/// Maximum number of trials on each side of a change whose facts are compared: a level may have
/// thousands.
pub const TRIALS_BESIDE: usize = 100;

/// A trial with the history point it belongs to: its kernel, day or label.
#[derive(Clone, Debug)]
pub struct DatedTrial {
    /// Name of the point.
    pub key: String,
    /// Trial that contributes to the point.
    pub trial: Trial,
}

/// Parameters of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryTerms {
    /// Full name of the only metric to examine; `None` for the primary metrics.
    pub metric: Option<String>,
    /// Variant that the others are divided by, round by round.
    pub anchor: Option<String>,
}

/// All series of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Series by workload, job, variant and metric, in order of first occurrence.
    pub series: Vec<HistorySeries>,
    /// Number of trials in no series: not completed, or without a partner in their round.
    pub left_out: usize,
}

/// A metric of one job on one variant, point by point.
#[derive(Clone, Debug, PartialEq)]
pub struct HistorySeries {
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// Parameters that distinguish the job from others of the workload; may be empty.
    pub job: String,
    /// Variant of the plan, or the filesystem type.
    pub variant: String,
    /// Full name of the metric.
    pub metric: String,
    /// Unit of the values; a ratio to an anchor has none.
    pub unit: Unit,
    /// Direction in which the metric is better.
    pub better: BetterDirection,
    /// Points in time order.
    pub points: Vec<SeriesPoint>,
    /// Changes of level in time order.
    pub shifts: Vec<LevelShift>,
    /// Changes of the environment in time order; empty until [`explain()`] is called.
    pub environment: Vec<EnvironmentChange>,
    /// Newest point, if it is out of line with its level.
    pub suspect: Option<SuspectPoint>,
    /// Change of the scatter between points, if there is one.
    pub noise: Option<NoiseChange>,
    /// True when neighbouring points are correlated, which makes changes be reported too often.
    pub has_memory: bool,
}

/// Facts that changed at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// Index of the first point with the new values, from 0.
    pub index: usize,
    /// Changed facts, from the first trials of this point and the one before.
    pub facts: Vec<ChangedFact>,
}

/// One point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Name of the point.
    pub key: String,
    /// Start of its first trial, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Ids of its trials in time order, at least one.
    pub trials: Vec<TrialId>,
    /// Geometric mean of its trials' values, or of their ratios to the anchor.
    pub value: f64,
    /// 95 % interval of `value` from the pooled scatter; `None` when no point has two trials.
    pub interval: Option<(f64, f64)>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelShift {
    /// Index of the first point of the new level, from 0.
    pub index: usize,
    /// 95 % confidence interval of `index`: first and last possible point.
    pub between: (usize, usize),
    /// Ratio new level / old level.
    pub ratio: f64,
    /// 95 % confidence interval of `ratio`.
    pub interval: Option<(f64, f64)>,
    /// p-value from the permutation test.
    pub p_value: f64,
    /// True when the new level is worse.
    pub is_worse: bool,
    /// Trials of the levels before and after: all, or [`TRIALS_BESIDE`] evenly spread over the
    /// level.
    pub beside: (Vec<TrialId>, Vec<TrialId>),
    /// Other facts that changed there, the most telling first; empty until [`explain()`] is called.
    pub facts: Vec<ChangedFact>,
}

/// Newest point that is out of line with the level before it.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspectPoint {
    /// Ratio of the point to its level.
    pub ratio: f64,
    /// p-value of the point as a prediction from the level.
    pub p_value: f64,
    /// True when the point is worse than its level.
    pub is_worse: bool,
    /// Number of further points needed to decide whether a new level has begun.
    pub points_needed: usize,
}

/// A change of the scatter.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseChange {
    /// Index of the first point with the new scatter, from 0.
    pub index: usize,
    /// Ratio new scatter / old scatter.
    pub ratio: f64,
}

/// Computes the histories of the trials.
///
/// # Errors
/// If a value has no logarithm, or a history is too long.
pub fn history(trials: &[DatedTrial], terms: &HistoryTerms) -> Result<History, StatsError> {
    let (gathered, left_out) = gather(trials, terms);
    let judged = gathered
        .iter()
        .filter(|gathered_series| gathered_series.points.len() >= FEWEST_POINTS)
        .count()
        .max(1);
    let series: Result<Vec<HistorySeries>, StatsError> =
        gathered.into_iter().map(|gathered_series| series(gathered_series, judged)).collect();
    Ok(History { series: series?, left_out })
}

fn series(gathered: GatheredSeries<'_>, judged: usize) -> Result<HistorySeries, StatsError> {
    let logs: Vec<HistoryPoint> = gathered.logs();
    let error = logs.first().map_or(0.0, |log_value| log_value.standard_error);
    let points = gathered.points.iter().zip(&logs).map(|(point, log)| {
        let half = half_width(log.standard_error);
        SeriesPoint {
            key: point.key.to_owned(),
            started_unix_ms: point.started_unix_ms,
            trials: point.trials.iter().map(|trial| trial.beginning.trial).collect(),
            value: log.value.exp(),
            interval: (error > 0.0).then(|| ((log.value - half).exp(), (log.value + half).exp())),
        }
    });
    let mut series = HistorySeries {
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

/// Searches a series for changes; the level is divided among the `judged` series.
fn judge(
    series: &mut HistorySeries,
    gathered: &GatheredSeries<'_>,
    logs: &[HistoryPoint],
    judged: usize,
) -> Result<(), StatsError> {
    let alpha = SHIFT_PLAN.alpha / judged as f64;
    // Enough permutations that the smallest possible p is far below the level.
    let permutations = SHIFT_PLAN.permutations.max(PERMUTATIONS_EACH * judged);
    let plan = ChangePointPlan { alpha, permutations, ..SHIFT_PLAN };
    let is_worse = |change: f64| (change > 0.0) == (series.better == BetterDirection::Lower);
    let shifts = level_shifts(logs, &plan)?;
    let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
    let ends = |at: usize| {
        let before = if at == 0 { 0 } else { starts[at - 1] };
        (before, starts.get(at + 1).copied().unwrap_or(logs.len()))
    };
    let shifts = shifts.iter().enumerate().map(|(at, shift)| {
        let (before, after) = ends(at);
        LevelShift {
            index: shift.index,
            between: shift.between,
            ratio: shift.change.exp(),
            interval: shift
                .interval
                .map(|log_interval| (log_interval.low.exp(), log_interval.high.exp())),
            p_value: shift.p_value,
            is_worse: is_worse(shift.change),
            beside: beside(gathered, before..shift.index, shift.index..after),
            facts: Vec::new(),
        }
    });
    let shifts: Vec<LevelShift> = shifts.collect();
    let level = starts.last().copied().unwrap_or(0);
    let suspect = newest_differs(&logs[level..]).filter(|newest| newest.p_value <= alpha);
    series.suspect = suspect.map(|newest| SuspectPoint {
        ratio: newest.change.exp(),
        p_value: newest.p_value,
        is_worse: is_worse(newest.change),
        points_needed: SHIFT_PLAN.fewest - 1,
    });
    series.noise = noise_shift(logs, &starts, &plan)?
        .map(|noise| NoiseChange { index: noise.index, ratio: noise.ratio });
    let residuals = treering_stats::residuals(logs, &starts);
    series.has_memory = residuals.len() >= FEWEST_FOR_MEMORY
        && ljung_box(&residuals, residuals.len().min(10) / 2)
            .is_ok_and(|test| test.p_value < MEMORY_ALPHA);
    series.shifts = shifts;
    Ok(())
}

/// Trials on both sides of a change; if many, [`TRIALS_BESIDE`] evenly spread over the level.
fn beside(
    gathered: &GatheredSeries<'_>,
    before: Range<usize>,
    after: Range<usize>,
) -> (Vec<TrialId>, Vec<TrialId>) {
    let trials = |range: Range<usize>| -> Vec<TrialId> {
        let points = gathered.points[range].iter();
        let ids = points.flat_map(|point| point.trials.iter().map(|trial| trial.beginning.trial));
        let ids: Vec<TrialId> = ids.collect();
        let shown = ids.len().min(TRIALS_BESIDE);
        (0..shown).map(|number| ids[number * ids.len() / shown]).collect()
    };
    (trials(before), trials(after))
}
