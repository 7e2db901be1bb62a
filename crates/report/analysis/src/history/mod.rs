//! Histories: the same measurement repeated over kernels or days. Finds changes of level, facts
//! that may explain them, and a newest point that is out of line.
//!
//! The caller assigns trials to points. `docs/evidence/history.md` describes the method, and its
//! errors by simulation. Not here: the layout of pages.

mod acknowledged;
mod anchor;
mod explain;
mod facts;
mod gate;
mod gather;

use std::ops::Range;

use treering_model::{BetterDirection, RunMode, Trial, TrialId, Unit};
use treering_stats::{
    ChangePointPlan, HistoryPoint, NOISE_PLAN, NewestPoint, SHIFT_PLAN, SeriesMemory, ShiftPlan,
    StatsError, history_memory, lasting_trend, level_shifts, newest_differs, noise_shift,
    points_to_decide,
};

pub use acknowledged::{KnownChange, acknowledgement, trend_acknowledgement};
pub use anchor::{AnchorChanges, anchor_changes};
pub use explain::explain;
pub use facts::ChangedFact;
pub use gate::{HistoryChange, HistoryGate};
use gather::{GatheredSeries, SeriesScale, gather, half_width};

/// Minimum number of points for any judgement.
pub const FEWEST_POINTS: usize = 6;
/// Number of permutations for each judged series.
const PERMUTATIONS_EACH: usize = 200;
/// Largest p-value at which the newest point is suspect, in one series.
const SUSPECT_ALPHA: f64 = 0.03;
/// Largest p-value of a trend, in one series.
const TREND_ALPHA: f64 = 0.01;
/// Maximum number of simulated further points to find how many would decide about a suspect.
const MOST_FURTHER_POINTS: usize = 30;
/// Maximum number of trials on each side of a change whose facts are compared, since a level may
/// have thousands.
pub const ADJACENT_TRIALS_MAX: usize = 100;

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
    /// Variant by which the values of the others are divided, round by round.
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
    /// Unit of the values; meaningless for ratios to an anchor.
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
    /// Trend that goes on to the newest point, if there is one.
    pub trend: Option<HistoryTrend>,
    /// Change of the scatter between points, if there is one.
    pub noise: Option<NoiseChange>,
    /// Correlation of neighbouring points, which causes false changes; `None` for series that are
    /// not judged.
    pub memory: Option<SeriesMemory>,
}

/// Facts that changed at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// Index of the first point with the new values, from 0.
    pub index: usize,
    /// Changed facts, from the first trials of this point and of the one before.
    pub facts: Vec<ChangedFact>,
}

/// Point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Name of the point.
    pub key: String,
    /// Start of its first trial, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Ids of the trials of the point in time order, at least one.
    pub trials: Vec<TrialId>,
    /// Geometric mean of its trials' values, or of their ratios to the anchor.
    pub value: f64,
    /// 95 % interval of `value` from the pooled scatter; `None` when no point has two trials.
    pub interval: Option<(f64, f64)>,
    /// Address of a page about the point, such as its commit.
    pub link: Option<String>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelShift {
    /// Index of the first point of the new level, from 0.
    pub index: usize,
    /// 95 % confidence interval of `index`: first and last possible point.
    pub between: (usize, usize),
    /// Old level and new level, in the unit of the series.
    pub levels: (f64, f64),
    /// Ratio new level / old level; infinite if the old level is zero.
    pub ratio: f64,
    /// 95 % confidence interval of `ratio`.
    pub interval: Option<(f64, f64)>,
    /// p-value of the difference of the levels, multiplied by the number of points at which the new
    /// level could have begun.
    pub p_value: f64,
    /// True when the new level is worse.
    pub is_worse: bool,
    /// Trials of the levels before and after: all, or [`ADJACENT_TRIALS_MAX`] evenly spread over
    /// the level.
    pub adjacent_trials: (Vec<TrialId>, Vec<TrialId>),
    /// Other facts that changed at this point, the most relevant first; empty until [`explain()`]
    /// is called.
    pub facts: Vec<ChangedFact>,
    /// Acknowledgement of the change, if it is known.
    pub known: Option<KnownChange>,
}

impl LevelShift {
    /// True if the new level may have begun within the newest `recent` of `points` points.
    pub fn is_recent(&self, points: usize, recent: usize) -> bool {
        self.between.1.max(self.index) + recent >= points
    }

