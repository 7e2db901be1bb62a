//! Level shifts in a history of measurements that may be months apart, each with its own
//! uncertainty.
//!
//! Not here: the segmentation of least cost (`bounded_cost`) and the noise (`noise`). Points are
//! weighted by their precision. `docs/evidence/history.md` compares the method with others, by
//! simulation.
//!
//! Sources: Fearnhead & Rigaill, Journal of the American Statistical Association 114, 2019 (bounded
//! costs); Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004 (moderated t);
//! Dixon & Tukey, Technometrics 10, 1968 (t of winsorized samples); Eo & Morley, Quantitative
//! Economics 6, 2015 (interval of a place).

use std::ops::Range;

use crate::distribution::{t_quantile, t_two_sided};
use crate::error::StatsError;
use crate::inference::mann_whitney::mann_whitney;
use crate::input::{require_at_most, require_count, require_finite, require_probability};
use crate::interval::{Interval, IntervalMethod};
use crate::quantile::median;
use crate::series::bounded_cost::{ScaledPoint, least_cost_levels};
use crate::series::change_point::{ChangePointPlan, LONGEST_CHANGE_SERIES, change_points};
use crate::series::noise::{
    BY_MEDIAN_DEVIATION, FEWEST_FOR_CAUTION, SeriesMemory, cautious_correlation, largest_scale,
    memory, robust_scale, scatter,
};
use crate::series::step_or_memory::remembered_step;

/// Distance in robust standard deviations beyond which points are winsorized when a level is
/// estimated, and the smallest number of points among which outliers are searched.
const WINSORIZED_BEYOND: f64 = 3.0;
const FEWEST_WITH_OUTLIERS: usize = 5;
/// Smallest step, in standard deviations of the steps, that autocorrelation alone does not explain.
const DISTINCT_STEP: f64 = 2.5;
/// Cost of a change, in units of log n times the variance of the noise.
const PENALTY: f64 = 1.3;
/// Weight of the scatter around all levels relative to that around one level, in degrees of
/// freedom.
const SHARED_FREEDOM: f64 = 8.0;
/// Fewest points before the newest one that it is compared with, and the number of those whose
/// scatter may be that of today alone.
const FEWEST_BEFORE_NEWEST: usize = 3;
const NEWEST_FEW: usize = 8;
/// Fewest places that p-values are multiplied by: in shorter series the scatter is known badly.
const FEWEST_PLACES: usize = 14;

/// Measurement in a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryPoint {
    /// Value on the working scale: logarithm of a metric, or log ratio to an anchor.
    pub value: f64,
    /// Standard error on the working scale; 0 if unknown.
    pub standard_error: f64,
}

/// Search plan for level shifts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShiftPlan {
    /// Largest p-value of a reported shift.
    pub alpha: f64,
    /// Fewest points of a level, at least 1.
    pub fewest: usize,
    /// Lower limit for the estimated standard deviation of a point; 0 by default, 1 for counts, see
    /// [`count_scale`].
    pub smallest_scatter: f64,
}

/// Plan for one series, with levels of at least three points. By simulation, its p-value limit
/// gives a false shift in at most 4 of 100 series of 10 to 200 points without a change.
pub const SHIFT_PLAN: ShiftPlan = ShiftPlan { alpha: 0.1, fewest: 3, smallest_scatter: 0.0 };

/// Search plan for a change of scatter. Groups of fewer than six points may instead be the start of
/// a new level.
pub const NOISE_PLAN: ChangePointPlan =
    ChangePointPlan { alpha: 0.03, permutations: 999, fewest: 6, most_changes: 1, seed: 1 };

/// Variance-stabilising scale of a count, on which Poisson counts have a standard deviation of
/// about 1.
///
/// Source: Anscombe, Biometrika 35, 1948.
pub fn count_scale(count: f64) -> f64 {
    2.0 * (count + 0.375).max(0.0).sqrt()
}

/// Count at a position on the [`count_scale`]. Results that differ from zero only by rounding
/// become zero.
pub fn count_at(place: f64) -> f64 {
    let count = place.max(0.0).powi(2) / 4.0 - 0.375;
    if count < 1e-9 { 0.0 } else { count }
}

