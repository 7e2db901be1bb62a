//! Bias-corrected and accelerated (BCa) bootstrap. treering does not use it; the simulation shows
//! its coverage in a column for comparison.
//!
//! Source: Efron, Journal of the American Statistical Association 82, 1987.

use statrs::distribution::{ContinuousCDF, Normal};
use treering_stats::quantile;

/// 95 % interval from bootstrap replicates and jackknife values; `None` where the corrections are
/// undefined.
pub(crate) fn bca_interval(
    estimate: f64,
    replicates: &[f64],
    jackknife: &[f64],
) -> Option<(f64, f64)> {
    let normal = Normal::standard();
    let slack = 1e-12 * estimate.abs();
    let below = replicates.iter().filter(|&&value| value < estimate - slack).count();
    let up_to = replicates.iter().filter(|&&value| value <= estimate + slack).count();
    let share_below = (below + up_to) as f64 / 2.0 / replicates.len() as f64;
    if share_below <= 0.0 || share_below >= 1.0 {
        return None;
    }
    let z0 = normal.inverse_cdf(share_below);
    let centre = jackknife.iter().sum::<f64>() / jackknife.len() as f64;
    let cubes: f64 = jackknife.iter().map(|value| (centre - value).powi(3)).sum();
    let squares: f64 = jackknife.iter().map(|value| (centre - value).powi(2)).sum();
    let acceleration = if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 };
    let interval_end = |tail: f64| {
        let shifted = z0 + normal.inverse_cdf(tail);
        let adjusted = normal.cdf(z0 + shifted / (1.0 - acceleration * shifted));
        quantile(replicates, adjusted).ok()
    };
    Some((interval_end(0.025)?, interval_end(0.975)?))
}