    /// True for a change for the worse that nobody has acknowledged.
    pub(crate) fn is_alarming(&self) -> bool {
        self.is_worse && self.known.is_none()
    }
}

/// Newest point that is out of line with the level before it.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspectPoint {
    /// Level before the point, in the unit of the series.
    pub level: f64,
    /// Ratio of the point to its level; infinite if the level is zero.
    pub ratio: f64,
    /// p-value of the point as a prediction from the level.
    pub p_value: f64,
    /// True when the point is worse than its level.
    pub is_worse: bool,
    /// Number of similar further points after which a new level would be detected; `None` if more
    /// than 30 would be needed.
    pub points_needed: Option<usize>,
}

/// Trend: a level that moves with each point, up to the newest.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryTrend {
    /// Index of its first point, from 0.
    pub index: usize,
    /// The line at its first and at the newest point, in the unit of the series.
    pub levels: (f64, f64),
    /// Ratio of both; infinite if the first is zero.
    pub ratio: f64,
    /// 95 % confidence interval of `ratio`.
    pub interval: Option<(f64, f64)>,
    /// p-value of the slope for points that are correlated as these are.
    pub p_value: f64,
    /// True when the newer points are worse.
    pub is_worse: bool,
    /// Acknowledgement of the trend, if it is known.
    pub known: Option<KnownChange>,
}

impl HistoryTrend {
    /// Mean change from point to point of a series with `count` points, as a logarithm; not a
    /// number where the level passes zero.
    fn log_step(&self, count: usize) -> f64 {
        self.ratio.ln() / steps(count - self.index)
    }
}

/// Number of steps between so many points, at least 1.
fn steps(points: usize) -> f64 {
    points.saturating_sub(1).max(1) as f64
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
        gathered.into_iter().map(|of_series| series(of_series, judged, terms)).collect();
    Ok(History { series: series?, left_out })
}

