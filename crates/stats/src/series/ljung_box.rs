//! Ljung-Box test: are the autocorrelations up to some lag all zero?
//!
//! Not here: the autocorrelations themselves (`autocorrelation`).
//!
//! Source: Ljung & Box, Biometrika 65, 1978.

use crate::distribution::chi_squared_survival;
use crate::error::StatsError;
use crate::input::require_count;
use crate::series::autocorrelation::autocorrelation;

/// The result of a Ljung-Box test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LjungBox {
    /// Number of lags tested.
    pub lags: usize,
    /// The statistic Q.
    pub q: f64,
    /// p-value by chi-squared with `lags` degrees of freedom.
    pub p_value: f64,
}

/// Ljung-Box test of values in time order over the lags 1..=`lags`. Needs more values than lags,
/// not all equal.
pub fn ljung_box(values: &[f64], lags: usize) -> Result<LjungBox, StatsError> {
    require_count(lags, 1)?;
    require_count(values.len(), lags.saturating_add(1))?;
    let correlations = autocorrelation(values, lags)?;
    let n = values.len() as f64;
    let terms = correlations.iter().enumerate().skip(1).map(|(lag, r)| r * r / (n - lag as f64));
    let q = n * (n + 2.0) * terms.sum::<f64>();
    Ok(LjungBox { lags, q, p_value: chi_squared_survival(q, lags as f64) })
}

#[cfg(test)]
mod tests {
    use crate::series::ljung_box::ljung_box;

    /// Lag 1 of 1, 3, 1, 3 is -3/4, so Q = 4 * 6 * (9/16) / 3 = 4.5.
    #[test]
    fn ljung_box_matches_the_hand_calculation() {
        assert!((ljung_box(&[1.0, 3.0, 1.0, 3.0], 1).unwrap().q - 4.5).abs() < 1e-12);
        assert!(ljung_box(&[1.0, 2.0], 2).is_err());
        assert!(ljung_box(&[1.0, 2.0], 0).is_err());
        assert!(ljung_box(&[1.0, 2.0], usize::MAX).is_err());
    }
}
