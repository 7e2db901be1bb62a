//! The Mann-Kendall test for a monotone trend: drift over the rounds, or within a run.
//!
//! Not here: the slope of the trend (`theil_sen`). Inversions are counted by a merge sort in O(n
//! log n). The p-value is exact up to 20 values without ties, otherwise normal with corrections for
//! ties and continuity.
//!
//! Sources: Mann, Econometrica 13, 1945; Kendall, "Rank Correlation Methods", 1975.

use crate::distribution::normal_two_sided;
use crate::error::StatsError;
use crate::input::{require_at_most, require_count, require_finite};
use crate::interval::TestMethod;
use crate::rank::midranks;

/// Largest n for which the p-value is exact.
const EXACT_LIMIT: usize = 20;

/// Largest n; the number of pairs must fit an i64.
const LONGEST: usize = 1 << 30;

/// The result of a trend test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Number of rising pairs minus number of falling pairs.
    pub s: f64,
    /// Tie-corrected variance of S without trend.
    pub variance: f64,
    /// S with continuity correction, divided by its standard deviation; 0 without spread.
    pub z: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Method of the p-value.
    pub method: TestMethod,
}

/// Mann-Kendall test of values in time order, at least three.
pub fn mann_kendall(values: &[f64]) -> Result<MannKendall, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 3)?;
    require_at_most(values.len(), LONGEST)?;
    let ranks = midranks(values);
    let n = values.len() as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let tied: f64 = ranks.tie_sizes.iter().map(|&t| t as f64 * (t as f64 - 1.0) / 2.0).sum();
    let falling = inversions(&mut ranks.doubled.clone());
    let s = pairs - tied - 2.0 * falling as f64;
    let tie_variance: f64 =
        ranks.tie_sizes.iter().map(|&t| t as f64).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tie_variance) / 18.0;
    let z =
        if variance > 0.0 { s.signum() * (s.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
    let exact = ranks.tie_sizes.is_empty() && values.len() <= EXACT_LIMIT;
    let p_value = if exact { exact_p(values.len(), falling) } else { normal_two_sided(z) };
    let method = if exact { TestMethod::Exact } else { TestMethod::Normal };
    Ok(MannKendall { s, variance, z, p_value, method })
}

/// Exact p-value: twice the smaller tail of the number of inversions of a random order (the
/// Mahonian numbers).
fn exact_p(n: usize, falling: usize) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut probability = vec![0.0; pairs + 1];
    probability[0] = 1.0;
    for length in 2..=n {
        // Inserting a value into an order of length - 1 adds 0..length inversions with equal
        // probability.
        let before = probability.clone();
        for (inversions, target) in probability.iter_mut().enumerate() {
            let from = (inversions + 1).saturating_sub(length);
            *target = before[from..=inversions].iter().sum::<f64>() / length as f64;
        }
    }
    let tail = falling.min(pairs - falling);
    (2.0 * probability[..=tail].iter().sum::<f64>()).min(1.0)
}

/// Counts the pairs in which a later value is smaller than an earlier one; sorts the slice.
pub(crate) fn inversions<T: PartialOrd + Copy>(values: &mut [T]) -> usize {
    let mut spare = values.to_vec();
    count_inversions(values, &mut spare)
}

fn count_inversions<T: PartialOrd + Copy>(values: &mut [T], spare: &mut [T]) -> usize {
    let n = values.len();
    if n < 2 {
        return 0;
    }
    let middle = n / 2;
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    let mut count = count_inversions(&mut values[..middle], spare_left)
        + count_inversions(&mut values[middle..], spare_right);
    let (mut left, mut right) = (0, middle);
    for slot in spare.iter_mut() {
        if right == n || (left < middle && values[left] <= values[right]) {
            *slot = values[left];
            left += 1;
        } else {
            count += middle - left;
            *slot = values[right];
            right += 1;
        }
    }
    values.copy_from_slice(spare);
    count
}

#[cfg(test)]
mod tests {
    use crate::interval::TestMethod;
    use crate::series::mann_kendall::{inversions, mann_kendall};

    #[test]
    fn kendall_s_matches_hand_counted_inversions() {
        assert_eq!(inversions(&mut [3, 1, 2]), 2);
        assert_eq!(inversions(&mut [1, 1, 1]), 0);
        assert_eq!(inversions(&mut [5, 4, 3, 2, 1]), 10);
        assert_eq!(inversions::<u8>(&mut []), 0);
    }

    /// Only one of the 24 orders of four values has S = 6, and one S = -6.
    #[test]
    fn four_rising_values_match_the_hand_calculation() {
        let trend = mann_kendall(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((trend.s, trend.method), (6.0, TestMethod::Exact));
        assert!((trend.p_value - 2.0 / 24.0).abs() < 1e-15);
        let falling = mann_kendall(&[4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((falling.s, falling.p_value), (-6.0, trend.p_value));
    }

    #[test]
    fn equal_values_have_no_trend() {
        let trend = mann_kendall(&[2.0; 10]).unwrap();
        assert_eq!((trend.s, trend.z, trend.p_value), (0.0, 0.0, 1.0));
        assert!(mann_kendall(&[1.0, 2.0]).is_err());
    }

    #[test]
    fn inversion_counting_agrees_with_the_definition() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i * 29 % 31)).collect();
        let mut s = 0.0;
        for i in 0..values.len() {
            for j in i + 1..values.len() {
                s += if values[j] > values[i] { 1.0 } else { 0.0 };
                s -= if values[j] < values[i] { 1.0 } else { 0.0 };
            }
        }
        assert_eq!(mann_kendall(&values).unwrap().s, s);
    }
}
