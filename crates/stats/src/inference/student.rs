//! Student's t: one sample (or paired differences), and Welch's interval for two samples.
//!
//! Not here: the default comparison, which is based on ranks. Student's t is used below six rounds.

use crate::describe::{mean, t_interval, variance};
use crate::distribution::{t_quantile, t_two_sided};
use crate::error::StatsError;
use crate::input::{require_count, require_finite, require_probability};
use crate::interval::{Interval, IntervalMethod};

/// The result of a t test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentTest {
    /// The mean, in the unit of the values.
    pub estimate: f64,
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Interval of the estimate, in its unit.
    pub interval: Interval,
}

/// Student's one-sample t test against a mean of zero; on paired differences it is the paired t
/// test. Needs at least two values; [`StatsError::NoSpread`] if all are equal.
///
/// Source: Student, Biometrika 6, 1908.
pub fn student_test(differences: &[f64], confidence: f64) -> Result<StudentTest, StatsError> {
    require_finite(differences)?;
    require_count(differences.len(), 2)?;
    require_probability("confidence", confidence)?;
    let n = differences.len() as f64;
    let error = (variance(differences) / n).sqrt();
    let estimate = mean(differences);
    let t = estimate / error;
    let interval = t_interval(differences, confidence, IntervalMethod::StudentT);
    match interval {
        Some(interval) if error > 0.0 && t.is_finite() => Ok(StudentTest {
            estimate,
            t,
            freedom: n - 1.0,
            p_value: t_two_sided(t, n - 1.0),
            interval,
        }),
        _ => Err(StatsError::NoSpread),
    }
}

/// Standard error of the difference of means and Welch's degrees of freedom; `None` if both sides
/// are constant.
pub(crate) fn welch_error(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let (from_a, from_b) = (variance(a) / m, variance(b) / n);
    let sum = from_a + from_b;
    if sum <= 0.0 || m < 2.0 || n < 2.0 {
        return None;
    }
    // Squares of tiny variances would underflow, so shares of the variance are squared instead.
    let (share_a, share_b) = (from_a / sum, from_b / sum);
    let freedom = 1.0 / (share_a * share_a / (m - 1.0) + share_b * share_b / (n - 1.0));
    Some((sum.sqrt(), freedom))
}

/// Welch's interval of b - a for checked values; `None` if both sides are constant or one has a
/// single value.
pub(crate) fn welch_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    let (error, freedom) = welch_error(a, b)?;
    let half = t_quantile(f64::midpoint(1.0, confidence), freedom) * error;
    let centre = mean(b) - mean(a);
    Some(Interval {
        low: centre - half,
        high: centre + half,
        confidence,
        achieved: None,
        method: IntervalMethod::StudentT,
    })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::student::student_test;

    /// Mean 2, sd 1, n = 3: t = 2 sqrt(3).
    #[test]
    fn student_t_matches_the_hand_calculation() {
        let result = student_test(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((result.t - 2.0 * 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(result.freedom, 2.0);
        // For two degrees of freedom P(|T| > t) = 1 - t / sqrt(t^2 + 2).
        let expected = 1.0 - result.t / (result.t * result.t + 2.0).sqrt();
        assert!((result.p_value - expected).abs() < 1e-12);
    }

    #[test]
    fn no_spread_is_an_error_not_a_zero_p() {
        assert_eq!(student_test(&[1.0, 1.0], 0.95), Err(StatsError::NoSpread));
        assert!(student_test(&[1.0], 0.95).is_err());
    }
}
