//! Theil-Sen slope: rate of drift, robust against outliers.
//!
//! Not here: the significance of the drift (`mann_kendall`). Up to 1,500 values all slopes are
//! listed. Above that, the median slope is found by bisection on the number of slopes below a
//! value, which is a number of inversions: O(n log n) per step, without quadratic memory.
//!
//! Sources: Theil, Proceedings of the Royal Netherlands Academy 53, 1950; Sen, Journal of the
//! American Statistical Association 63, 1968.

use crate::distribution::normal_quantile;
use crate::error::StatsError;
use crate::input::{
    index_rounded_down, require_at_most, require_count, require_finite, require_probability,
};
use crate::interval::{Interval, IntervalMethod};
use crate::quantile::median;
use crate::series::mann_kendall::{inversions, mann_kendall};

/// Number of values up to which all slopes are listed.
const LISTED: usize = 1_500;

/// Longest series accepted.
const LONGEST: usize = 1_000_000;

/// Result of a Theil-Sen estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TheilSen {
    /// Median of all slopes, in the unit of the values per step of the index.
    pub slope: f64,
    /// Median of the values minus slope times the median index: the value at index 0.
    pub intercept: f64,
    /// Interval of the slope by Kendall's S; `None` when all values are equal.
    pub interval: Option<Interval>,
}

/// Theil-Sen slope of values in time order against their index 0, 1, 2 …; needs at least two
/// values.
pub fn theil_sen(values: &[f64], confidence: f64) -> Result<TheilSen, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 2)?;
    require_at_most(values.len(), LONGEST)?;
    require_probability("confidence", confidence)?;
    let slopes = PairSlopes::new(values);
    let count = slopes.count;
    let upper = slopes.nth(count / 2);
    let slope =
        if count % 2 == 1 { upper } else { f64::midpoint(slopes.nth(count / 2 - 1), upper) };
    let variance = if values.len() > 2 { mann_kendall(values)?.variance } else { 1.0 };
    let interval = (variance > 0.0).then(|| {
        let total = count as f64;
        let spread = -normal_quantile((1.0 - confidence) / 2.0) * variance.sqrt();
        let low = f64::midpoint(total, -spread).round_ties_even() - 1.0;
        let high = f64::midpoint(total, spread).round_ties_even();
        Interval {
            low: slopes.nth(index_rounded_down(low, count - 1)),
            high: slopes.nth(index_rounded_down(high, count - 1)),
            confidence,
            achieved: None,
            method: IntervalMethod::Kendall,
        }
        .widened_to(slope)
    });
    let middle = (values.len() - 1) as f64 / 2.0;
    let intercept = median(values)? - slope * middle;
    Ok(TheilSen { slope, intercept, interval })
}

/// Slopes of all pairs, listed or counted.
struct PairSlopes<'a> {
    values: &'a [f64],
    count: usize,
    listed: Option<Vec<f64>>,
}

impl<'a> PairSlopes<'a> {
    fn new(values: &'a [f64]) -> Self {
        let n = values.len();
        let listed = (n <= LISTED).then(|| {
            let mut list = Vec::with_capacity(n * (n - 1) / 2);
            for i in 0..n {
                list.extend((i + 1..n).map(|j| (values[j] - values[i]) / (j - i) as f64));
            }
            list.sort_unstable_by(f64::total_cmp);
            list
        });
        Self { values, count: n * (n - 1) / 2, listed }
    }

    fn nth(&self, index: usize) -> f64 {
        match &self.listed {
            Some(list) => list.get(index).copied().unwrap_or(f64::NAN),
            None => self.bisect(index),
        }
    }

    /// Smallest slope (to one part in 2^50 of the range) with more than `index` slopes at or below
    /// it.
    fn bisect(&self, index: usize) -> f64 {
        let steepest =
            self.values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
        let (mut low, mut high) = (-steepest, steepest);
        for _ in 0..52 {
            let middle = f64::midpoint(low, high);
            if self.at_or_below(middle) > index {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Number of slopes at or below `slope`: pairs that do not rise after subtracting this slope.
    fn at_or_below(&self, slope: f64) -> usize {
        let mut tilted: Vec<f64> =
            self.values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
        // In reverse order, rising pairs are strict inversions; all other pairs do not rise.
        tilted.reverse();
        self.count - inversions(&mut tilted)
    }
}

#[cfg(test)]
mod tests {
    use crate::series::theil_sen::{LISTED, PairSlopes, theil_sen};

    #[test]
    fn one_outlier_does_not_move_the_slope() {
        let mut values: Vec<f64> = (0..11).map(|i| 5.0 + 2.0 * f64::from(i)).collect();
        values[4] = 1_000.0;
        let slope = theil_sen(&values, 0.95).unwrap();
        assert_eq!(slope.slope, 2.0);
        assert!(slope.interval.unwrap().contains(2.0));
        assert!((slope.intercept - 7.0).abs() < 2.1, "{slope:?}");
    }

    #[test]
    fn flat_values_have_zero_slope_and_no_interval() {
        let flat = theil_sen(&[4.0; 5], 0.95).unwrap();
        assert_eq!((flat.slope, flat.intercept, flat.interval), (0.0, 4.0, None));
        assert!(theil_sen(&[4.0], 0.95).is_err());
    }

    #[test]
    fn slope_bisection_agrees_with_the_full_list() {
        let values: Vec<f64> =
            (0..400).map(|i| f64::from(i) * 0.3 + f64::from(i * 7919 % 401) / 10.0).collect();
        let listed = PairSlopes::new(&values);
        let counted = PairSlopes { values: &values, count: listed.count, listed: None };
        for index in [0, 10, 39_900, 50_000, listed.count - 1] {
            let (left, right) = (listed.nth(index), counted.nth(index));
            assert!((left - right).abs() < 1e-10, "{index}: {left} {right}");
        }
    }

    #[test]
    fn slopes_of_long_series_are_counted_not_listed() {
        let length = u32::try_from(LISTED).unwrap() + 500;
        let values: Vec<f64> =
            (0..length).map(|i| f64::from(i) * 0.25 + f64::from(i * 7919 % 2003)).collect();
        let slope = theil_sen(&values, 0.95).unwrap();
        assert!((slope.slope - 0.25).abs() < 0.1, "{slope:?}");
        assert!(slope.interval.unwrap().contains(slope.slope));
    }
}
