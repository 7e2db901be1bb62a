//! Level shifts in a history of measurements, each with its own uncertainty and months apart.
//!
//! Not here: finding the places (`change_point`), and what to call them. Points are
//! weighted by their precision. `docs/evidence/history.md` compares the method with others, by
//! simulation.
//!
//! Source of the interval of a place: Eo & Morley, Quantitative Economics 6, 2015.

use crate::distribution::{t_quantile, t_two_sided};
use crate::error::StatsError;
use crate::input::require_finite;
use crate::interval::{Interval, IntervalMethod};
use crate::quantile::median;
use crate::series::change_point::{
    ChangePointPlan, WeightedSample, change_points, change_points_of,
};

/// Distance in robust standard deviations beyond which deviations are winsorized when a level is
/// estimated.
const DRAWN_IN_BEYOND: f64 = 3.0;
/// Ratio of standard deviation and median absolute deviation of a normal distribution.
const BY_MEDIAN_DEVIATION: f64 = 1.4826;
/// One measurement of a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryPoint {
    /// Value on the working scale: logarithm of a metric, or log ratio to an anchor.
    pub value: f64,
    /// Standard error on that scale; 0 if unknown.
    pub standard_error: f64,
}

/// Search plan for level shifts: levels of at least three points, with a p-value limit that keeps
/// the chance of any false shift in a series below .05.
pub const SHIFT_PLAN: ChangePointPlan =
    ChangePointPlan { alpha: 0.03, permutations: 999, fewest: 3, most_changes: 20, seed: 1 };

/// Detected level shift.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelShift {
    /// Index of the first point of the new level, from 0.
    pub index: usize,
    /// First and last index, inclusive, at which the new level may have begun (95 %).
    pub between: (usize, usize),
    /// New level minus old level, on the working scale.
    pub change: f64,
    /// 95 % interval of `change`; `None` if all points of both levels are equal.
    pub interval: Option<Interval>,
    /// Permutation p-value of the split within its segment.
    pub p_value: f64,
}

/// Detects the level shifts of a history, in order of position.
///
/// # Errors
/// If a value or a standard error is not finite, the history is longer than
/// [`crate::LONGEST_CHANGE_SERIES`], or the plan is out of range.
pub fn level_shifts(
    points: &[HistoryPoint],
    plan: &ChangePointPlan,
) -> Result<Vec<LevelShift>, StatsError> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let errors: Vec<f64> = points.iter().map(|point| point.standard_error).collect();
    require_finite(&values)?;
    require_finite(&errors)?;
    let weights = weights(&values, &errors);
    let samples =
        values.iter().zip(weights).map(|(&value, weight)| WeightedSample { value, weight });
    let samples: Vec<WeightedSample> = samples.collect();
    let changes = change_points_of(&samples, plan)?;
    let inner = changes.iter().map(|change| change.index);
    let ends: Vec<usize> = [0].into_iter().chain(inner).chain([samples.len()]).collect();
    let shifts = changes.iter().zip(ends.windows(3)).map(|(change, ends)| {
        let before = LevelEstimate::from_points(&samples[ends[0]..ends[1]]);
        let after = LevelEstimate::from_points(&samples[ends[1]..ends[2]]);
        let (first, last) = places(&samples[ends[0]..ends[2]], change.index - ends[0]);
        LevelShift {
            index: change.index,
            between: (ends[0] + first, ends[0] + last),
            change: after.mean - before.mean,
            interval: before.interval_to(&after),
            p_value: change.p_value,
        }
    });
    Ok(shifts.collect())
}

/// Precision weights from the points' standard errors and the excess scatter; equal if both are
/// unknown.
fn weights(values: &[f64], errors: &[f64]) -> Vec<f64> {
    let squared: Vec<f64> = errors.iter().map(|error| error * error).collect();
    let own = median(&squared).unwrap_or(0.0);
    let beyond = (scatter(values).powi(2) - own).max(0.0);
    let typical = beyond + own;
    if typical <= 0.0 {
        return vec![1.0; values.len()];
    }
    // The clamp keeps points with tiny standard errors from dominating, and all others from
    // vanishing.
    let weight = |error: &f64| (typical / (beyond + error)).clamp(0.01, 10.0);
    squared.iter().map(weight).collect()
}

/// Standard deviation of the points around their levels, estimated from differences between
/// neighbours, of which few contain a shift.
fn scatter(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&steps).unwrap_or(0.0) * BY_MEDIAN_DEVIATION / std::f64::consts::SQRT_2
}

