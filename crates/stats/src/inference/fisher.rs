//! Fisher's exact test of two counts: are the shares of two groups the same?
//!
//! Source: Fisher, "Statistical Methods for Research Workers", 5th edition, 1934, section 21.02;
//! the two-sided p-value sums the tables that are no more probable than the observed one.

use crate::distribution::log_gamma;
use crate::error::StatsError;

/// Tables within this relative difference of the observed one count as equally probable.
const PROBABILITY_SLACK: f64 = 1e-7;

/// Two-sided exact p-value of the hypothesis that members of both groups have the property equally
/// often. Each group is a count of members with the property, and its size.
///
/// # Errors
/// If a count is larger than its group.
pub fn fisher_exact(
    (left, left_size): (u32, u32),
    (right, right_size): (u32, u32),
) -> Result<f64, StatsError> {
    for (count, size) in [(left, left_size), (right, right_size)] {
        if count > size {
            let expected = "at most the size of its group";
            let value = f64::from(count);
            return Err(StatsError::InvalidParameter { name: "count", value, expected });
        }
    }
    let having = u64::from(left) + u64::from(right);
    let (left_size, right_size) = (u64::from(left_size), u64::from(right_size));
    let log_probability =
        |count: u64| log_choose(left_size, count) + log_choose(right_size, having - count);
    let (fewest, most) = (having.saturating_sub(right_size), having.min(left_size));
    let log_ways = log_choose(left_size + right_size, having);
    let observed = log_probability(u64::from(left)) - log_ways;
    let probabilities = (fewest..=most).map(|count| log_probability(count) - log_ways);
    let as_extreme = probabilities.filter(|log| *log <= observed + PROBABILITY_SLACK);
    Ok(as_extreme.map(f64::exp).sum::<f64>().min(1.0))
}

/// Logarithm of the number of ways to choose `count` of `size`.
fn log_choose(size: u64, count: u64) -> f64 {
    let log_factorial = |number: u64| log_gamma(number as f64 + 1.0);
    log_factorial(size) - log_factorial(count) - log_factorial(size - count)
}

#[cfg(test)]
mod tests {
    use super::fisher_exact;

    /// Values of `fisher.test` of R 4.2.2 and of `scipy.stats.fisher_exact`.
    #[test]
    fn p_values_agree_with_r() {
        for (left, right, p) in [
            ((8, 8), (0, 8), 2.0 / 12_870.0),
            ((7, 8), (0, 8), 0.001_398_601_398_601_398),
            ((3, 4), (1, 4), 0.485_714_285_714_285_7),
            ((8, 10), (1, 6), 0.034_965_034_965_034_97),
            ((0, 5), (0, 7), 1.0),
            ((5, 5), (7, 7), 1.0),
            ((0, 0), (3, 7), 1.0),
        ] {
            let actual = fisher_exact(left, right).unwrap();
            assert!((actual - p).abs() < 1e-9, "{left:?} {right:?}: {actual} against {p}");
            assert!((fisher_exact(right, left).unwrap() - actual).abs() < 1e-12);
        }
        assert!(fisher_exact((9, 8), (0, 8)).is_err());
        assert!(fisher_exact((10_000, 20_000), (10_000, 20_000)).unwrap() > 0.999);
    }
}
