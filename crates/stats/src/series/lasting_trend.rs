//! Lasting trends of a history: a level that moves a little with each point, up to the newest.
//!
//! Not here: shifts of the level (`level_shift`), and trends within one run (`mann_kendall`,
//! `theil_sen`). A trend is accepted if a line explains the points clearly better than levels do,
//! by the Schwarz criterion, if its slope is significant for points with their autocorrelation, and
//! if it goes on in the newest third. `docs/evidence/history.md` has its errors by simulation.
//!
//! Sources: Schwarz, Annals of Statistics 6, 1978; Bayley & Hammersley, Supplement to the Journal
//! of the Royal Statistical Society 8, 1946 (effective number of autocorrelated values).

use crate::distribution::{t_quantile, t_survival, t_two_sided};
use crate::error::StatsError;
use crate::input::{require_at_most, require_finite, require_probability};
use crate::interval::{Interval, IntervalMethod};
use crate::quantile::median;
use crate::series::change_point::LONGEST_CHANGE_SERIES;
use crate::series::level_shift::HistoryPoint;
use crate::series::noise::BY_MEDIAN_DEVIATION;
use crate::series::theil_sen::theil_sen;

/// Fewest points of a trend.
const FEWEST: usize = 20;
/// Most points of a trend, and most levels at whose beginning one is looked for: more would take
/// long.
const MOST: usize = 1_000;
const LEVELS_TRIED: usize = 8;
/// Fewest points of a level that is compared with the line.
const FEWEST_OF_LEVEL: usize = 3;
/// Distance from the line, in robust standard deviations, beyond which points are winsorized.
const WINSORIZED_BEYOND: f64 = 3.0;
/// Gain of the line over levels, in logarithms of the number of points.
const GAIN_OF_LINE: f64 = 1.5;
/// Largest one-sided p-value of the slope of the newest third.
const ALPHA_OF_NEWEST: f64 = 0.1;
/// Largest correlation of neighbouring points that is assumed.
const LARGEST_CORRELATION: f64 = 0.95;
const CONFIDENCE: f64 = 0.95;

/// Trend of a history that goes on to its newest point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastingTrend {
    /// Index of its first point, from 0.
    pub start: usize,
    /// The line at its first and at the newest point, on the working scale.
    pub ends: (f64, f64),
    /// 95 % interval of the difference of both ends; `None` if all points lie on the line.
    pub interval: Option<Interval>,
    /// Two-sided p-value of the slope, times the number of points at which a trend was looked for;
    /// at most 1.
    pub p_value: f64,
}

impl LastingTrend {
    /// Difference of both ends, on the working scale.
    pub fn change(&self) -> f64 {
        self.ends.1 - self.ends.0
    }
}

/// Detects the most significant trend that began at the first point or at one of the newest eight
/// of `starts`, where levels begin, and goes on. A trend has 20 to 1,000 points: in a longer
/// history, the first point is the first of the newest 1,000.
///
/// # Errors
/// If a value is not finite, the history is longer than [`crate::LONGEST_CHANGE_SERIES`], or
/// `alpha` is no probability.
pub fn lasting_trend(
    points: &[HistoryPoint],
    starts: &[usize],
    alpha: f64,
) -> Result<Option<LastingTrend>, StatsError> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    require_finite(&values)?;
    require_at_most(values.len(), LONGEST_CHANGE_SERIES)?;
    require_probability("alpha", alpha)?;
    let first = values.len().saturating_sub(MOST);
    let can_begin = |start: &usize| *start > first && values.len() >= *start + FEWEST;
    let levels = starts.iter().copied().filter(can_begin).rev().take(LEVELS_TRIED);
    let begins: Vec<usize> =
        Some(first).filter(|_| values.len() >= FEWEST).into_iter().chain(levels).collect();
    let mut best: Option<LastingTrend> = None;
    for start in &begins {
        let inner: Vec<usize> =
            starts.iter().filter(|at| *at > start).map(|at| at - start).collect();
        let Some(trend) = trend_of(&values[*start..], &inner)? else { continue };
        let p_value = (trend.p_value * begins.len() as f64).min(1.0);
        if p_value <= alpha && best.is_none_or(|best| p_value < best.p_value) {
            best = Some(LastingTrend { start: *start, p_value, ..trend });
        }
    }
    Ok(best)
}