/// Detected level shift.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelShift {
    /// Index of the first point of the new level, from 0.
    pub index: usize,
    /// First and last index, inclusive, at which the new level may have begun (95 %).
    pub between: (usize, usize),
    /// Old level and new level, on the working scale.
    pub levels: (f64, f64),
    /// 95 % interval of the new level minus the old; `None` if all points of both are equal.
    pub interval: Option<Interval>,
    /// p-value of the difference of the two levels, times the number of points at which the level
    /// could have begun, and at least times 14; at most 1.
    pub p_value: f64,
}

impl LevelShift {
    /// New level minus old level, on the working scale.
    pub fn change(&self) -> f64 {
        self.levels.1 - self.levels.0
    }
}

/// Detects the level shifts of a history, in order of position.
///
/// The segmentation of least bounded cost proposes levels. Then the weakest proposal is dropped
/// repeatedly, until each level differs from its neighbours by a moderated t test with the scatter
/// of each level. Both steps allow for autocorrelation.
///
/// # Errors
/// If a value or a standard error is not finite, the history is longer than
/// [`crate::LONGEST_CHANGE_SERIES`], or the plan is out of range.
pub fn level_shifts(
    points: &[HistoryPoint],
    plan: &ShiftPlan,
) -> Result<Vec<LevelShift>, StatsError> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let errors: Vec<f64> = points.iter().map(|point| point.standard_error).collect();
    require_finite(&values)?;
    require_finite(&errors)?;
    require_at_most(values.len(), LONGEST_CHANGE_SERIES)?;
    require_probability("alpha", plan.alpha)?;
    require_count(plan.fewest, 1)?;
    let noise = largest_scale(&values, |part| scatter(part, plan.smallest_scatter));
    if noise <= 0.0 || values.len() < 2 * plan.fewest {
        return Ok(Vec::new());
    }
    let search = ShiftSearch::new(&values, &errors, noise, plan);
    let mut starts = search.significant_starts(search.proposed_starts());
    let residuals = |points: Range<usize>| search.residuals(points);
    while let Some(at) = remembered_step(&values, &starts, residuals, plan.smallest_scatter) {
        starts.remove(at);
    }
    Ok(search.shifts(&starts))
}

/// Point with its precision; weights have a mean of about 1.
#[derive(Debug, Clone, Copy)]
struct WeightedPoint {
    value: f64,
    weight: f64,
}

/// State of the search in a history.
struct ShiftSearch<'p> {
    points: Vec<WeightedPoint>,
    /// Standard deviation of a point of weight 1.
    noise: f64,
    /// Correlation of neighbouring points.
    correlation: f64,
    plan: &'p ShiftPlan,
}

impl<'p> ShiftSearch<'p> {
    fn new(values: &[f64], errors: &[f64], noise: f64, plan: &'p ShiftPlan) -> Self {
        let weights = weights(values, errors);
        let points = values.iter().zip(weights);
        let mut search = Self {
            points: points.map(|(&value, weight)| WeightedPoint { value, weight }).collect(),
            noise,
            correlation: 0.0,
            plan,
        };
        // Several distinct steps resemble autocorrelation and would hide one another, so leave them
        // out of its estimate.
        let mut starts = search.proposed_starts();
        let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let usual = BY_MEDIAN_DEVIATION * median(&steps).unwrap_or(0.0);
        starts.retain(|start| steps[start - 1] > DISTINCT_STEP * usual);
        search.correlation = cautious_correlation(values, &starts);
        search
    }

    /// Starts of the levels of least cost. The noise is corrected for autocorrelation, which
    /// reduces the scatter of differences and increases that of means.
    fn proposed_starts(&self) -> Vec<usize> {
        let correlation = self.correlation;
        let unit = self.noise * (1.0 + correlation).sqrt() / (1.0 - correlation);
        let centre = self.points[0].value;
        let scaled = |point: &WeightedPoint| ScaledPoint {
            value: (point.value - centre) / unit,
            weight: point.weight,
        };
        let scaled: Vec<ScaledPoint> = self.points.iter().map(scaled).collect();
        least_cost_levels(&scaled, PENALTY * (scaled.len() as f64).ln(), self.plan.fewest)
    }

