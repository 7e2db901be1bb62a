//! Equivalence: two one-sided tests (TOST) that a difference lies within a margin.
//!
//! What does not live here: the wording of a verdict. "No significant difference" is not "the
//! same": only an interval inside the margin shows sameness, and that is what these tests ask. On
//! log ratios the margin is ln(1 + delta), so that the bounds on the ratio are 1/(1 + delta) and 1
//! + delta.
//!
//! Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.

use crate::describe::{mean, variance};
use crate::distribution::{t_quantile, t_survival};
use crate::error::StatsError;
use crate::inference::hodges_lehmann::{hodges_lehmann, hodges_lehmann_shift};
use crate::inference::student::welch_error;
use crate::input::{
    require_count, require_finite, require_positive_parameter, require_probability,
};
use crate::interval::{Interval, IntervalMethod};

/// The result of an equivalence test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// p of the hypothesis that the difference is at or below -margin; `None` for rank methods.
    pub p_low: Option<f64>,
    /// p of the hypothesis that the difference is at or above +margin; `None` for rank methods.
    pub p_high: Option<f64>,
    /// The interval of confidence 1 - 2 alpha (90 per cent for alpha .05), in the unit of the
    /// differences.
    pub interval: Interval,
    /// Whether the interval lies inside the margin, ends included: the difference is shown to be
    /// small.
    pub equivalent: bool,
}

/// The margin on the log scale that belongs to a relative threshold: ln(1 + delta). `delta` of 0.02
/// is 2 %.
pub fn log_margin(delta: f64) -> Result<f64, StatsError> {
    require_positive_parameter("delta", delta)?;
    Ok(delta.ln_1p())
}

/// TOST by the exact signed-rank interval of paired differences or log ratios. This is what a
/// verdict of "same" rests on. Below five rounds (alpha .05) it falls back to t.
pub fn tost_signed_rank(
    differences: &[f64],
    margin: f64,
    alpha: f64,
) -> Result<Equivalence, StatsError> {
    require_positive_parameter("margin", margin)?;
    require_alpha(alpha)?;
    let estimate = hodges_lehmann(differences, 1.0 - 2.0 * alpha)?;
    let interval = estimate.interval.ok_or(StatsError::TooFew { needed: 2, got: 1 })?;
    let equivalent = interval.lies_within(-margin, margin);
    Ok(Equivalence { p_low: None, p_high: None, interval, equivalent })
}

/// TOST by the exact rank-sum interval of two unpaired groups (logarithms for ratios).
pub fn tost_rank_sum(
    a: &[f64],
    b: &[f64],
    margin: f64,
    alpha: f64,
) -> Result<Equivalence, StatsError> {
    require_positive_parameter("margin", margin)?;
    require_alpha(alpha)?;
    let estimate = hodges_lehmann_shift(a, b, 1.0 - 2.0 * alpha)?;
    let got = a.len().min(b.len());
    let interval = estimate.interval.ok_or(StatsError::TooFew { needed: 2, got })?;
    let equivalent = interval.lies_within(-margin, margin);
    Ok(Equivalence { p_low: None, p_high: None, interval, equivalent })
}

/// TOST by Student's t on paired differences or log ratios, at least two.
pub fn tost_paired(
    differences: &[f64],
    margin: f64,
    alpha: f64,
) -> Result<Equivalence, StatsError> {
    require_finite(differences)?;
    require_count(differences.len(), 2)?;
    require_positive_parameter("margin", margin)?;
    require_alpha(alpha)?;
    let n = differences.len() as f64;
    let error = (variance(differences) / n).sqrt();
    one_sided_pair(mean(differences), error, n - 1.0, margin, alpha)
}

/// TOST by Welch's t on two unpaired groups (logarithms for ratios), at least two values each.
pub fn tost_welch(
    a: &[f64],
    b: &[f64],
    margin: f64,
    alpha: f64,
) -> Result<Equivalence, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 2)?;
    require_count(b.len(), 2)?;
    require_positive_parameter("margin", margin)?;
    require_alpha(alpha)?;
    let (error, freedom) = welch_error(a, b).unwrap_or((0.0, 1.0));
    one_sided_pair(mean(b) - mean(a), error, freedom, margin, alpha)
}

