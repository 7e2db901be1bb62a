//! The Mann-Whitney (Wilcoxon rank-sum) test: does one of two unpaired groups tend to be larger?
//!
//! Not here: the size of the shift (`hodges_lehmann`). The test is used for imported results
//! without rounds; where rounds exist, the paired test is as powerful and robust against drift. The
//! p-value is exact up to 100 values in both groups without ties, exact conditional on the midranks
//! up to 40 values with ties, and otherwise normal with corrections for ties and continuity.
//!
//! Source: Mann & Whitney, Annals of Mathematical Statistics 18, 1947; Lehmann, "Nonparametrics",
//! 1975.

use crate::distribution::normal_two_sided;
use crate::error::StatsError;
use crate::inference::null_counts::{RANK_SUM_TIED_LIMIT, rank_sum_counts, subset_sum_counts};
use crate::input::{require_count, require_finite};
use crate::interval::TestMethod;
use crate::rank::{Ranks, midranks};

/// The result of a Mann-Whitney test of the groups a and b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U of the first group: pairs in which a is larger, ties counting one half.
    pub u_a: f64,
    /// U of the second group.
    pub u_b: f64,
    /// True if any values are equal.
    pub ties: bool,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Method of the p-value.
    pub method: TestMethod,
}

/// Mann-Whitney test. Values are not rounded: only exactly equal values are tied.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<MannWhitney, StatsError> {
    mann_whitney_of(a, b, None)
}

/// Mann-Whitney test by the normal approximation at any size.
pub fn mann_whitney_normal(
    a: &[f64],
    b: &[f64],
    continuity_correction: bool,
) -> Result<MannWhitney, StatsError> {
    mann_whitney_of(a, b, Some(continuity_correction))
}

/// Smallest two-sided p-value that m against n runs can reach: 2 / C(m+n, m).
pub fn mann_whitney_smallest_p(m: u32, n: u32) -> f64 {
    let mut arrangements = 1.0_f64;
    for i in 1..=m.min(n) {
        arrangements *= (f64::from(m.max(n)) + f64::from(i)) / f64::from(i);
        if arrangements.is_infinite() {
            return 0.0;
        }
    }
    (2.0 / arrangements).min(1.0)
}

fn mann_whitney_of(a: &[f64], b: &[f64], normal: Option<bool>) -> Result<MannWhitney, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 1)?;
    require_count(b.len(), 1)?;
    let ranks = midranks(&[a, b].concat());
    let (m, n) = (a.len(), b.len());
    let doubled_rank_sum: usize = ranks.doubled[..m].iter().sum();
    let doubled_u = doubled_rank_sum - m * (m + 1);
    let exact = if normal.is_some() { None } else { exact_p(&ranks, m, n, doubled_u) };
    let u_a = doubled_u as f64 / 2.0;
    Ok(MannWhitney {
        u_a,
        u_b: m as f64 * n as f64 - u_a,
        ties: !ranks.tie_sizes.is_empty(),
        p_value: exact.unwrap_or_else(|| normal_p(&ranks, m, n, u_a, normal.unwrap_or(true))),
        method: if exact.is_some() { TestMethod::Exact } else { TestMethod::Normal },
    })
}

/// Exact P(|U - E| >= observed distance); `None` above the limits. With ties the distribution may
/// be asymmetric, so both tails are summed by distance.
fn exact_p(ranks: &Ranks, m: usize, n: usize, doubled_u: usize) -> Option<f64> {
    let doubled_mean = m * n;
    let distance = doubled_u.abs_diff(doubled_mean);
    if ranks.tie_sizes.is_empty() {
        let counts = rank_sum_counts(m, n)?;
        let far = |u: usize| (2 * u).abs_diff(doubled_mean) >= distance;
        let beyond: u128 =
            counts.iter().enumerate().filter(|(u, _)| far(*u)).map(|(_, count)| count).sum();
        return Some(beyond as f64 / counts.iter().sum::<u128>() as f64);
    }
    if m + n > RANK_SUM_TIED_LIMIT {
        return None;
    }
    // Distances from the mean do not depend on the group that is summed, so use the smaller one.
    let size = m.min(n);
    let counts = subset_sum_counts(&ranks.doubled, size);
    let centre = size * (m + n + 1);
    let beyond: f64 = (counts.iter().enumerate())
        .filter(|(sum, _)| sum.abs_diff(centre) >= distance)
        .map(|(_, count)| count)
        .sum();
    Some((beyond / counts.iter().sum::<f64>()).min(1.0))
}

