//! Student's t: one sample (or paired differences), Welch's two-sample form, and Fieller's ratio of
//! means.
//!
//! What does not live here: the default comparison, which is rank based. These are used below six
//! rounds, inside equivalence tests by request, and to show beside the rank methods.

use crate::describe::{mean, squared_deviations, t_interval, variance};
use crate::distribution::{t_quantile, t_two_sided};
use crate::error::StatsError;
use crate::input::{largest_magnitude, require_count, require_finite, require_probability};
use crate::interval::{Interval, IntervalMethod};

/// The result of a t test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentTest {
    /// The mean, or the difference of means b - a, in the unit of the values.
    pub estimate: f64,
    /// The statistic.
    pub t: f64,
    /// Degrees of freedom; not whole for Welch.
    pub freedom: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Interval of the estimate, in its unit.
    pub interval: Interval,
}

/// One-sample t test of a mean of zero; on paired differences this is the paired t test. At least
/// two values; [`StatsError::NoSpread`] when all are equal.
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

/// Welch's t test of the difference of means b - a, without assuming equal variances. At least two
/// values a side; [`StatsError::NoSpread`] when neither side has any spread.
///
/// Source: Welch, Biometrika 34, 1947.
pub fn welch_test(a: &[f64], b: &[f64], confidence: f64) -> Result<StudentTest, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 2)?;
    require_count(b.len(), 2)?;
    require_probability("confidence", confidence)?;
    let (error, freedom) = welch_error(a, b).ok_or(StatsError::NoSpread)?;
    let interval = welch_interval(a, b, confidence).ok_or(StatsError::NoSpread)?;
    let estimate = mean(b) - mean(a);
    let t = estimate / error;
    if !t.is_finite() {
        return Err(StatsError::NoSpread);
    }
    Ok(StudentTest { estimate, t, freedom, p_value: t_two_sided(t, freedom), interval })
}

/// Standard error of the difference of means and Welch's degrees of freedom; `None` without spread.
pub(crate) fn welch_error(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (m, n) = (a.len() as f64, b.len() as f64);
    let (from_a, from_b) = (variance(a) / m, variance(b) / n);
    let sum = from_a + from_b;
    if sum <= 0.0 || m < 2.0 || n < 2.0 {
        return None;
    }
    // Shares rather than squares of variances: tiny variances would vanish when squared.
    let (share_a, share_b) = (from_a / sum, from_b / sum);
    let freedom = 1.0 / (share_a * share_a / (m - 1.0) + share_b * share_b / (n - 1.0));
    Some((sum.sqrt(), freedom))
}

/// Welch's interval of b - a for checked values; `None` without spread or with one value a side.
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

/// A ratio of means with Fieller's interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioOfMeans {
    /// mean(b) / mean(a), a pure number.
    pub ratio: f64,
    /// Fieller's g; the interval is bounded only below 1.
    pub g: f64,
    /// `None` when the mean of `a` is not clearly different from zero (g >= 1): the interval is
    /// unbounded.
    pub interval: Option<Interval>,
}

/// mean(b) / mean(a) of two unpaired groups, with Fieller's interval on Welch's degrees of freedom.
///
/// Source: Fieller, Journal of the Royal Statistical Society B 16, 1954.
pub fn fieller_ratio(a: &[f64], b: &[f64], confidence: f64) -> Result<RatioOfMeans, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 2)?;
    require_count(b.len(), 2)?;
    require_probability("confidence", confidence)?;
    // The ratio is free of units; scaling to 1 keeps the fourth powers below in range.
    let scale = largest_magnitude(a).max(largest_magnitude(b));
    let (_, freedom) = welch_error(a, b).ok_or(StatsError::NoSpread)?;
    let scaled = |values: &[f64]| -> (f64, f64) {
        let n = values.len() as f64;
        let squares = squared_deviations(values) / scale / scale;
        (mean(values) / scale, squares / (n - 1.0) / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (scaled(a), scaled(b));
    let ratio = mean_b / mean_a;
    let t = t_quantile(f64::midpoint(1.0, confidence), freedom);
    let g = t * t * error_a / (mean_a * mean_a);
    if !ratio.is_finite() || !g.is_finite() {
        let expected = "a mean clearly different from zero";
        return Err(StatsError::InvalidParameter { name: "mean of a", value: mean(a), expected });
    }
    let interval = (g < 1.0).then(|| {
        let root = (error_b + ratio * ratio * error_a - g * error_b).max(0.0).sqrt();
        let half = t / mean_a.abs() * root / (1.0 - g);
        let centre = ratio / (1.0 - g);
        let method = IntervalMethod::Fieller;
        Interval { low: centre - half, high: centre + half, confidence, achieved: None, method }
    });
    Ok(RatioOfMeans { ratio, g, interval })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::student::{fieller_ratio, student_test, welch_test};

    /// Mean 2, sd 1, n = 3: t = 2 sqrt(3).
    #[test]
    fn t_by_hand() {
        let found = student_test(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((found.t - 2.0 * 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(found.freedom, 2.0);
        // For two degrees of freedom P(|T| > t) = 1 - t / sqrt(t^2 + 2).
        let expected = 1.0 - found.t / (found.t * found.t + 2.0).sqrt();
        assert!((found.p_value - expected).abs() < 1e-12);
    }

    #[test]
    fn no_spread_is_an_error_not_a_zero_p() {
        assert_eq!(student_test(&[1.0, 1.0], 0.95), Err(StatsError::NoSpread));
        assert_eq!(welch_test(&[1.0, 1.0], &[2.0, 2.0], 0.95), Err(StatsError::NoSpread));
        assert!(student_test(&[1.0], 0.95).is_err());
    }

    /// Equal sizes and variances: Welch's degrees of freedom are those of the pooled test.
    #[test]
    fn welch_meets_the_pooled_test() {
        let found = welch_test(&[1.0, 2.0, 3.0], &[5.0, 6.0, 7.0], 0.95).unwrap();
        assert!((found.freedom - 4.0).abs() < 1e-12);
        assert_eq!(found.estimate, 4.0);
    }

    #[test]
    fn a_denominator_around_zero_has_no_bounded_interval() {
        let found = fieller_ratio(&[-1.0, 1.0, 0.5], &[3.0, 4.0, 5.0], 0.95).unwrap();
        assert!(found.g >= 1.0 && found.interval.is_none());
        assert!(fieller_ratio(&[-1.0, 1.0], &[3.0, 4.0], 0.95).is_err());
    }
}