fn require_alpha(alpha: f64) -> Result<(), StatsError> {
    require_probability("alpha", alpha)?;
    require_probability("1 - 2 alpha", 1.0 - 2.0 * alpha)
}

fn one_sided_pair(
    estimate: f64,
    error: f64,
    freedom: f64,
    margin: f64,
    alpha: f64,
) -> Result<Equivalence, StatsError> {
    if error <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let p_low = t_survival((estimate + margin) / error, freedom);
    let p_high = t_survival((margin - estimate) / error, freedom);
    let half = t_quantile(1.0 - alpha, freedom) * error;
    Ok(Equivalence {
        p_low: Some(p_low),
        p_high: Some(p_high),
        interval: Interval {
            low: estimate - half,
            high: estimate + half,
            confidence: 1.0 - 2.0 * alpha,
            achieved: None,
            method: IntervalMethod::StudentT,
        },
        equivalent: p_low.max(p_high) <= alpha,
    })
}

#[cfg(test)]
mod tests {
    use crate::inference::equivalence::{
        log_margin, tost_paired, tost_rank_sum, tost_signed_rank, tost_welch,
    };

    const QUIET: [f64; 8] = [0.001, -0.002, 0.003, 0.0, -0.001, 0.002, -0.003, 0.001];

    #[test]
    fn a_quiet_difference_is_equivalent_within_two_per_cent_only() {
        let wide = log_margin(0.02).unwrap();
        assert!(tost_paired(&QUIET, wide, 0.05).unwrap().equivalent);
        assert!(tost_signed_rank(&QUIET, wide, 0.05).unwrap().equivalent);
        let narrow = log_margin(0.001).unwrap();
        assert!(!tost_paired(&QUIET, narrow, 0.05).unwrap().equivalent);
        assert!(!tost_signed_rank(&QUIET, narrow, 0.05).unwrap().equivalent);
    }

    /// The two one-sided tests and the 90 per cent interval are the same decision.
    #[test]
    fn tests_and_interval_decide_alike() {
        let shifted: Vec<f64> = QUIET.iter().map(|value| value + 0.01).collect();
        for step in 1..60 {
            let margin = f64::from(step) * 0.0005;
            let paired = tost_paired(&shifted, margin, 0.05).unwrap();
            assert_eq!(paired.equivalent, paired.interval.lies_within(-margin, margin));
            let welch = tost_welch(&QUIET, &shifted, margin, 0.05).unwrap();
            assert_eq!(welch.equivalent, welch.interval.lies_within(-margin, margin));
        }
    }

    /// With one degree of freedom T is Cauchy. Values 0 and 2: estimate 1, error 1; margin 2:
    /// P(T > 3) = 1/2 - atan(3)/pi below, P(T > 1) = 1/4 above.
    #[test]
    fn cauchy_by_hand() {
        let found = tost_paired(&[0.0, 2.0], 2.0, 0.05).unwrap();
        let expected = 0.5 - 3.0_f64.atan() / std::f64::consts::PI;
        assert!((found.p_low.unwrap() - expected).abs() < 1e-12);
        assert!((found.p_high.unwrap() - 0.25).abs() < 1e-12);
        assert!(!found.equivalent);
    }

    #[test]
    fn parameters_are_checked() {
        assert!(log_margin(0.0).is_err());
        assert!(tost_paired(&QUIET, 0.1, 0.5).is_err());
        assert!(tost_paired(&QUIET, f64::NAN, 0.05).is_err());
        assert!(tost_signed_rank(&[0.1], 0.1, 0.05).is_err());
        assert!(tost_rank_sum(&[0.1], &[0.1], 0.1, 0.05).is_err());
        assert!(tost_rank_sum(&QUIET, &QUIET, 0.1, 0.05).unwrap().equivalent);
    }
}
