//! The exact null distributions of the signed-rank statistic W and of the rank-sum statistic U, by
//! dynamic programming, and the rank k at which an exact interval is cut.
//!
//! Not here: tests and estimates that use them. The cost is the number of ranks times the largest
//! sum, as arrangements are counted, not enumerated. Sources: Wilcoxon, Biometrics Bulletin 1,
//! 1945; Mann & Whitney, Annals of Mathematical Statistics 18, 1947; the tie-conditional form is
//! the shift algorithm of Streitberg & Röhmel, 1986.

use crate::distribution::normal_quantile;

/// Largest number of rounds for which the signed-rank p-value is exact (60 microseconds at the
/// limit).
pub const SIGNED_RANK_EXACT_LIMIT: usize = 50;

/// Largest number of values in both groups together for which the rank-sum p-value is exact with
/// ties.
pub const RANK_SUM_TIED_LIMIT: usize = 40;

/// Largest number of values in both groups together for which the distribution of U without ties is
/// exact: C(100, 50) still fits 128 bits.
pub const RANK_SUM_EXACT_LIMIT: usize = 100;

/// Largest number of ranks for which the distribution is computed: half a million probabilities.
pub const MOST_SIGNED_RANKS: usize = 1_000;

/// Largest number of rounds for which the interval's rank comes from the exact distribution.
const SIGNED_RANK_INTERVAL_LIMIT: usize = 100;

/// P(sum = s) for s = 0..=total, when each rank is in the sum with probability one half. `ranks`
/// are doubled midranks, so the index is twice W. Accepts at most [`MOST_SIGNED_RANKS`] ranks.
///
/// Subsets are counted by adding non-negative numbers below 2^1000, and the counts are scaled at
/// the end.
pub(crate) fn sign_sum_probabilities(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut counts = vec![0.0; total + 1];
    let mut before = vec![0.0; total + 1];
    counts[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        before[..=reached].copy_from_slice(&counts[..=reached]);
        for (target, source) in counts[rank..].iter_mut().zip(&before[..=reached]) {
            *target += source;
        }
        reached += rank;
    }
    let scale = ranks.iter().fold(1.0, |scale, _| scale * 0.5);
    for count in &mut counts {
        *count *= scale;
    }
    counts
}

/// P(W = w) for w = 0..=n(n+1)/2 without ties; `None` above [`MOST_SIGNED_RANKS`].
pub fn signed_rank_probabilities(n: usize) -> Option<Vec<f64>> {
    (n <= MOST_SIGNED_RANKS).then(|| sign_sum_probabilities(&(1..=n).collect::<Vec<_>>()))
}

/// Number of arrangements of m and n values with U = u, for u = 0..=mn; they sum to C(m+n, m).
/// `None` above [`RANK_SUM_EXACT_LIMIT`] values, where the counts would overflow.
///
/// The counts are the coefficients of the Gaussian binomial, the product over i = 1..=m of (1 -
/// q^(n+i)) / (1 - q^i), which is a polynomial after every i.
pub fn rank_sum_counts(m: usize, n: usize) -> Option<Vec<u128>> {
    if m.checked_add(n)? > RANK_SUM_EXACT_LIMIT {
        return None;
    }
    let (m, n) = (m.min(n), m.max(n));
    let size = m * n + 1;
    let mut counts = vec![0_i128; size];
    counts[0] = 1;
    for i in 1..=m {
        for power in (n + i..size).rev() {
            counts[power] -= counts[power - n - i];
        }
        for power in i..size {
            counts[power] += counts[power - i];
        }
    }
    Some(counts.into_iter().map(i128::unsigned_abs).collect())
}