    /// Drops the weakest start repeatedly, until all are significant.
    fn significant_starts(&self, mut starts: Vec<usize>) -> Vec<usize> {
        loop {
            let comparisons = self.comparisons(&starts);
            let weakest = (0..starts.len())
                .max_by(|a, b| comparisons[*a].p_value.total_cmp(&comparisons[*b].p_value))
                .filter(|at| comparisons[*at].p_value > self.plan.alpha)
                .or_else(|| (0..starts.len()).find(|at| !self.is_ranked_apart(&starts, *at)));
            match weakest {
                Some(at) => {
                    starts.remove(at);
                }
                None => return starts,
            }
        }
    }

    /// True if all points of one level are above those of the other, or the ranks differ
    /// significantly. A few outliers in a row are no level in a series that has other outliers.
    fn is_ranked_apart(&self, starts: &[usize], at: usize) -> bool {
        let ends = level_bounds(starts, self.points.len());
        let [before, after] = [(ends[at], ends[at + 1]), (ends[at + 1], ends[at + 2])]
            .map(|(from, to)| self.points[from..to].iter().map(|p| p.value).collect::<Vec<f64>>());
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest(&before) < least(&after) || largest(&after) < least(&before) {
            return true;
        }
        let limit = SHIFT_PLAN.alpha / self.points.len() as f64;
        mann_whitney(&before, &after).is_ok_and(|test| test.p_value <= limit)
    }

    /// Comparison of the levels at each start.
    fn comparisons(&self, starts: &[usize]) -> Vec<LevelComparison> {
        let ends = level_bounds(starts, self.points.len());
        let levels: Vec<LevelEstimate> = ends.windows(2).map(|e| self.level(e[0]..e[1])).collect();
        let shared = self.scatter_around(&levels, &ends);
        let inflation = (1.0 + self.correlation) / (1.0 - self.correlation);
        let compared = |pair: &[LevelEstimate]| {
            LevelComparison::new(&pair[0], &pair[1], shared, inflation, self.points.len())
        };
        levels.windows(2).map(compared).collect()
    }

    /// Standard deviation of a point of weight 1 around its level, of the noisier half. In short
    /// series levels explain so much of the scatter that it is at least that of neighbours.
    fn scatter_around(&self, levels: &[LevelEstimate], ends: &[usize]) -> f64 {
        let of_level = |(level, ends): (&LevelEstimate, &[usize])| {
            let points = self.points[ends[0]..ends[1]].iter();
            let mean = level.mean;
            points.map(move |p| p.weight.sqrt() * (p.value - mean)).collect::<Vec<f64>>()
        };
        let residuals: Vec<f64> = levels.iter().zip(ends.windows(2)).flat_map(of_level).collect();
        let n = residuals.len() as f64;
        let free_share = (n - levels.len() as f64) / n;
        let smallest = self.plan.smallest_scatter;
        largest_scale(&residuals, |part| {
            robust_scale(part, free_share * part.len() as f64, smallest)
        })
        .max(if residuals.len() < FEWEST_FOR_CAUTION { self.noise } else { 0.0 })
    }

    /// Estimate of the level of these points.
    fn level(&self, points: Range<usize>) -> LevelEstimate {
        LevelEstimate::from_points(&self.points[points], self.plan.smallest_scatter)
    }

    /// Distances of the points of a level from its mean.
    fn residuals(&self, points: Range<usize>) -> Vec<f64> {
        let mean = self.level(points.clone()).mean;
        self.points[points].iter().map(|point| point.value - mean).collect()
    }

    fn shifts(&self, starts: &[usize]) -> Vec<LevelShift> {
        let ends = level_bounds(starts, self.points.len());
        let comparisons = self.comparisons(starts);
        let shift = |(comparison, ends): (&LevelComparison, &[usize])| {
            let points = &self.points[ends[0]..ends[2]];
            let (first, last) =
                plausible_splits(points, ends[1] - ends[0], self.plan.smallest_scatter);
            LevelShift {
                index: ends[1],
                between: (ends[0] + first, ends[0] + last),
                levels: comparison.levels,
                interval: comparison.interval(),
                p_value: comparison.p_value,
            }
        };
        comparisons.iter().zip(ends.windows(3)).map(shift).collect()
    }
}

/// Bounds of the levels: 0, the starts, and the number of points.
fn level_bounds(starts: &[usize], points: usize) -> Vec<usize> {
    [0].into_iter().chain(starts.iter().copied()).chain([points]).collect()
}