/// Points of a level with outliers winsorized.
fn drawn_in(points: &[WeightedSample]) -> Vec<WeightedSample> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let centre = median(&values).unwrap_or(0.0);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let reach = DRAWN_IN_BEYOND * BY_MEDIAN_DEVIATION * median(&deviations).unwrap_or(0.0);
    if reach <= 0.0 {
        return points.to_vec();
    }
    let (low, high) = (centre - reach, centre + reach);
    points
        .iter()
        .map(|point| WeightedSample { value: point.value.clamp(low, high), ..*point })
        .collect()
}

/// First and last split that explains two adjacent levels nearly as well as this one, at 95 %.
fn places(points: &[WeightedSample], split: usize) -> (usize, usize) {
    // (1 - exp(-c / 2))^2 = .95
    const CRITICAL: f64 = 7.352;
    let around = |at: usize| {
        LevelEstimate::from_points(&points[..at]).around
            + LevelEstimate::from_points(&points[at..]).around
    };
    let best = around(split);
    let reach = CRITICAL * best / points.len().saturating_sub(2).max(1) as f64;
    let near = |at: &usize| around(*at) - best <= reach;
    let first = (1..split).rev().take_while(near).last().unwrap_or(split);
    let last = (split + 1..points.len()).take_while(near).last().unwrap_or(split);
    (first, last)
}

/// Level: weighted mean of its points, outliers winsorized.
struct LevelEstimate {
    mean: f64,
    weight: f64,
    around: f64,
    points: usize,
}

impl LevelEstimate {
    fn from_points(points: &[WeightedSample]) -> Self {
        let points = drawn_in(points);
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        let mean = points.iter().map(|point| point.weight * point.value).sum::<f64>() / weight;
        let around = points.iter().map(|p| p.weight * (p.value - mean).powi(2)).sum();
        Self { mean, weight, around, points: points.len() }
    }

    /// Interval of another level minus this one, by Student's t with their pooled scatter.
    fn interval_to(&self, other: &Self) -> Option<Interval> {
        const CONFIDENCE: f64 = 0.95;
        let freedom = (self.points + other.points).checked_sub(2).filter(|freedom| *freedom > 0)?;
        let variance = (self.around + other.around) / freedom as f64;
        if variance <= 0.0 {
            return None;
        }
        let error = (variance / self.weight + variance / other.weight).sqrt();
        let half = error * t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom as f64);
        let change = other.mean - self.mean;
        Some(Interval {
            low: change - half,
            high: change + half,
            confidence: CONFIDENCE,
            achieved: None,
            method: IntervalMethod::StudentT,
        })
    }
}

/// Comparison of the newest point with the level before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewestPoint {
    /// Point minus level, on the working scale.
    pub change: f64,
    /// Two-sided p-value of a prediction from the level's points.
    pub p_value: f64,
}

/// Compares the last point of a level with the others; `None` below four points.
pub fn newest_differs(level: &[HistoryPoint]) -> Option<NewestPoint> {
    let (newest, others) = level.split_last()?;
    if others.len() < 3 {
        return None;
    }
    let others: Vec<WeightedSample> =
        others.iter().map(|p| WeightedSample { value: p.value, weight: 1.0 }).collect();
    let level = LevelEstimate::from_points(&others);
    let (n, freedom) = (others.len() as f64, others.len() as f64 - 1.0);
    let error = (level.around / freedom * (1.0 + 1.0 / n)).sqrt();
    let change = newest.value - level.mean;
    (error > 0.0).then(|| NewestPoint { change, p_value: t_two_sided(change / error, freedom) })
}

/// Residuals of the points from the medians of their levels, which begin at `starts`.
pub fn residuals(points: &[HistoryPoint], starts: &[usize]) -> Vec<f64> {
    let ends: Vec<usize> =
        [0].into_iter().chain(starts.iter().copied()).chain([points.len()]).collect();
    let level = |pair: &[usize]| {
        let of = points.get(pair[0]..pair[1]).unwrap_or_default();
        let values: Vec<f64> = of.iter().map(|point| point.value).collect();
        let centre = median(&values).unwrap_or(0.0);
        values.into_iter().map(move |value| value - centre).collect::<Vec<f64>>()
    };
    ends.windows(2).flat_map(level).collect()
}

/// Detected change of the scatter around the levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseShift {
    /// Index of the first point with the new scatter, from 0.
    pub index: usize,
    /// New scatter over old scatter, each the median distance from the level.
    pub ratio: f64,
}

/// Detects the most significant change of scatter, if any: a level shift in the distances of the
/// points from their levels.
///
/// # Errors
/// See [`level_shifts`].
pub fn noise_shift(
    points: &[HistoryPoint],
    starts: &[usize],
    plan: &ChangePointPlan,
) -> Result<Option<NoiseShift>, StatsError> {
    let distances: Vec<f64> = residuals(points, starts).into_iter().map(f64::abs).collect();
    let changes = change_points(&distances, &ChangePointPlan { most_changes: 1, ..*plan })?;
    let shift = changes.first().and_then(|change| {
        let (before, after) = distances.split_at(change.index);
        let ratio = median(after).ok()? / median(before).ok().filter(|level| *level > 0.0)?;
        Some(NoiseShift { index: change.index, ratio })
    });
    Ok(shift)
}

