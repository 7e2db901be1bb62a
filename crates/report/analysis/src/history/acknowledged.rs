//! Acknowledged changes of level and trends, stored as annotations of the trials of their first
//! point.
//!
//! An acknowledgement covers a change of the same metric and anchor, in the same direction, at most
//! twice as large, and at most two points away, as a change may move when points are added. That of
//! a trend covers one at most twice as steep that begins before the acknowledged one had its newest
//! point, and the levels that are parts of it.

use treering_model::{Acknowledgement, Annotation, TrialId};

use super::gather::GatheredSeries;
use super::{HistorySeries, HistoryTrend, LevelShift, steps};

/// Largest number of points by which a change may have moved.
const MOVED_MOST: usize = 2;
/// Largest factor by which a change may have grown, or a trend be steeper, on the scale of
/// logarithms.
const GROWN_MOST: u64 = 2;

/// Acknowledgement of a change of level or of a trend, as found on trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownChange {
    /// Acknowledgement with its reason.
    pub acknowledgement: Acknowledgement,
    /// Trials that carry the acknowledgement.
    pub trials: Vec<TrialId>,
}

/// Creates the acknowledgement of a change in a series, with the reason.
pub fn acknowledgement(
    series: &HistorySeries,
    shift: &LevelShift,
    anchor: Option<&str>,
    reason: &str,
) -> Acknowledgement {
    of_series(series, (shift.ratio, None), anchor, reason)
}

/// Creates the acknowledgement of a trend of a series, with the reason.
pub fn trend_acknowledgement(
    series: &HistorySeries,
    trend: &HistoryTrend,
    anchor: Option<&str>,
    reason: &str,
) -> Acknowledgement {
    let points = (series.points.len() - trend.index) as u64;
    of_series(series, (trend.ratio, Some(points)), anchor, reason)
}

fn of_series(
    series: &HistorySeries,
    (ratio, trend_points): (f64, Option<u64>),
    anchor: Option<&str>,
    reason: &str,
) -> Acknowledgement {
    Acknowledgement {
        metric: series.metric.clone(),
        anchor: anchor.unwrap_or_default().to_owned(),
        log_ratio_millionths: Acknowledgement::millionths(ratio),
        trend_points,
        reason: reason.to_owned(),
    }
}

/// Marks the acknowledged changes of a series, and its trend if it is known. Each acknowledgement
/// marks the nearest change, and each change is marked once.
pub(super) fn mark(
    series: &mut HistorySeries,
    gathered: &GatheredSeries<'_>,
    anchor: Option<&str>,
) {
    let known = known_changes(series, gathered, anchor.unwrap_or_default());
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (number, (place, change)) in known.iter().enumerate() {
        for (at, shift) in series.shifts.iter().enumerate() {
            let moved = shift.index.abs_diff(*place);
            if moved <= MOVED_MOST && is_same_change(shift, &change.acknowledgement) {
                pairs.push((moved, at, number));
            }
        }
    }
    pairs.sort_unstable();
    let mut is_used = vec![false; known.len()];
    for (_, at, number) in pairs {
        if series.shifts[at].known.is_none() && !is_used[number] {
            series.shifts[at].known = Some(known[number].1.clone());
            is_used[number] = true;
        }
    }
    mark_trend(series, &known);
}

/// Marks the trend of a series, and the levels that are parts of it, if it is acknowledged.
fn mark_trend(series: &mut HistorySeries, known: &[(usize, KnownChange)]) {
    let count = series.points.len();
    let Some(trend) = &mut series.trend else { return };
    let acknowledged = known
        .iter()
        .rev()
        .find(|(place, change)| is_same_trend(trend, count, *place, &change.acknowledgement));
    let Some((_, change)) = acknowledged else { return };
    trend.known = Some(change.clone());
    let trend = trend.clone();
    let starts: Vec<usize> = series.shifts.iter().map(|shift| shift.index).collect();
    for (at, shift) in series.shifts.iter_mut().enumerate() {
        let before = if at == 0 { 0 } else { starts[at - 1] }.max(trend.index);
        let after = starts.get(at + 1).copied().unwrap_or(count);
        let by_trend = trend.log_step(count) * (after - before) as f64 / 2.0;
        if shift.index > trend.index && shift.known.is_none() && is_part(shift, by_trend) {
            shift.known = Some(change.clone());
        }
    }
}

/// Reports whether a trend, of a series with `count` points, is the one acknowledged at the point
/// `place`.
fn is_same_trend(
    trend: &HistoryTrend,
    count: usize,
    place: usize,
    known: &Acknowledgement,
) -> bool {
    let Some(points) = known.trend_points.and_then(|points| usize::try_from(points).ok()) else {
        return false;
    };
    let size = Acknowledgement::millionths(trend.ratio);
    let most = known.log_ratio_millionths.unsigned_abs().saturating_mul(GROWN_MOST) as f64;
    (size > 0) == (known.log_ratio_millionths > 0)
        && trend.index < place.saturating_add(points)
        && size.unsigned_abs() as f64 / steps(count - trend.index) <= most / steps(points)
}

/// Reports whether a change of level is no larger, by its interval, than the change `by_trend` (a
/// logarithm) of a trend in the same direction makes it.
fn is_part(shift: &LevelShift, by_trend: f64) -> bool {
    let is_upward = by_trend > 0.0;
    let nearest =
        shift.interval.map_or(shift.ratio, |(low, high)| if is_upward { low } else { high });
    (shift.ratio > 1.0) == is_upward && nearest.ln() * by_trend.signum() <= by_trend.abs()
}

/// Acknowledgements on the trials of a series, with the indices of their points.
fn known_changes(
    series: &HistorySeries,
    gathered: &GatheredSeries<'_>,
    anchor: &str,
) -> Vec<(usize, KnownChange)> {
    let mut known: Vec<(usize, KnownChange)> = Vec::new();
    for (place, point) in gathered.points.iter().enumerate() {
        for trial in &point.trials {
            let of_trial = Annotation::acknowledgements(&trial.annotations);
            let is_own = |change: &&Acknowledgement| {
                change.metric == series.metric && change.anchor == anchor
            };
            for change in of_trial.into_iter().filter(is_own) {
                let id = trial.beginning.trial;
                let is_there = |(at, other): &&mut (usize, KnownChange)| {
                    *at == place && other.acknowledgement == *change
                };
                match known.iter_mut().find(is_there) {
                    Some((_, other)) => other.trials.push(id),
                    None => {
                        let acknowledgement = change.clone();
                        known.push((place, KnownChange { acknowledgement, trials: vec![id] }));
                    }
                }
            }
        }
    }
    known
}

fn is_same_change(shift: &LevelShift, known: &Acknowledgement) -> bool {
    if known.trend_points.is_some() {
        return false;
    }
    let size = Acknowledgement::millionths(shift.ratio);
    let most = known.log_ratio_millionths.unsigned_abs().saturating_mul(GROWN_MOST);
    (size > 0) == (known.log_ratio_millionths > 0) && size.unsigned_abs() <= most
}
