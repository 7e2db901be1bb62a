//! Serial dependence inside one run: autocorrelation.
//!
//! Not here: the Ljung-Box test (`ljung_box`), and the flag for samples that are not independent
//! (`serial_check`).

use crate::describe::{mean, squared_deviations};
use crate::error::StatsError;
use crate::input::{require_count, require_finite};

/// Autocorrelations for lags 0..=`longest_lag`, pure numbers, with n in the denominator. Needs at
/// least two values that are not all equal; lags beyond the series are left out.
pub fn autocorrelation(values: &[f64], longest_lag: usize) -> Result<Vec<f64>, StatsError> {
    let lags = CenteredSeries::new(values)?;
    Ok((0..=longest_lag.min(values.len() - 1)).map(|lag| lags.at(lag)).collect())
}

/// Deviations from the mean, and their sum of squares.
struct CenteredSeries {
    deviations: Vec<f64>,
    squares: f64,
}

impl CenteredSeries {
    fn new(values: &[f64]) -> Result<Self, StatsError> {
        require_finite(values)?;
        require_count(values.len(), 2)?;
        let squares = squared_deviations(values);
        if squares <= 0.0 {
            return Err(StatsError::NoSpread);
        }
        let centre = mean(values);
        Ok(Self { deviations: values.iter().map(|value| value - centre).collect(), squares })
    }

    fn at(&self, lag: usize) -> f64 {
        if lag == 0 {
            return 1.0;
        }
        let later = self.deviations.get(lag..).unwrap_or_default();
        later.iter().zip(&self.deviations).map(|(a, b)| a * b).sum::<f64>() / self.squares
    }
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::series::autocorrelation::autocorrelation;
    use crate::series::serial_check::serial_check;

    /// Deviations -1, 1, -1, 1: lag 1 is -3/4, lag 2 is 2/4.
    #[test]
    fn alternating_values_match_the_hand_calculation() {
        let values = [1.0, 3.0, 1.0, 3.0];
        assert_eq!(autocorrelation(&values, 9), Ok(vec![1.0, -0.75, 0.5, -0.25]));
    }

    #[test]
    fn flat_series_are_refused() {
        assert_eq!(autocorrelation(&[0.1; 5], 2), Err(StatsError::NoSpread));
        assert_eq!(serial_check(&[0.1; 50]), Err(StatsError::NoSpread));
    }

    #[test]
    fn slow_stretches_are_autocorrelated_and_scattered_values_are_not() {
        let group: Vec<f64> = (0..100).map(|i| (f64::from(i) / 10.0).sin()).collect();
        assert!(serial_check(&group).unwrap().serial);
        let scattered: Vec<f64> = (0..100_u64).map(|i| (i * i * 7919 % 1009) as f64).collect();
        assert!(!serial_check(&scattered).unwrap().serial);
    }
}