/// Trend of all these values, in which levels begin at `starts`, whatever its p-value; `None` where
/// levels explain them as well, or the newest do not follow it.
fn trend_of(values: &[f64], starts: &[usize]) -> Result<Option<LastingTrend>, StatsError> {
    let count = values.len() as f64;
    let robust = theil_sen(values, CONFIDENCE)?;
    let values = winsorized(values, robust.slope);
    let line = Line::through(&values);
    let is_constant = values.iter().all(|value| *value == values[0]);
    if is_constant || line.gain_over_levels(&values, starts) < GAIN_OF_LINE * count.ln() {
        return Ok(None);
    }
    let memory = line.variance_growth();
    let freedom = count / memory - 2.0;
    if freedom < 1.0 {
        return Ok(None);
    }
    let scatter = (line.squares * memory / (count - 2.0 * memory)).sqrt();
    let newest = Line::through(&values[values.len() - values.len() / 3..]);
    let in_direction = newest.slope * line.slope.signum() * newest.places.sqrt();
    if in_direction <= 0.0
        || scatter > 0.0 && t_survival(in_direction / scatter, freedom) > ALPHA_OF_NEWEST
    {
        return Ok(None);
    }
    let error = scatter / line.places.sqrt();
    let p_value = if error > 0.0 { t_two_sided(line.slope / error, freedom) } else { 0.0 };
    let steps = count - 1.0;
    let half = error * t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom) * steps;
    let change = line.slope * steps;
    let interval = (half > 0.0).then_some(Interval {
        low: change - half,
        high: change + half,
        confidence: CONFIDENCE,
        achieved: None,
        method: IntervalMethod::StudentT,
    });
    let ends = (line.centre - change / 2.0, line.centre + change / 2.0);
    Ok(Some(LastingTrend { start: 0, ends, interval, p_value }))
}

/// Values with those far from a line of this slope drawn nearer to it.
fn winsorized(values: &[f64], slope: f64) -> Vec<f64> {
    let tilted: Vec<f64> =
        values.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect();
    let centre = median(&tilted).unwrap_or(0.0);
    let distances: Vec<f64> = tilted.iter().map(|value| (value - centre).abs()).collect();
    let reach = WINSORIZED_BEYOND * BY_MEDIAN_DEVIATION * median(&distances).unwrap_or(0.0);
    if reach <= 0.0 {
        return values.to_vec();
    }
    let drawn = |(at, value): (usize, &f64)| {
        value.clamp(centre - reach, centre + reach) + slope * at as f64
    };
    tilted.iter().enumerate().map(drawn).collect()
}

/// Line of least squares.
struct Line {
    slope: f64,
    /// Mean of the values.
    centre: f64,
    /// Sum of the squared distances of the places from their middle.
    places: f64,
    residuals: Vec<f64>,
    /// Sum of the squared residuals.
    squares: f64,
}

impl Line {
    fn through(values: &[f64]) -> Self {
        let middle = (values.len() as f64 - 1.0) / 2.0;
        let placed = || values.iter().enumerate().map(|(at, value)| (at as f64 - middle, value));
        let centre = values.iter().sum::<f64>() / values.len() as f64;
        let places: f64 = placed().map(|(place, _)| place * place).sum();
        let slope = placed().map(|(place, value)| place * (value - centre)).sum::<f64>() / places;
        let residuals: Vec<f64> =
            placed().map(|(place, value)| value - centre - slope * place).collect();
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        // Less than this share of the squares is rounding.
        let squares = if squares > 1e-20 * slope * slope * places { squares } else { 0.0 };
        Self { slope, centre, places, residuals, squares }
    }

    /// Difference of the Schwarz criteria of levels and line: of the levels that begin at `starts`,
    /// or of the best two if these explain more.
    fn gain_over_levels(&self, values: &[f64], starts: &[usize]) -> f64 {
        let count = values.len() as f64;
        let gain = |(squares, levels): (f64, usize)| {
            count * (squares / self.squares).ln() + (2 * levels - 3) as f64 * count.ln()
        };
        let of_two = gain((self.squares_of_two(values), 2));
        if starts.is_empty() {
            return of_two;
        }
        gain((squares_of_levels(values, starts), starts.len() + 1)).min(of_two)
    }

    /// Sum of the squared distances from the means of the two levels that explain most.
    fn squares_of_two(&self, values: &[f64]) -> f64 {
        let count = values.len();
        let distances: Vec<f64> = values.iter().map(|value| value - self.centre).collect();
        let (mut before, mut explained) = (0.0, 0.0_f64);
        for (at, distance) in (1..count).zip(&distances) {
            before += distance;
            if at >= FEWEST_OF_LEVEL && at + FEWEST_OF_LEVEL <= count {
                let share = count as f64 / (at * (count - at)) as f64;
                explained = explained.max(before * before * share);
            }
        }
        distances.iter().map(|distance| distance * distance).sum::<f64>() - explained
    }

