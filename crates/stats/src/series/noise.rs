//! Noise of a history: scatter and autocorrelation of neighbouring points. Both are estimated from
//! differences, which a change of level hardly affects.
//!
//! Source: Hall & Marron, "On variance estimation in nonparametric regression", Biometrika 77, 1990
//! (differences); Huber, "Robust Statistics", 1981, chapter 6 (proposal 2, the scale).

use crate::quantile::median;

/// Ratio of standard deviation and median absolute deviation of a normal distribution.
pub(crate) const BY_MEDIAN_DEVIATION: f64 = 1.4826;
/// Distance in standard deviations beyond which deviations are winsorized, and the mean square of
/// standard normal deviations that are winsorized there.
const WINSORIZED_BEYOND: f64 = 2.0;
const WINSORIZED_SQUARE: f64 = 0.920_537;
/// Largest scale relative to that from the median of the distances.
const MOST_GROWTH: f64 = 1.5;
/// Correlation of neighbours times the square root of the number of points. For independent points,
/// the estimate is below the first in 92 of 100 series and below the second in 95; the third is its
/// standard deviation.
const DISCOUNT: f64 = 2.5;
const SIGNIFICANT_FROM: f64 = 2.95;
const SCATTER_OF_ESTIMATE: f64 = 2.8;
/// Standard normal quantile of .8.
const NORMAL_80: f64 = 0.8416;
/// Largest correlation that is assumed; with a larger one, no change could be found.
const LARGEST_CORRELATION: f64 = 0.8;
/// Fewest points for an estimate of the correlation, and for one that a search takes into account:
/// in shorter series a change of level resembles autocorrelation.
const FEWEST_FOR_MEMORY: usize = 8;
pub(crate) const FEWEST_FOR_CAUTION: usize = 20;

/// Standard deviation of deviations around zero, consistent for normal ones, with outliers
/// winsorized: not below `smallest`, and without it the root mean square if most deviations are 0.
pub(crate) fn robust_scale(deviations: &[f64], freedom: f64, smallest: f64) -> f64 {
    let distances: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    let root_mean_square = (distances.iter().map(|d| d * d).sum::<f64>() / freedom).sqrt();
    let by_median = BY_MEDIAN_DEVIATION * median(&distances).unwrap_or(0.0);
    let mut scale = by_median.max(smallest);
    if scale <= 0.0 {
        return if root_mean_square.is_finite() { root_mean_square } else { 0.0 };
    }
    // Many outliers would let the scale grow without limit.
    let most = MOST_GROWTH * scale;
    for _ in 0..12 {
        let reach = WINSORIZED_BEYOND * scale;
        let squares: f64 = distances.iter().map(|distance| distance.min(reach).powi(2)).sum();
        scale = (squares / freedom / WINSORIZED_SQUARE).sqrt().min(most);
    }
    scale.max(smallest)
}

/// Largest scale among the whole series and its two halves, so that points of the noisier half are
/// not mistaken for changes.
pub(crate) fn largest_scale(values: &[f64], scale: impl Fn(&[f64]) -> f64) -> f64 {
    let (first, second) = values.split_at(values.len() / 2);
    scale(values).max(scale(first)).max(scale(second))
}

/// Standard deviation of the points around their levels, from differences between neighbours, and
/// at least `smallest`.
pub(crate) fn scatter(values: &[f64], smallest: f64) -> f64 {
    let steps = steps(values, 1, &[]);
    robust_scale(&steps, steps.len() as f64, smallest)
}

/// Differences of points `lag` apart, except across the start of a new level.
fn steps(values: &[f64], lag: usize, starts: &[usize]) -> Vec<f64> {
    let pairs = values.iter().zip(values.iter().skip(lag)).enumerate();
    let is_of_one_level =
        |early: &usize| !starts.iter().any(|start| (early + 1..=early + lag).contains(start));
    pairs
        .filter(|(early, _)| is_of_one_level(early))
        .map(|(_, (early, late))| (late - early) / std::f64::consts::SQRT_2)
        .collect()
}

/// Autocorrelation of a series at lag 1, excluding changes of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesMemory {
    /// Estimated correlation of neighbouring points.
    pub correlation: f64,
    /// True if the estimate is significant: independent points reach it in at most 5 of 100 series.
    pub is_seen: bool,
    /// Smallest correlation that is detected in 80 of 100 series of this length; 1 if none is.
    pub seen_from: f64,
}

