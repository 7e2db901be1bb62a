//! Permutation tests: sign flips of paired differences, splits of two groups, and the sign test.
//!
//! What does not live here: rank tests, which are the default. These test the mean, so one wild
//! round can decide them. All arrangements are counted while that is cheap; beyond, a seeded sample
//! of them.
//!
//! Sources: Fisher, "The Design of Experiments", 1935; the added one of the sampled p-value:
//! Phipson & Smyth, Statistical Applications in Genetics 9, 2010.

use crate::distribution::binomial_cumulative;
use crate::error::StatsError;
use crate::generator::Generator;
use crate::input::{require_count, require_finite};
use crate::interval::TestMethod;

/// Up to this many arrangements every one is counted.
pub const ARRANGEMENTS_COUNTED: u64 = 1 << 18;

/// Arrangements sampled above that.
pub const ARRANGEMENTS_SAMPLED: u64 = 20_000;

/// Means closer than this fraction of the largest possible one are equal.
const TOLERANCE: f64 = 1e-9;

/// The result of a permutation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permutation {
    /// Two-sided p-value.
    pub p_value: f64,
    /// Arrangements counted or sampled.
    pub arrangements: u64,
    /// Exact or Monte Carlo.
    pub method: TestMethod,
}

/// Sign-flip test of the mean of paired differences, at least one. `seed` matters only above 18
/// values.
pub fn sign_flip_test(differences: &[f64], seed: u64) -> Result<Permutation, StatsError> {
    require_finite(differences)?;
    require_count(differences.len(), 1)?;
    let observed = differences.iter().sum::<f64>().abs();
    let slack = TOLERANCE * differences.iter().map(|value| value.abs()).sum::<f64>();
    let n = differences.len();
    if n < 64 && 1_u64 << n <= ARRANGEMENTS_COUNTED {
        // Half the patterns suffice: the other half are their mirror images.
        let arrangements = 1_u64 << (n - 1);
        let sum = |pattern: u64| -> f64 {
            let signed =
                |(i, value): (usize, &f64)| if pattern >> i & 1 == 1 { -value } else { *value };
            differences.iter().enumerate().map(signed).sum()
        };
        let far =
            (0..arrangements).filter(|&pattern| sum(pattern).abs() >= observed - slack).count();
        let p_value = far as f64 / arrangements as f64;
        return Ok(Permutation {
            p_value,
            arrangements: 2 * arrangements,
            method: TestMethod::Exact,
        });
    }
    let mut generator = Generator::seeded(seed);
    Ok(sampled(|| {
        let sum: f64 =
            differences.iter().map(|value| if generator.coin() { -value } else { *value }).sum();
        sum.abs() >= observed - slack
    }))
}

/// Permutation test of the difference of means of two groups with at least one value each. `seed`
/// matters only when the splits are too many to count.
pub fn permutation_test(a: &[f64], b: &[f64], seed: u64) -> Result<Permutation, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 1)?;
    require_count(b.len(), 1)?;
    let mut all = [a, b].concat();
    let (m, n) = (a.len() as f64, b.len() as f64);
    let total: f64 = all.iter().sum();
    // The difference of means of a split whose first group sums to `sum`.
    let distance = |sum: f64| ((total - sum) / n - sum / m).abs();
    let observed = distance(a.iter().sum());
    let scale = all.iter().map(|value| value.abs()).sum::<f64>() / m.min(n);
    let far = |sum: f64| distance(sum) >= observed - TOLERANCE * scale;
    if let Some(arrangements) = splits(all.len(), a.len()) {
        let mut count = 0_u64;
        for_each_subset(all.len(), a.len(), |subset| {
            count += u64::from(far(subset.iter().map(|&place| all[place]).sum()));
        });
        let p_value = count as f64 / arrangements as f64;
        return Ok(Permutation { p_value, arrangements, method: TestMethod::Exact });
    }
    let mut generator = Generator::seeded(seed);
    Ok(sampled(|| {
        generator.choose_front(&mut all, a.len());
        far(all[..a.len()].iter().sum())
    }))
}