/// Number of subsets of `size` ranks for each sum; the index is the sum of doubled ranks. The
/// counts are exact in a double up to [`RANK_SUM_TIED_LIMIT`] ranks, since C(40, 20) is below 2^53.
pub(crate) fn subset_sum_counts(ranks: &[usize], size: usize) -> Vec<f64> {
    let mut descending = ranks.to_vec();
    descending.sort_unstable_by(|left, right| right.cmp(left));
    let largest: usize = descending.iter().take(size).sum();
    let width = largest + 1;
    let mut counts = vec![0.0; (size + 1) * width];
    counts[0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        for taken in (1..=size.min(seen + 1)).rev() {
            let (below, here) = counts.split_at_mut(taken * width);
            let below = &below[(taken - 1) * width..];
            for (target, source) in here[rank.min(width)..width].iter_mut().zip(below) {
                *target += source;
            }
        }
    }
    counts.split_off(size * width)
}

/// Cut of an exact interval: the k-th smallest and the k-th largest average or difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CutRank {
    /// Rank, counted from 1.
    pub(crate) k: usize,
    /// 1 - 2 P(statistic <= k - 1), `None` where the rank is approximate.
    pub(crate) achieved: Option<f64>,
}

/// Cut rank k = max(1, smallest k with P(statistic <= k) >= tail). `None` if even k = 1 does not
/// reach the confidence because P(statistic = 0) alone exceeds the tail.
fn cut_rank(probabilities: &[f64], tail: f64) -> Option<CutRank> {
    let mut up_to = 0.0;
    for (k, &probability) in probabilities.iter().enumerate() {
        // With this tolerance, rounding errors cannot reject a probability that equals the tail.
        if k == 0 && probability > tail * (1.0 + 1e-12) {
            return None;
        }
        let below = up_to;
        up_to += probability;
        if k >= 1 && up_to >= tail * (1.0 - 1e-12) {
            return Some(CutRank { k, achieved: Some(1.0 - 2.0 * below) });
        }
    }
    None
}

/// Normal approximation of the cut rank, with continuity correction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held at 1 from below; far below 2^53 from above"
)]
fn cut_rank_normal(mean: f64, deviation: f64, tail: f64) -> CutRank {
    let k = (mean + normal_quantile(tail) * deviation - 0.5).ceil().max(1.0);
    CutRank { k: k as usize, achieved: None }
}

/// Cut ranks of the Walsh averages of n values, one for each tail (alpha/2).
pub(crate) fn signed_rank_cuts<const T: usize>(n: usize, tails: [f64; T]) -> [Option<CutRank>; T] {
    if n <= SIGNED_RANK_INTERVAL_LIMIT {
        let probabilities = sign_sum_probabilities(&(1..=n).collect::<Vec<_>>());
        return tails.map(|tail| cut_rank(&probabilities, tail));
    }
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    tails.map(|tail| Some(cut_rank_normal(mean, deviation, tail)))
}

/// Cut ranks of the differences between m and n values, one for each tail (alpha/2).
pub(crate) fn rank_sum_cuts<const T: usize>(
    m: usize,
    n: usize,
    tails: [f64; T],
) -> [Option<CutRank>; T] {
    if let Some(counts) = rank_sum_counts(m, n) {
        let total = counts.iter().sum::<u128>() as f64;
        let probabilities: Vec<f64> =
            counts.into_iter().map(|count| count as f64 / total).collect();
        return tails.map(|tail| cut_rank(&probabilities, tail));
    }
    let (m, n) = (m as f64, n as f64);
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    tails.map(|tail| {
        // With one value against many, the probability of the smallest difference may exceed the
        // tail.
        let possible = m.min(n) >= 2.0 || 1.0 / (m + n) <= tail;
        possible.then(|| cut_rank_normal(m * n / 2.0, deviation, tail))
    })
}

#[cfg(test)]
mod tests {
    use crate::inference::null_counts::{
        cut_rank_normal, rank_sum_counts, rank_sum_cuts, sign_sum_probabilities, signed_rank_cuts,
        signed_rank_probabilities, subset_sum_counts,
    };