fn series(
    gathered: GatheredSeries<'_>,
    judged: usize,
    terms: &HistoryTerms,
) -> Result<HistorySeries, StatsError> {
    let scale = gathered.scale();
    let placed: Vec<HistoryPoint> = gathered.history_points(scale);
    let error = placed.first().map_or(0.0, |placed| placed.standard_error);
    let points = gathered.points.iter().zip(&placed).map(|(point, placed)| {
        let half = half_width(placed.standard_error);
        let place = scale.level(placed.value, std::slice::from_ref(point));
        let [mean, low, high] = [0.0, -half, half].map(|off| scale.value(place + off));
        let value = if let [only] = point.values[..] { only } else { mean };
        SeriesPoint {
            key: point.key.to_owned(),
            started_unix_ms: point.started_unix_ms,
            trials: point.trials.iter().map(|trial| trial.beginning.trial).collect(),
            value,
            interval: (error > 0.0).then_some((low, high)),
            link: point.link(),
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
        trend: None,
        noise: None,
        memory: None,
    };
    if placed.len() >= FEWEST_POINTS {
        judge(&mut series, &gathered, (placed.as_slice(), scale), judged)?;
        acknowledged::mark(&mut series, &gathered, terms.anchor.as_deref());
    }
    Ok(series)
}

/// Searches a series for changes; the significance level is divided by the number of `judged`
/// series.
fn judge(
    series: &mut HistorySeries,
    gathered: &GatheredSeries<'_>,
    (points, scale): (&[HistoryPoint], SeriesScale),
    judged: usize,
) -> Result<(), StatsError> {
    let smallest_scatter = scale.smallest_scatter(gathered.trials_each());
    let plan =
        ShiftPlan { alpha: SHIFT_PLAN.alpha / judged as f64, smallest_scatter, ..SHIFT_PLAN };
    let is_worse = |change: f64| (change > 0.0) == (series.better == BetterDirection::Lower);
    let shifts = level_shifts(points, &plan)?;
    let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
    let ends = |at: usize| {
        let before = if at == 0 { 0 } else { starts[at - 1] };
        (before, starts.get(at + 1).copied().unwrap_or(points.len()))
    };
    let shifts = shifts.iter().enumerate().map(|(at, shift)| {
        let (before, after) = ends(at);
        let (old, new) = scale.levels(
            shift,
            &gathered.points[before..shift.index],
            &gathered.points[shift.index..after],
        );
        let ratio = |change: f64| scale.ratio(old, old + change, shift.interval);
        let interval = shift.interval.map(|change| (ratio(change.low), ratio(change.high)));
        LevelShift {
            index: shift.index,
            between: shift.between,
            levels: (scale.value(old), scale.value(new)),
            ratio: ratio(new - old),
            interval: interval.filter(|(low, _)| low.is_finite()),
            p_value: shift.p_value,
            is_worse: is_worse(shift.change()),
            adjacent_trials: adjacent_trials(gathered, before..shift.index, shift.index..after),
            facts: Vec::new(),
            known: None,
        }
    });
    let shifts: Vec<LevelShift> = shifts.collect();
    let level = starts.last().copied().unwrap_or(0);
    let before = level..points.len().saturating_sub(1).max(level);
    let newest = newest_differs(&points[level..], smallest_scatter)
        .filter(|newest| newest.p_value <= SUSPECT_ALPHA / judged as f64);
    let suspect = |newest: NewestPoint| -> Result<SuspectPoint, StatsError> {
        let level_before = scale.level(newest.level, &gathered.points[before.clone()]);
        let newest_place =
            gathered.points.last().zip(points.last()).map_or(level_before, |(own, placed)| {
                scale.level(placed.value, std::slice::from_ref(own))
            });
        Ok(SuspectPoint {
            level: scale.value(level_before),
            ratio: scale.ratio(level_before, newest_place, None),
            p_value: newest.p_value,
            is_worse: is_worse(newest.change),
            points_needed: points_to_decide(points, level, &newest, &plan, MOST_FURTHER_POINTS)?,
        })
    };
    series.suspect = newest.map(suspect).transpose()?;
    series.trend = trend(points, &starts, scale, judged)?
        .map(|trend| HistoryTrend { is_worse: is_worse(trend.levels.1 - trend.levels.0), ..trend });
    series.noise = noise(points, &starts, judged)?;
    series.memory = history_memory(points, &starts);
    series.shifts = shifts;
    Ok(())
}

/// Change of the scatter around the levels, which begin at `starts`.
fn noise(
    points: &[HistoryPoint],
    starts: &[usize],
    judged: usize,
) -> Result<Option<NoiseChange>, StatsError> {
    // With this number of permutations, the smallest possible p is far below the significance
    // level.
    let permutations = NOISE_PLAN.permutations.max(PERMUTATIONS_EACH * judged);
    let alpha = NOISE_PLAN.alpha / judged as f64;
    let plan = ChangePointPlan { alpha, permutations, ..NOISE_PLAN };
    let noise = noise_shift(points, starts, &plan)?;
    Ok(noise.map(|noise| NoiseChange { index: noise.index, ratio: noise.ratio }))
}

/// Trend of the points, in which levels begin at `starts`; its direction is for the caller.
fn trend(
    points: &[HistoryPoint],
    starts: &[usize],
    scale: SeriesScale,
    judged: usize,
) -> Result<Option<HistoryTrend>, StatsError> {
    let found = lasting_trend(points, starts, TREND_ALPHA / judged as f64)?;
    let trend = found.map(|trend| {
        let (first, last) = trend.ends;
        let ratio = |change: f64| scale.ratio(first, first + change, trend.interval);
        let interval = trend.interval.map(|change| (ratio(change.low), ratio(change.high)));
        HistoryTrend {
            index: trend.start,
            levels: (scale.value(first), scale.value(last)),
            ratio: ratio(trend.change()),
            interval: interval.filter(|(low, _)| low.is_finite()),
            p_value: trend.p_value,
            is_worse: false,
            known: None,
        }
    });
    Ok(trend)
}

/// Trials on both sides of a change; if many, [`ADJACENT_TRIALS_MAX`] evenly spread over the level.
fn adjacent_trials(
    gathered: &GatheredSeries<'_>,
    before: Range<usize>,
    after: Range<usize>,
) -> (Vec<TrialId>, Vec<TrialId>) {
    let trials = |range: Range<usize>| -> Vec<TrialId> {
        let points = gathered.points[range].iter();
        let ids = points.flat_map(|point| point.trials.iter().map(|trial| trial.beginning.trial));
        let ids: Vec<TrialId> = ids.collect();
        let shown = ids.len().min(ADJACENT_TRIALS_MAX);
        (0..shown).map(|number| ids[number * ids.len() / shown]).collect()
    };
    (trials(before), trials(after))
}