/// Precision weights from the points' standard errors and the excess scatter; all equal if both are
/// unknown.
fn weights(values: &[f64], errors: &[f64]) -> Vec<f64> {
    let squared: Vec<f64> = errors.iter().map(|error| error * error).collect();
    let own = median(&squared).unwrap_or(0.0);
    let beyond = (scatter(values, 0.0).powi(2) - own).max(0.0);
    let typical = beyond + own;
    if typical <= 0.0 {
        return vec![1.0; values.len()];
    }
    // The clamp prevents points with tiny standard errors from outweighing all others.
    let weight = |error: &f64| (typical / (beyond + error)).clamp(0.01, 10.0);
    squared.iter().map(weight).collect()
}

/// Points of a level with outliers winsorized, by a scatter of at least `smallest`.
fn winsorized(points: &[WeightedPoint], smallest: f64) -> Vec<WeightedPoint> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let centre = median(&values).unwrap_or(0.0);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let scatter = BY_MEDIAN_DEVIATION * median(&deviations).unwrap_or(0.0);
    let reach = WINSORIZED_BEYOND * scatter.max(smallest);
    if reach <= 0.0 || points.len() < FEWEST_WITH_OUTLIERS {
        return points.to_vec();
    }
    let (low, high) = (centre - reach, centre + reach);
    points
        .iter()
        .map(|point| WeightedPoint { value: point.value.clamp(low, high), ..*point })
        .collect()
}

/// First and last split at which two adjacent levels fit nearly as well as at this split, at 95 %.
fn plausible_splits(points: &[WeightedPoint], split: usize, smallest: f64) -> (usize, usize) {
    // (1 - exp(-c / 2))^2 = .95
    const CRITICAL: f64 = 7.352;
    let squares_around = |at: usize| {
        LevelEstimate::from_points(&points[..at], smallest).squares
            + LevelEstimate::from_points(&points[at..], smallest).squares
    };
    let best = squares_around(split);
    let reach = CRITICAL * best / points.len().saturating_sub(2).max(1) as f64;
    let near = |at: &usize| squares_around(*at) - best <= reach;
    let first = (1..split).rev().take_while(near).last().unwrap_or(split);
    let last = (split + 1..points.len()).take_while(near).last().unwrap_or(split);
    (first, last)
}

/// Estimated level: weighted mean of its points, with outliers winsorized.
struct LevelEstimate {
    mean: f64,
    weight: f64,
    /// Weighted sum of the squared deviations, with outliers winsorized.
    squares: f64,
    /// `squares`, increased for winsorized points: the mean of a winsorized sample is less certain
    /// than its scatter suggests.
    inflated_squares: f64,
    freedom: f64,
}

impl LevelEstimate {
    fn from_points(points: &[WeightedPoint], smallest_scatter: f64) -> Self {
        let inner = winsorized(points, smallest_scatter);
        let moved = points.iter().zip(&inner).filter(|(own, drawn)| own.value != drawn.value);
        let moved = moved.count() as f64;
        let weight: f64 = inner.iter().map(|point| point.weight).sum();
        let mean = inner.iter().map(|point| point.weight * point.value).sum::<f64>() / weight;
        let squares = inner.iter().map(|p| p.weight * (p.value - mean).powi(2)).sum::<f64>();
        let freedom = points.len() as f64 - 1.0;
        let inflation = freedom / (freedom - moved).max(1.0);
        let inflated_squares = squares * inflation.powi(2);
        Self { mean, weight, squares, inflated_squares, freedom }
    }
}

/// Comparison of two neighbouring levels by Welch's t, with variances moderated by the scatter
/// around all levels.
struct LevelComparison {
    levels: (f64, f64),
    error: f64,
    freedom: f64,
    p_value: f64,
}