    /// n = 3: sums 0 to 6 of {1, 2, 3} occur 1, 1, 1, 2, 1, 1, 1 times.
    #[test]
    fn signed_rank_counts_of_three_match_the_hand_calculation() {
        let expected = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0].map(|count| count / 8.0);
        assert_eq!(signed_rank_probabilities(3), Some(expected.to_vec()));
        assert_eq!(signed_rank_probabilities(0), Some(vec![1.0]));
        assert_eq!(signed_rank_probabilities(1_001), None);
        let large = signed_rank_probabilities(1_000).unwrap();
        assert!((large.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// Sums of the doubled midranks 3, 3, 6 (two tied, then one): 0, 3, 3, 6, 6, 9, 9, 12.
    #[test]
    fn tied_rank_counts_match_the_hand_calculation() {
        let probabilities = sign_sum_probabilities(&[3, 3, 6]);
        let at = |sum: usize| probabilities[sum] * 8.0;
        assert_eq!([at(0), at(3), at(6), at(9), at(12)], [1.0, 2.0, 2.0, 2.0, 1.0]);
        assert_eq!(probabilities.iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn rank_sum_counts_sum_to_the_binomial() {
        let sum = |m, n| rank_sum_counts(m, n).unwrap().iter().sum::<u128>();
        assert_eq!(sum(5, 5), 252);
        assert_eq!(sum(8, 7), 6_435);
        assert_eq!(sum(10, 10), 184_756);
        assert_eq!(sum(0, 4), 1);
        assert_eq!(sum(50, 50), 100_891_344_545_564_193_334_812_497_256);
        assert_eq!(rank_sum_counts(50, 51), None);
        assert_eq!(rank_sum_counts(usize::MAX, 1), None);
    }

    #[test]
    fn subsets_of_untied_ranks_are_the_counts_of_u() {
        let ranks: Vec<usize> = (1..=9).map(|rank| 2 * rank).collect();
        let sums = subset_sum_counts(&ranks, 4);
        let counts = rank_sum_counts(4, 5).unwrap();
        for (u, &count) in counts.iter().enumerate() {
            // R = U + m(m+1)/2, doubled.
            assert_eq!(sums[2 * (u + 10)], count as f64, "u = {u}");
        }
        assert_eq!(sums.iter().sum::<f64>(), 126.0);
    }

    #[test]
    fn the_interval_begins_at_six_rounds_and_at_four_runs_a_side() {
        assert_eq!(signed_rank_cuts(5, [0.025])[0], None);
        let six = signed_rank_cuts(6, [0.025])[0].unwrap();
        assert_eq!((six.k, six.achieved), (1, Some(0.968_75)));
        assert_eq!(signed_rank_cuts(5, [0.05])[0].unwrap().k, 1);
        assert_eq!(rank_sum_cuts(3, 3, [0.025])[0], None);
        assert_eq!(rank_sum_cuts(4, 4, [0.025])[0].unwrap().k, 1);
    }

    /// Cut ranks for five against five values (mean 12.5, variance 25 * 11 / 12), and for eight
    /// against seven (28, 56 * 16 / 12).
    #[test]
    fn normal_cut_ranks_match_the_hand_calculation() {
        assert_eq!(cut_rank_normal(12.5, (275.0_f64 / 12.0).sqrt(), 0.025).k, 3);
        assert_eq!(cut_rank_normal(28.0, (896.0_f64 / 12.0).sqrt(), 0.025).k, 11);
    }

    #[test]
    fn normal_and_exact_cut_ranks_meet() {
        for n in [60, 80, 100] {
            for tail in [0.005, 0.025, 0.05] {
                let exact = signed_rank_cuts(n, [tail])[0].unwrap().k;
                let real = n as f64;
                let mean = real * (real + 1.0) / 4.0;
                let deviation = (real * (real + 1.0) * (2.0 * real + 1.0) / 24.0).sqrt();
                let normal = cut_rank_normal(mean, deviation, tail).k;
                // The approximation is within two per cent of the exact rank.
                assert!(
                    exact.abs_diff(normal) * 50 <= exact,
                    "n {n} tail {tail}: {exact} {normal}"
                );
            }
        }
    }
}