#[cfg(test)]
mod tests {
    use super::{HistoryPoint, SHIFT_PLAN, level_shifts, newest_differs, noise_shift, residuals};

    /// Values that scatter by about one around a level, without chance.
    fn noise(i: u32) -> f64 {
        f64::from(i * i * 7919 % 1009) / 1009.0 * 3.4 - 1.7
    }

    fn points(count: u32, value: impl Fn(u32) -> f64) -> Vec<HistoryPoint> {
        (0..count).map(|i| HistoryPoint { value: value(i), standard_error: 0.0 }).collect()
    }

    #[test]
    fn level_shifts_have_position_and_size_with_intervals() {
        let shifted = points(60, |i| noise(i) + if i < 41 { 0.0 } else { 4.0 });
        let shifts = level_shifts(&shifted, &SHIFT_PLAN).unwrap();
        assert_eq!(shifts.len(), 1);
        assert_eq!(shifts[0].index, 41);
        assert!(shifts[0].between.0 <= 41 && shifts[0].between.1 >= 41, "{shifts:?}");
        assert!((shifts[0].change - 4.0).abs() < 0.8, "{shifts:?}");
        assert!(shifts[0].interval.unwrap().contains(4.0));
        assert!(level_shifts(&points(60, noise), &SHIFT_PLAN).unwrap().is_empty());
    }

    #[test]
    fn a_single_spike_is_no_level_shift_but_three_points_are() {
        let spike = points(60, |i| noise(i) + if i == 30 { 50.0 } else { 0.0 });
        assert!(level_shifts(&spike, &SHIFT_PLAN).unwrap().is_empty());
        let level = points(60, |i| noise(i) + if i >= 57 { 50.0 } else { 0.0 });
        let shifts = level_shifts(&level, &SHIFT_PLAN).unwrap();
        assert_eq!(shifts.iter().map(|shift| shift.index).collect::<Vec<_>>(), [57]);
    }

    #[test]
    fn points_with_large_standard_errors_have_little_weight() {
        let value = |i: u32| noise(i) + if i < 40 { 0.0 } else { 4.0 };
        let vague = |i: u32| if i < 40 { 0.1 } else { 40.0 };
        let weighted: Vec<HistoryPoint> =
            (0..50).map(|i| HistoryPoint { value: value(i), standard_error: vague(i) }).collect();
        assert!(!level_shifts(&points(50, value), &SHIFT_PLAN).unwrap().is_empty());
        assert!(level_shifts(&weighted, &SHIFT_PLAN).unwrap().is_empty());
    }

    #[test]
    fn the_newest_point_is_compared_with_its_level() {
        let mut level = points(20, noise);
        assert!(newest_differs(&level).unwrap().p_value > 0.05);
        level[19].value = 9.0;
        let newest = newest_differs(&level).unwrap();
        assert!(newest.p_value < 1e-4 && (newest.change - 9.0).abs() < 1.0, "{newest:?}");
        assert_eq!(newest_differs(&level[..3]), None);
        assert_eq!(newest_differs(&points(9, |_| 1.0)), None, "no scatter, no prediction");
    }

    #[test]
    fn growing_scatter_is_found_at_a_constant_level() {
        let louder = points(80, |i| noise(i) * if i < 40 { 1.0 } else { 6.0 });
        let shift = noise_shift(&louder, &[], &SHIFT_PLAN).unwrap().unwrap();
        assert!(shift.index.abs_diff(40) <= 8 && shift.ratio > 3.0, "{shift:?}");
        assert_eq!(noise_shift(&points(80, noise), &[], &SHIFT_PLAN).unwrap(), None);
        let stepped = points(80, |i| noise(i) + if i < 40 { 0.0 } else { 9.0 });
        assert_eq!(noise_shift(&stepped, &[40], &SHIFT_PLAN).unwrap(), None);
        assert_eq!(residuals(&stepped, &[40]).len(), 80);
    }

    #[test]
    fn short_or_flat_series_have_no_shift_and_non_finite_ones_are_refused() {
        assert_eq!(level_shifts(&[], &SHIFT_PLAN), Ok(vec![]));
        assert_eq!(level_shifts(&points(5, noise), &SHIFT_PLAN), Ok(vec![]));
        assert_eq!(level_shifts(&points(50, |_| 3.0), &SHIFT_PLAN), Ok(vec![]));
        assert!(level_shifts(&points(9, |_| f64::NAN), &SHIFT_PLAN).is_err());
    }
}