/// Autocorrelation of values in time order, whose levels begin at `starts`; `None` below eight
/// points, or if most neighbours are equal.
///
/// In a series whose correlation decays as r, r^2, r^3 … with the lag, differences over two points
/// have 1 + r times the variance of those over one.
pub(crate) fn memory(values: &[f64], starts: &[usize]) -> Option<SeriesMemory> {
    if values.len() < FEWEST_FOR_MEMORY {
        return None;
    }
    let neighbours = steps(values, 1, starts);
    // If most neighbours are equal, the few other steps do not suffice to estimate the scatter.
    let equal = neighbours.iter().filter(|step| **step == 0.0).count();
    if 2 * equal >= neighbours.len() {
        return None;
    }
    let variance = |steps: &[f64]| robust_scale(steps, steps.len() as f64, 0.0).powi(2);
    let correlation = variance(&steps(values, 2, starts)) / variance(&neighbours) - 1.0;
    let root = (values.len() as f64).sqrt();
    Some(SeriesMemory {
        correlation,
        is_seen: correlation > SIGNIFICANT_FROM / root,
        seen_from: ((SIGNIFICANT_FROM + NORMAL_80 * SCATTER_OF_ESTIMATE) / root).min(1.0),
    })
}

/// Correlation of neighbours that a search for changes takes into account, within levels that begin
/// at `starts`: the estimate minus its possible excess by chance.
pub(crate) fn cautious_correlation(values: &[f64], starts: &[usize]) -> f64 {
    let discount = DISCOUNT / (values.len() as f64).sqrt();
    let long_enough = Some(values).filter(|values| values.len() >= FEWEST_FOR_CAUTION);
    let memory = long_enough.and_then(|values| memory(values, starts));
    memory.map_or(0.0, |seen| (seen.correlation - discount).clamp(0.0, LARGEST_CORRELATION))
}

#[cfg(test)]
mod tests {
    use super::{memory, robust_scale, scatter};

    fn noise(i: u32) -> f64 {
        f64::from(i * i * 7919 % 1009) / 1009.0
    }

    #[test]
    fn scatter_ignores_outliers_and_changes_of_level() {
        let quiet: Vec<f64> = (0..90).map(noise).collect();
        let mut rough = quiet.clone();
        rough[20..].iter_mut().for_each(|value| *value += 50.0);
        rough[70] += 900.0;
        assert!((scatter(&rough, 0.0) / scatter(&quiet, 0.0) - 1.0).abs() < 0.1);
        assert!((scatter(&quiet, 0.0) / 0.289 - 1.0).abs() < 0.2, "{}", scatter(&quiet, 0.0));
        assert_eq!(robust_scale(&[], 0.0, 0.0), 0.0);
        assert!(robust_scale(&[0.0, 0.0, 0.0, 2.0], 4.0, 0.0) > 0.9, "most are equal");
    }

    #[test]
    fn random_walks_are_autocorrelated_and_steps_are_not() {
        let mut at = 0.0;
        let walk: Vec<f64> = (0..60)
            .map(|i| {
                at += noise(i) - 0.5;
                at
            })
            .collect();
        assert!(memory(&walk, &[]).unwrap().is_seen);
        let steps: Vec<f64> = (0..60).map(|i| noise(i) + f64::from(i / 20) * 3.0).collect();
        let seen = memory(&steps, &[]).unwrap();
        assert!(!seen.is_seen, "{seen:?}");
        assert!(seen.seen_from > 0.65 && seen.seen_from < 0.7, "at 60 points");
        let jump: Vec<f64> = (0..30).map(|i| noise(i) + f64::from(i / 15) * 30.0).collect();
        let [with, without] = [&[][..], &[15]].map(|starts| memory(&jump, starts).unwrap());
        assert!(without.correlation < with.correlation, "the start of a level is no memory");
        assert_eq!(memory(&walk[..7], &[]), None);
        assert_eq!(memory(&[1.0; 20], &[]), None);
        let constant: Vec<f64> = (0..40).map(|i| if i < 30 { 1.2 } else { 3.7 }).collect();
        assert_eq!(memory(&constant, &[]), None, "a step between constants is no memory");
    }
}