fn normal_p(ranks: &Ranks, m: usize, n: usize, u: f64, continuity_correction: bool) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let total = m + n;
    let ties = ranks.tie_term() / (total * (total - 1.0));
    let variance = m * n / 12.0 * (total + 1.0 - ties);
    if variance <= 0.0 || !variance.is_finite() {
        return 1.0;
    }
    let correction = if continuity_correction { 0.5 } else { 0.0 };
    let distance = ((u - m * n / 2.0).abs() - correction).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use crate::inference::mann_whitney::{
        mann_whitney, mann_whitney_normal, mann_whitney_smallest_p,
    };
    use crate::interval::TestMethod;

    /// For {1, 2} against {3, 4}, two of the six arrangements are as extreme as this one.
    #[test]
    fn two_against_two_matches_the_hand_calculation() {
        let result = mann_whitney(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
        assert_eq!((result.u_a, result.u_b), (0.0, 4.0));
        assert!((result.p_value - 1.0 / 3.0).abs() < 1e-15);
    }

    /// For {1, 1} against {1, 2, 2} the midranks are 2, 2, 2, 4.5, 4.5, R_a = 4 and E = 6. Of the
    /// ten pairs 3 sum to 4, 6 to 6.5, and 1 to 9; the 3 and the 1 are at least 2 away from 6.
    #[test]
    fn ties_match_the_hand_calculation() {
        let result = mann_whitney(&[1.0, 1.0], &[1.0, 2.0, 2.0]).unwrap();
        assert!(result.ties);
        assert!((result.p_value - 0.4).abs() < 1e-15);
    }

    #[test]
    fn the_order_of_the_groups_does_not_matter() {
        let (a, b) = ([1.0, 5.0, 5.0, 9.0], [5.0, 6.0, 7.0, 7.0, 8.0, 10.0, 11.0]);
        let forward = mann_whitney(&a, &b).unwrap();
        let backward = mann_whitney(&b, &a).unwrap();
        assert_eq!(forward.p_value, backward.p_value);
        assert_eq!(forward.u_a, backward.u_b);
    }

    #[test]
    fn equal_values_have_p_value_1() {
        assert_eq!(mann_whitney(&[2.0; 4], &[2.0; 5]).unwrap().p_value, 1.0);
        assert_eq!(mann_whitney(&[2.0; 400], &[2.0; 500]).unwrap().p_value, 1.0);
        assert_eq!(mann_whitney(&[2.0], &[3.0]).unwrap().p_value, 1.0);
    }

    #[test]
    fn the_smallest_possible_p_is_reached_and_reported() {
        for n in 2..=10_u32 {
            let low: Vec<f64> = (0..n).map(f64::from).collect();
            let high: Vec<f64> = (0..n).map(|value| f64::from(value) + 100.0).collect();
            let p_value = mann_whitney(&low, &high).unwrap().p_value;
            assert!((p_value - mann_whitney_smallest_p(n, n)).abs() < 1e-15);
        }
        assert_eq!(mann_whitney_smallest_p(u32::MAX, u32::MAX), 0.0);
        assert_eq!(mann_whitney_smallest_p(0, 9), 1.0);
    }

    #[test]
    fn exact_and_normal_p_values_meet_at_the_limit() {
        let a: Vec<f64> = (0..50).map(|i| f64::from(i * 2)).collect();
        let b: Vec<f64> = (0..50).map(|i| f64::from(i * 2) + 17.0).collect();
        let exact = mann_whitney(&a, &b).unwrap();
        let normal = mann_whitney_normal(&a, &b, true).unwrap();
        assert_eq!((exact.method, normal.method), (TestMethod::Exact, TestMethod::Normal));
        assert!((exact.p_value - normal.p_value).abs() < 0.001, "{exact:?} {normal:?}");
    }
}