    /// Factor by which autocorrelation of the residuals increases the variance of the slope.
    fn variance_growth(&self) -> f64 {
        let count = self.residuals.len() as f64;
        if self.squares <= 0.0 {
            return 1.0;
        }
        let products = self.residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        // A fitted line hides part of the correlation: on average (2 + 4 r) / n of it.
        let correlation = (products / self.squares + 2.0 / count) / (1.0 - 4.0 / count);
        let correlation = correlation.clamp(0.0, LARGEST_CORRELATION);
        (1.0 + correlation) / (1.0 - correlation)
    }
}

/// Sum of the squared distances from the means of the levels that begin at `starts`.
fn squares_of_levels(values: &[f64], starts: &[usize]) -> f64 {
    let ends: Vec<usize> =
        [0].into_iter().chain(starts.iter().copied()).chain([values.len()]).collect();
    let of_level = |ends: &[usize]| {
        let level = &values[ends[0]..ends[1]];
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        level.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    ends.windows(2).map(of_level).sum()
}

#[cfg(test)]
mod tests {
    use super::{LastingTrend, lasting_trend};
    use crate::series::level_shift::HistoryPoint;

    fn noise(i: u32) -> f64 {
        f64::from(i * i % 1009 * 7919 % 1009) / 1009.0 * 3.4 - 1.7
    }

    fn found(count: u32, starts: &[usize], value: impl Fn(u32) -> f64) -> Option<LastingTrend> {
        let point = |i: u32| HistoryPoint { value: value(i), standard_error: 0.0 };
        let points: Vec<HistoryPoint> = (0..count).map(point).collect();
        lasting_trend(&points, starts, 0.01).unwrap()
    }

    #[test]
    fn a_slow_rise_has_its_ends_with_an_interval() {
        let trend = found(60, &[], |i| noise(i) + 0.1 * f64::from(i)).unwrap();
        assert_eq!(trend.start, 0);
        assert!(trend.interval.unwrap().contains(5.9), "{trend:?}");
        assert!((trend.change() - 5.9).abs() < 1.5 && trend.p_value < 1e-4, "{trend:?}");
        let outlier = |i| noise(i) + 0.1 * f64::from(i) - if i == 50 { 90.0 } else { 0.0 };
        assert!(found(60, &[], outlier).is_some(), "one bad point hides no trend");
        let of_levels = found(60, &[15, 30, 45], |i| noise(i) + 0.1 * f64::from(i)).unwrap();
        assert_eq!(of_levels.start, 0, "levels of a trend are none: {of_levels:?}");
    }

    #[test]
    fn a_rise_after_a_step_begins_at_the_step() {
        let value = |i: u32| noise(i) + if i < 40 { 0.0 } else { 0.2 * f64::from(i - 40) - 30.0 };
        let trend = found(90, &[40, 65], value).unwrap();
        assert_eq!(trend.start, 40, "{trend:?}");
    }

    #[test]
    fn steps_and_a_rise_that_ended_are_no_trend() {
        assert_eq!(found(60, &[], noise), None);
        assert_eq!(found(60, &[], |i| noise(i) + if i < 30 { 0.0 } else { 1.5 }), None);
        assert_eq!(found(60, &[20], |i| noise(i) + if i < 20 { 0.0 } else { 4.0 }), None);
        let ended = |i: u32| noise(i) + 0.2 * f64::from(i.min(40));
        assert_eq!(found(90, &[15, 30], ended), None);
    }

    #[test]
    fn a_trend_of_a_long_history_is_looked_for_in_its_newest_thousand_points() {
        let trend = found(4_000, &[], |i| noise(i) + 0.01 * f64::from(i)).unwrap();
        assert_eq!(trend.start, 3_000, "{trend:?}");
        let starts: Vec<usize> = (1..300).map(|level| 10 * level).collect();
        assert_eq!(found(3_000, &starts, noise), None);
    }

    #[test]
    fn short_and_constant_series_have_no_trend_and_exact_lines_have_one() {
        assert_eq!(found(19, &[], f64::from), None);
        assert_eq!(found(40, &[], |_| 3.1), None);
        let exact = found(40, &[], f64::from).unwrap();
        assert!((exact.change() - 39.0).abs() < 1e-9, "{exact:?}");
        let point = HistoryPoint { value: f64::NAN, standard_error: 0.0 };
        assert!(lasting_trend(&[point], &[], 0.01).is_err());
    }
}
