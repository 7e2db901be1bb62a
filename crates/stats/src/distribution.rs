//! Distribution functions and quantiles: the only place that calls statrs.
//!
//! Not here: statistics. The wrappers exist because statrs panics on arguments outside a domain and
//! finds some quantiles by a coarse bisection. They clamp every argument to the domain and refine
//! the t quantile by Newton steps on the accurate distribution function.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, FisherSnedecor, StudentsT};
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::ln_gamma;

/// P(Z > x) of the standard normal distribution.
pub(crate) fn normal_survival(x: f64) -> f64 {
    0.5 * erfc(x / std::f64::consts::SQRT_2)
}

/// P(Z <= x) of the standard normal distribution.
pub(crate) fn normal_cumulative(x: f64) -> f64 {
    normal_survival(-x)
}

/// Two-sided p-value of a standard normal statistic.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    (2.0 * normal_survival(z.abs())).min(1.0)
}

/// The standard normal quantile; infinite at 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

/// Student's t distribution; degrees of freedom below 1e-3 are raised to it, `None` if not a
/// number.
fn student_distribution(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom.max(1e-3)).ok()
}

/// P(T > t) for Student's t.
pub(crate) fn t_survival(t: f64, freedom: f64) -> f64 {
    match student_distribution(freedom) {
        Some(distribution) if t.is_finite() => distribution.sf(t).clamp(0.0, 1.0),
        _ => normal_survival(t),
    }
}

/// Two-sided p-value of a t statistic.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    (2.0 * t_survival(t.abs(), freedom)).min(1.0)
}

/// The quantile of Student's t for `p` in (0, 1).
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    if p < 0.5 {
        return -t_quantile(1.0 - p, freedom);
    }
    let Some(distribution) = student_distribution(freedom) else {
        return normal_quantile(p);
    };
    let tail = 1.0 - p;
    let mut x = distribution.inverse_cdf(p);
    for _ in 0..4 {
        let density = distribution.pdf(x);
        let step = (distribution.sf(x) - tail) / density;
        if !step.is_finite() || step.abs() > x.abs() + 1.0 {
            break;
        }
        x += step;
    }
    x
}

/// P(F > f) of the F distribution.
pub(crate) fn f_survival(f: f64, numerator: f64, denominator: f64) -> f64 {
    if !f.is_finite() {
        return 0.0;
    }
    FisherSnedecor::new(numerator, denominator)
        .map_or(f64::NAN, |distribution| distribution.sf(f.max(0.0)).clamp(0.0, 1.0))
}

/// P(X > x) of the chi-squared distribution.
pub(crate) fn chi_squared_survival(x: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom)
        .map_or(f64::NAN, |distribution| distribution.sf(x.max(0.0)).clamp(0.0, 1.0))
}

/// The logarithm of the gamma function, for a positive argument.
pub(crate) fn log_gamma(x: f64) -> f64 {
    ln_gamma(x)
}

#[cfg(test)]
mod tests {
    use crate::distribution::{
        f_survival, normal_quantile, normal_survival, t_quantile, t_survival,
    };

    fn close(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} against {right}");
    }

    /// Figures of printed tables, compared to the number of decimals that scipy 1.17 gives.
    #[test]
    fn quantiles_agree_with_the_tables() {
        close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-11);
        close(normal_survival(1.959_963_984_540_054), 0.025, 2e-12);
        close(t_quantile(0.975, 4.0), 2.776_445_105_197_793, 1e-10);
        close(t_quantile(0.975, 9.0), 2.262_157_162_740_992, 1e-10);
        close(t_quantile(0.025, 9.0), -2.262_157_162_740_992, 1e-10);
        close(t_quantile(0.975, 1.0), 12.706_204_736_174_7, 1e-9);
        close(t_quantile(0.975, 1e6), 1.959_966, 1e-5);
        close(t_survival(2.262_157_162_740_992, 9.0), 0.025, 1e-11);
        close(f_survival(30.333_333_333_333_332, 2.0, 14.0), 8.147_209_882_736_215e-6, 1e-15);
    }

    #[test]
    fn quantile_and_survival_are_inverse() {
        for freedom in [1.0, 1.5, 2.0, 3.7, 5.0, 12.0, 99.0, 12_345.0] {
            for p in [0.55, 0.8, 0.9, 0.975, 0.995, 0.9999] {
                let t = t_quantile(p, freedom);
                close(1.0 - t_survival(t, freedom), p, 1e-12);
            }
        }
    }
}
