//! The Wilcoxon signed-rank test: are the differences between paired values centred on zero?
//!
//! Not here: the estimate of how large the difference is (`hodges_lehmann`). The
//! p-value is exact, conditional on the ties, up to 50 non-zero differences; above that the normal
//! approximation with corrections for ties and continuity.
//!
//! Sources: Wilcoxon, Biometrics Bulletin 1, 1945; ties by midranks as in Lehmann,
//! "Nonparametrics", 1975.

use crate::distribution::normal_two_sided;
use crate::error::StatsError;
use crate::inference::null_counts::{SIGNED_RANK_EXACT_LIMIT, sign_sum_probabilities};
use crate::input::{largest_magnitude, require_count, require_finite, require_positive_parameter};
use crate::interval::TestMethod;
use crate::judging::rounds::RELATIVE_RESOLUTION;
use crate::rank::{Ranks, midranks, quantised};

/// The result of a signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Number of differences other than zero, which take part in the test.
    pub n: usize,
    /// Number of differences of zero, which are dropped.
    pub zeros: usize,
    /// True if some magnitudes are equal.
    pub ties: bool,
    /// Sum of the ranks of the positive differences; a multiple of one half.
    pub w_plus: f64,
    /// Two-sided p-value; 1 if every difference is zero.
    pub p_value: f64,
    /// Method of the p-value.
    pub method: TestMethod,
}

/// Signed-rank test of at least one difference, in any unit. Differences are rounded to 1e-10 of
/// the largest magnitude before ranking, since floating-point noise would otherwise break ties.
pub fn signed_rank(differences: &[f64]) -> Result<SignedRank, StatsError> {
    require_finite(differences)?;
    signed_rank_of(differences, RELATIVE_RESOLUTION * largest_magnitude(differences), None)
}

/// Signed-rank test with rounding to `resolution`, in the unit of the differences. Log ratios use
/// [`crate::LOG_RATIO_RESOLUTION`].
pub fn signed_rank_at(differences: &[f64], resolution: f64) -> Result<SignedRank, StatsError> {
    require_positive_parameter("resolution", resolution)?;
    signed_rank_of(differences, resolution, None)
}

/// Runs the test with the normal approximation at any n, to show the error of the approximation at
/// few rounds.
pub fn signed_rank_normal(
    differences: &[f64],
    continuity_correction: bool,
) -> Result<SignedRank, StatsError> {
    require_finite(differences)?;
    let resolution = RELATIVE_RESOLUTION * largest_magnitude(differences);
    signed_rank_of(differences, resolution, Some(continuity_correction))
}

/// Smallest two-sided p-value that `n` rounds can reach: 2 / 2^n.
pub fn signed_rank_smallest_p(n: u32) -> f64 {
    (2.0 * 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX))).min(1.0)
}