/// The sign test of paired differences: only the direction of each round counts. Exact; zeros are
/// dropped.
///
/// Source: Arbuthnott, Philosophical Transactions 27, 1710; the weakest assumption and the weakest
/// test.
pub fn sign_test(differences: &[f64]) -> Result<f64, StatsError> {
    require_finite(differences)?;
    require_count(differences.len(), 1)?;
    let positive = differences.iter().filter(|&&value| value > 0.0).count();
    let negative = differences.iter().filter(|&&value| value < 0.0).count();
    let n = positive + negative;
    if n == 0 {
        return Ok(1.0);
    }
    Ok((2.0 * binomial_cumulative(positive.min(negative), n, 0.5)).min(1.0))
}

/// A p-value from a sample of arrangements, the observed one counted in.
fn sampled(mut is_far: impl FnMut() -> bool) -> Permutation {
    let far = (0..ARRANGEMENTS_SAMPLED).filter(|_| is_far()).count();
    Permutation {
        p_value: (far as f64 + 1.0) / (ARRANGEMENTS_SAMPLED as f64 + 1.0),
        arrangements: ARRANGEMENTS_SAMPLED,
        method: TestMethod::MonteCarlo,
    }
}

/// C(total, size) if at most [`ARRANGEMENTS_COUNTED`].
fn splits(total: usize, size: usize) -> Option<u64> {
    let mut count = 1_u64;
    for i in 0..size.min(total - size) as u64 {
        count = count * (total as u64 - i) / (i + 1);
        if count > ARRANGEMENTS_COUNTED {
            return None;
        }
    }
    Some(count)
}

/// Calls `visit` with every subset of `size` places out of `total`, in lexicographic order.
fn for_each_subset(total: usize, size: usize, mut visit: impl FnMut(&[usize])) {
    let mut subset: Vec<usize> = (0..size).collect();
    loop {
        visit(&subset);
        let Some(moved) = (0..size).rev().find(|&i| subset[i] < total - size + i) else {
            return;
        };
        subset[moved] += 1;
        for i in moved + 1..size {
            subset[i] = subset[i - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::inference::permutation::{
        for_each_subset, permutation_test, sign_flip_test, sign_test, splits,
    };
    use crate::interval::TestMethod;

    #[test]
    fn subsets_are_all_visited_once() {
        let mut seen = Vec::new();
        for_each_subset(5, 3, |subset| seen.push(subset.to_vec()));
        assert_eq!(seen.len(), 10);
        seen.dedup();
        assert_eq!(seen.len(), 10);
        assert_eq!((splits(5, 3), splits(10, 5), splits(40, 20)), (Some(10), Some(252), None));
        assert_eq!(splits(2_000_000, 1), None);
    }

    /// Signs of {1, 2}: sums 3, 1, -1, -3; two of four as far as 3.
    #[test]
    fn two_by_hand() {
        assert_eq!(sign_flip_test(&[1.0, 2.0], 0).unwrap().p_value, 0.5);
        let split = permutation_test(&[1.0, 2.0], &[3.0, 4.0], 0).unwrap();
        assert!((split.p_value - 1.0 / 3.0).abs() < 1e-15);
        assert!((sign_test(&[1.0, 2.0, 0.0]).unwrap() - 0.5).abs() < 1e-13);
        assert_eq!(sign_test(&[0.0]), Ok(1.0));
    }

    #[test]
    fn sampling_agrees_with_counting() {
        let differences: Vec<f64> = (0..18).map(|i| f64::from(i * 37 % 19) - 6.0).collect();
        let exact = sign_flip_test(&differences, 1).unwrap();
        assert_eq!(exact.method, TestMethod::Exact);
        // Two zeros more change nothing but the number of patterns.
        let longer = [differences.as_slice(), &[0.0, 0.0]].concat();
        let sample = sign_flip_test(&longer, 1).unwrap();
        assert_eq!(sample.method, TestMethod::MonteCarlo);
        assert!((exact.p_value - sample.p_value).abs() < 0.015, "{exact:?} {sample:?}");
        assert_eq!(sample, sign_flip_test(&longer, 1).unwrap());
    }
}
