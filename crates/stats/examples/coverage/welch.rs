//! Welch's t test. treering does not use it; the simulation shows its decisions in columns for
//! comparison.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided p-value of Welch's t test; 1 if both sides are constant.
pub(crate) fn welch_p(a: &[f64], b: &[f64]) -> f64 {
    let figures = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (n, mean, squares / (n - 1.0) / n)
    };
    let ((m, mean_a, from_a), (n, mean_b, from_b)) = (figures(a), figures(b));
    let sum = from_a + from_b;
    let freedom = sum * sum / (from_a * from_a / (m - 1.0) + from_b * from_b / (n - 1.0));
    let t = (mean_b - mean_a).abs() / sum.sqrt();
    let student = StudentsT::new(0.0, 1.0, freedom);
    student.map_or(1.0, |student| (2.0 * student.sf(t)).min(1.0))
}
