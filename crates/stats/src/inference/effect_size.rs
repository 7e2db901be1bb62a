//! Standardised effect sizes, for comparison with the literature.
//!
//! What does not live here: anything a verdict is made of. A difference in units of the noise says
//! how easy it was to see, not how much it matters; verdicts use the ratio and a threshold in per
//! cent. Cliff's delta is part of `mann_whitney`.

use crate::describe::{mean, squared_deviations};
use crate::error::StatsError;
use crate::input::{require_count, require_finite};

/// Standardised differences of means, pure numbers; positive when `b` is larger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectSize {
    /// Cohen's d with the pooled standard deviation.
    pub cohens_d: f64,
    /// Hedges' g: d with the small-sample factor 1 - 3/(4N - 9), N values in both groups.
    pub hedges_g: f64,
}

/// Cohen's d and Hedges' g of two groups with at least two values each.
///
/// Sources: Cohen, "Statistical Power Analysis", 2nd edition, 1988; Hedges, Journal of Educational
/// Statistics 6, 1981.
pub fn effect_size(a: &[f64], b: &[f64]) -> Result<EffectSize, StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 2)?;
    require_count(b.len(), 2)?;
    let total = (a.len() + b.len()) as f64;
    let pooled = ((squared_deviations(a) + squared_deviations(b)) / (total - 2.0)).sqrt();
    let cohens_d = (mean(b) - mean(a)) / pooled;
    if !cohens_d.is_finite() {
        return Err(StatsError::NoSpread);
    }
    Ok(EffectSize { cohens_d, hedges_g: cohens_d * (1.0 - 3.0 / (4.0 * total - 9.0)) })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::effect_size::effect_size;

    /// Both variances 1, means one apart: d = 1; N = 6: g = 1 - 3/15.
    #[test]
    fn by_hand() {
        let found = effect_size(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!((found.cohens_d - 1.0).abs() < 1e-15);
        assert!((found.hedges_g - 0.8).abs() < 1e-15);
        assert_eq!(effect_size(&[1.0, 1.0], &[1.0, 1.0]), Err(StatsError::NoSpread));
    }
}