fn signed_rank_of(
    differences: &[f64],
    resolution: f64,
    normal: Option<bool>,
) -> Result<SignedRank, StatsError> {
    require_finite(differences)?;
    require_count(differences.len(), 1)?;
    let rounded = quantised(differences, resolution);
    let used: Vec<f64> = rounded.iter().copied().filter(|&value| value != 0.0).collect();
    let ranks = midranks(&used.iter().map(|value| value.abs()).collect::<Vec<_>>());
    let doubled_plus: usize = ranks
        .doubled
        .iter()
        .zip(&used)
        .filter(|(_, value)| **value > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    let exact = normal.is_none() && used.len() <= SIGNED_RANK_EXACT_LIMIT;
    let p_value = if exact {
        exact_p(&ranks, doubled_plus)
    } else {
        normal_p(&ranks, doubled_plus, normal.unwrap_or(true))
    };
    Ok(SignedRank {
        n: used.len(),
        zeros: differences.len() - used.len(),
        ties: !ranks.tie_sizes.is_empty(),
        w_plus: doubled_plus as f64 / 2.0,
        p_value,
        method: if exact { TestMethod::Exact } else { TestMethod::Normal },
    })
}

/// Exact p-value: twice the smaller tail, since the null distribution is symmetric with and without
/// ties.
fn exact_p(ranks: &Ranks, doubled_plus: usize) -> f64 {
    let probabilities = sign_sum_probabilities(&ranks.doubled);
    let mirrored = probabilities.len() - 1 - doubled_plus;
    let tail: f64 = probabilities[..=doubled_plus.min(mirrored)].iter().sum();
    (2.0 * tail).min(1.0)
}

fn normal_p(ranks: &Ranks, doubled_plus: usize, continuity_correction: bool) -> f64 {
    let n = ranks.doubled.len() as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ranks.tie_term() / 48.0;
    if variance <= 0.0 {
        return 1.0;
    }
    let correction = if continuity_correction { 0.5 } else { 0.0 };
    let distance = ((doubled_plus as f64 / 2.0 - mean).abs() - correction).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use crate::inference::signed_rank::{
        signed_rank, signed_rank_at, signed_rank_normal, signed_rank_smallest_p,
    };
    use crate::interval::TestMethod;

    /// Ranks 1, 2, 3 with signs + + -: W+ = 3, and P(W <= 3) = 5/8, so the p-value is 1.
    #[test]
    fn signed_rank_of_three_matches_the_hand_calculation() {
        let result = signed_rank(&[1.0, 2.0, -3.0]).unwrap();
        assert_eq!((result.n, result.w_plus, result.p_value), (3, 3.0, 1.0));
        // If all three differences are positive, the p-value is 2/8.
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0]).unwrap().p_value, 0.25);
    }

    #[test]
    fn zeros_are_dropped_and_counted() {
        let result = signed_rank(&[0.0, 1.0, 0.0, 2.0]).unwrap();
        assert_eq!((result.n, result.zeros, result.p_value), (2, 2, 0.5));
        let nothing = signed_rank(&[0.0, 0.0]).unwrap();
        assert_eq!((nothing.n, nothing.p_value), (0, 1.0));
    }

    #[test]
    fn noise_does_not_break_ties() {
        let noisy = [50.3 - 52.1, 48.8 - 50.7, 52.0 - 53.9, 48.1 - 50.0];
        let clean = [-1.8, -1.9, -1.9, -1.9];
        assert_eq!(signed_rank(&noisy), signed_rank(&clean));
        // A difference that consists only of floating-point noise is a zero.
        assert_eq!(signed_rank(&[0.1 + 0.2 - 0.3, 1.0]).unwrap().zeros, 1);
        assert_eq!(signed_rank_at(&[1e-11, -1e-11, 0.5], 1e-10).unwrap().zeros, 2);
    }

    #[test]
    fn the_smallest_possible_p_is_reached_and_reported() {
        for n in 1..=12_u32 {
            let same_sign: Vec<f64> = (1..=n).map(f64::from).collect();
            assert_eq!(signed_rank(&same_sign).unwrap().p_value, signed_rank_smallest_p(n));
        }
        assert_eq!(signed_rank_smallest_p(0), 1.0);
        assert_eq!(signed_rank_smallest_p(u32::MAX), 0.0);
    }

    #[test]
    fn exact_and_normal_p_values_meet_at_the_limit() {
        let group = |n: u32| -> Vec<f64> {
            (1..=n).map(|i| f64::from(i) * if i % 3 == 0 { -1.0 } else { 1.0 }).collect()
        };
        let exact = signed_rank(&group(50)).unwrap();
        let normal = signed_rank_normal(&group(50), true).unwrap();
        assert_eq!((exact.method, normal.method), (TestMethod::Exact, TestMethod::Normal));
        assert!((exact.p_value - normal.p_value).abs() < 0.001, "{exact:?} {normal:?}");
        assert_eq!(signed_rank(&group(51)).unwrap().method, TestMethod::Normal);
    }
}