impl LevelComparison {
    fn new(
        before: &LevelEstimate,
        after: &LevelEstimate,
        shared: f64,
        inflation: f64,
        places: usize,
    ) -> Self {
        let [own_before, own_after] = [before, after].map(|level| {
            let squares = SHARED_FREEDOM * shared * shared + level.inflated_squares;
            inflation * squares / (SHARED_FREEDOM + level.freedom) / level.weight
        });
        let variance = own_before + own_after;
        let levels = (before.mean, after.mean);
        let change = levels.1 - levels.0;
        if variance <= 0.0 {
            let p_value = if change == 0.0 { 1.0 } else { 0.0 };
            return Self { levels, error: 0.0, freedom: 1.0, p_value };
        }
        let share = |own: f64, level: &LevelEstimate| {
            (own / variance).powi(2) / (SHARED_FREEDOM + level.freedom)
        };
        let freedom = 1.0 / (share(own_before, before) + share(own_after, after));
        let error = variance.sqrt();
        let places = places.max(FEWEST_PLACES) as f64;
        let p_value = (t_two_sided(change / error, freedom) * places).min(1.0);
        Self { levels, error, freedom, p_value }
    }

    fn interval(&self) -> Option<Interval> {
        const CONFIDENCE: f64 = 0.95;
        let half = self.error * t_quantile(f64::midpoint(1.0, CONFIDENCE), self.freedom);
        let change = self.levels.1 - self.levels.0;
        (half > 0.0).then_some(Interval {
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
    /// The level before the point, on the working scale.
    pub level: f64,
    /// Point minus level, on the working scale.
    pub change: f64,
    /// Two-sided p-value that the point belongs to the level.
    pub p_value: f64,
}

/// Compares the last point of a level with the others; `None` below four points. Scatter below
/// `smallest_scatter` is not believed.
///
/// The scatter may have grown: the point has to be out of line with all others, with their newer
/// half and with the newest few. Where another point is as far out, no p-value is below that of the
/// ranks of the distances, which holds for any shape of the noise.
///
/// Two points may have begun a new level, and the first would then hide the second: so both of the
/// last two are also compared with the points before them. The larger of their p-values counts, if
/// they are on the same side.
pub fn newest_differs(level: &[HistoryPoint], smallest_scatter: f64) -> Option<NewestPoint> {
    let (newest, others) = level.split_last()?;
    let alone = out_of_line(newest.value, others, smallest_scatter)?;
    let both = others.split_last().and_then(|(previous, others)| {
        let of_previous = out_of_line(previous.value, others, smallest_scatter)?;
        let of_newest = out_of_line(newest.value, others, smallest_scatter)?;
        let is_same_side = of_previous.change * of_newest.change > 0.0;
        let p_value = of_previous.p_value.max(of_newest.p_value);
        is_same_side.then_some(NewestPoint { p_value, ..of_newest })
    });
    Some(both.filter(|both| both.p_value < alone.p_value).unwrap_or(alone))
}

/// Compares a value with the points before it, as a prediction from them.
fn out_of_line(value: f64, others: &[HistoryPoint], smallest_scatter: f64) -> Option<NewestPoint> {
    if others.len() < FEWEST_BEFORE_NEWEST {
        return None;
    }
    let others: Vec<WeightedPoint> =
        others.iter().map(|p| WeightedPoint { value: p.value, weight: 1.0 }).collect();
    let mean = LevelEstimate::from_points(&others, smallest_scatter).mean;
    let change = value - mean;
    let prediction = |count: usize| -> Option<f64> {
        let part = others.get(others.len() - count..)?;
        let freedom = part.len() as f64 - 1.0;
        let scatter = LevelEstimate::from_points(part, smallest_scatter).squares / freedom;
        let scatter = scatter.max(smallest_scatter * smallest_scatter);
        let error = (scatter * (1.0 + 1.0 / others.len() as f64)).sqrt();
        let as_far = part.iter().filter(|p| (p.value - mean).abs() >= change.abs()).count() as f64;
        let by_ranks = (as_far + 1.0) / (part.len() as f64 + 1.0);
        let p_value = t_two_sided(change / error, freedom);
        (error > 0.0).then_some(if as_far > 0.0 { p_value.max(by_ranks) } else { p_value })
    };
    let whole = prediction(others.len())?;
    let newer = [others.len() / 2, NEWEST_FEW]
        .map(|count| count.clamp(FEWEST_BEFORE_NEWEST, others.len()))
        .map(|count| prediction(count).unwrap_or(0.0));
    let p_value = newer.into_iter().fold(whole, f64::max);
    Some(NewestPoint { level: mean, change, p_value })
}

/// Number of further points after which a new level is detected, if they resemble the newest point
/// and scatter like the last level so far, which begins at `level`. `None` if `most` points do not
/// suffice. The new level may include points before the newest one that resemble it.
///
/// # Errors
/// See [`level_shifts`].
pub fn points_to_decide(
    points: &[HistoryPoint],
    level: usize,
    newest: &NewestPoint,
    plan: &ShiftPlan,
    most: usize,
) -> Result<Option<usize>, StatsError> {
    let Some((last, before)) = points.split_last() else { return Ok(None) };
    // Earlier points that are already out of line do not represent the scatter of the level.
    let of_level =
        |point: &&HistoryPoint| (point.value - newest.level).abs() * 2.0 < newest.change.abs();
    let since_level = before.get(level..).unwrap_or_default().iter().rev();
    let out_of_line = since_level.clone().take_while(|point| !of_level(point)).count();
    let accepted_starts = before.len() - out_of_line..=before.len() + 1;
    let level_points = since_level.filter(of_level).cycle();
    let mut extended = points.to_vec();
    for (more, like) in (1..=most).zip(level_points) {
        extended.push(HistoryPoint { value: like.value + newest.change, ..*last });
        let shifts = level_shifts(&extended, plan)?;
        let is_new = |shift: &&LevelShift| shift.change().signum() == newest.change.signum();
        if shifts.last().filter(is_new).is_some_and(|shift| accepted_starts.contains(&shift.index))
        {
            return Ok(Some(more));
        }
    }
    Ok(None)
}

/// Autocorrelation of a history within its levels, which begin at `starts`; `None` below eight
/// points, or if most neighbours are equal.
pub fn history_memory(points: &[HistoryPoint], starts: &[usize]) -> Option<SeriesMemory> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    memory(&values, starts)
}

/// Residuals of the points from the medians of their levels, which begin at `starts`.
pub(crate) fn residuals(points: &[HistoryPoint], starts: &[usize]) -> Vec<f64> {
    let ends: Vec<usize> =
        [0].into_iter().chain(starts.iter().copied()).chain([points.len()]).collect();
    let level = |pair: &[usize]| {
        let piece = points.get(pair[0]..pair[1]).unwrap_or_default();
        let values: Vec<f64> = piece.iter().map(|point| point.value).collect();
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
    /// New scatter divided by old scatter, each the median distance from the level.
    pub ratio: f64,
}

/// Detects the most significant change of scatter, if any, as a level shift in the distances of the
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
    use super::{
        HistoryPoint, NOISE_PLAN, NewestPoint, SHIFT_PLAN, ShiftPlan, count_at, count_scale,
        level_shifts, newest_differs, noise_shift, points_to_decide, residuals,
    };

    /// Deterministic values with a scatter of about one around 0.
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
        assert!((shifts[0].change() - 4.0).abs() < 0.8, "{shifts:?}");
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
    fn one_bad_point_hides_no_change_of_its_level() {
        let series = points(60, |i| {
            noise(i) + if i < 15 { 12.0 } else { 0.0 } - if i == 8 { 60.0 } else { 0.0 }
        });
        let shifts = level_shifts(&series, &SHIFT_PLAN).unwrap();
        assert_eq!(shifts.iter().map(|shift| shift.index).collect::<Vec<_>>(), [15]);
    }

    #[test]
    fn points_with_large_standard_errors_have_little_weight() {
        let value = |i: u32| noise(i) + if i < 40 { 0.0 } else { 4.0 };
        let error = |i: u32| if i < 40 { 0.1 } else { 40.0 };
        let weighted: Vec<HistoryPoint> =
            (0..50).map(|i| HistoryPoint { value: value(i), standard_error: error(i) }).collect();
        assert!(!level_shifts(&points(50, value), &SHIFT_PLAN).unwrap().is_empty());
        assert!(level_shifts(&weighted, &SHIFT_PLAN).unwrap().is_empty());
    }

    #[test]
    fn several_steps_do_not_hide_one_another() {
        let value = |i: u32| noise(i) + if (12..16).contains(&i) || i >= 20 { 20.0 } else { 0.0 };
        let shifts = level_shifts(&points(24, value), &SHIFT_PLAN).unwrap();
        let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
        assert_eq!(starts, [12, 16, 20]);
    }

    #[test]
    fn equal_points_within_a_level_hide_no_change() {
        let value = |i: u32| if i < 40 { (noise(i) * 4.0).round() / 4.0 } else { 13.0 };
        let shifts = level_shifts(&points(43, value), &SHIFT_PLAN).unwrap();
        assert_eq!(shifts.iter().map(|shift| shift.index).collect::<Vec<usize>>(), [40]);
    }

    #[test]
    fn the_newest_point_is_compared_with_its_level() {
        let mut level = points(20, noise);
        assert!(newest_differs(&level, 0.0).unwrap().p_value > 0.05);
        level[19].value = 9.0;
        let newest = newest_differs(&level, 0.0).unwrap();
        assert!(newest.p_value < 1e-4 && (newest.change - 9.0).abs() < 1.0, "{newest:?}");
        level[18].value = 9.5;
        let second = newest_differs(&level, 0.0).unwrap();
        assert!(second.p_value < 1e-3 && (second.change - 9.0).abs() < 1.0, "{second:?}");
        assert_eq!(newest_differs(&level[..3], 0.0), None);
        assert_eq!(newest_differs(&points(9, |_| 1.0), 0.0), None, "no scatter, no prediction");
    }

    #[test]
    fn the_number_of_points_that_decides_is_told() {
        let needed = |change: f64, alpha: f64| {
            let points = points(24, |i| noise(i) + if i == 23 { change } else { 0.0 });
            let newest = NewestPoint { level: 0.0, change, p_value: 0.0 };
            points_to_decide(&points, 0, &newest, &ShiftPlan { alpha, ..SHIFT_PLAN }, 30).unwrap()
        };
        assert_eq!(needed(20.0, 0.08), Some(2), "a level has three points");
        assert_eq!(needed(20.0, 0.08 / 40.0), Some(2), "one of forty series");
        let (one, of_many) = (needed(5.0, 0.08).unwrap(), needed(5.0, 0.08 / 1e4).unwrap());
        assert!(one < of_many, "{one} {of_many}");
        assert_eq!(needed(0.1, 0.08), None);
        let second = points(24, |i| noise(i) + if i >= 22 { 20.0 } else { 0.0 });
        let newest = newest_differs(&second, 0.0).unwrap();
        let more = points_to_decide(&second, 0, &newest, &SHIFT_PLAN, 30).unwrap();
        assert_eq!(more, Some(1), "after a second point out of line the third decides");
    }

    #[test]
    fn an_interval_of_a_shift_excludes_no_change() {
        let mut found = 0;
        for size in 1..40 {
            let size = f64::from(size) / 8.0;
            let series = points(60, |i| noise(i) + if i % 30 > 21 { size } else { 0.0 });
            for shift in level_shifts(&series, &SHIFT_PLAN).unwrap() {
                assert!(!shift.interval.unwrap().contains(0.0), "{shift:?}");
                found += 1;
            }
        }
        assert!(found > 40, "{found}");
    }

    #[test]
    fn rare_errors_that_become_frequent_are_a_shift() {
        let plan = ShiftPlan { smallest_scatter: 1.0, ..SHIFT_PLAN };
        let counts = |newest: [u32; 3]| {
            let count = |i: u32| i.checked_sub(17).map_or(0, |at| newest[at as usize]);
            let points = points(20, |i| count_scale(f64::from(count(i))));
            level_shifts(&points, &plan).unwrap()
        };
        let found = counts([5, 4, 6]);
        assert_eq!(found.iter().map(|shift| shift.index).collect::<Vec<_>>(), [17]);
        assert!(count_at(found[0].levels.0) < 0.01);
        assert!((count_at(found[0].levels.1) - 5.0).abs() < 0.2);
        assert!(counts([0, 1, 0]).is_empty());
    }

    #[test]
    fn growing_scatter_is_found_at_a_constant_level() {
        let noisier = points(80, |i| noise(i) * if i < 40 { 1.0 } else { 6.0 });
        let shift = noise_shift(&noisier, &[], &NOISE_PLAN).unwrap().unwrap();
        assert!(shift.index.abs_diff(40) <= 8 && shift.ratio > 3.0, "{shift:?}");
        assert_eq!(noise_shift(&points(80, noise), &[], &NOISE_PLAN).unwrap(), None);
        let stepped = points(80, |i| noise(i) + if i < 40 { 0.0 } else { 9.0 });
        assert_eq!(noise_shift(&stepped, &[40], &NOISE_PLAN).unwrap(), None);
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
