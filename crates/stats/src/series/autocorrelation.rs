//! Serial dependence inside one run: autocorrelation and effective sample size.
//!
//! What does not live here: the Ljung-Box test (`ljung_box`), the flag that says the samples are
//! not independent (`serial_check`), and intervals that allow for dependence (`block_bootstrap`).
//!
//! Sources: Geyer, Statistical Science 7, 1992 (initial monotone sequence); von Neumann, Annals of
//! Mathematical Statistics 12, 1941.

use crate::describe::{mean, squared_deviations};
use crate::error::StatsError;
use crate::input::{require_count, require_finite};

/// Geyer's sum is not followed beyond this lag.
const LONGEST_LAG: usize = 2_000;

/// Autocorrelations for lags 0..=`longest_lag`, pure numbers, with n in the denominator. At least
/// two values with some spread; lags beyond the series are left out.
pub fn autocorrelation(values: &[f64], longest_lag: usize) -> Result<Vec<f64>, StatsError> {
    let lags = Lags::of(values)?;
    Ok((0..=longest_lag.min(values.len() - 1)).map(|lag| lags.at(lag)).collect())
}

/// Deviations from the mean, and their sum of squares.
struct Lags {
    deviations: Vec<f64>,
    squares: f64,
}

impl Lags {
    fn of(values: &[f64]) -> Result<Self, StatsError> {
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

/// How many independent samples a correlated series is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSize {
    /// Integrated autocorrelation time, in samples; 1 for independent samples.
    pub tau: f64,
    /// n / tau. May exceed n for a series that alternates.
    pub samples: f64,
    /// Lags that were summed.
    pub lags: usize,
}

/// Effective sample size by Geyer's initial monotone sequence: sums of two neighbouring
/// autocorrelations are added while positive, each held at or below the one before. At least four
/// values with some spread; follows at most 2,000 lags.
pub fn effective_size(values: &[f64]) -> Result<EffectiveSize, StatsError> {
    require_count(values.len(), 4)?;
    let lags = Lags::of(values)?;
    let last = (values.len() - 1).min(LONGEST_LAG);
    let (mut sum, mut ceiling, mut lag) = (0.0, f64::INFINITY, 0);
    while lag < last {
        let pair = lags.at(lag) + lags.at(lag + 1);
        if pair <= 0.0 {
            break;
        }
        ceiling = pair.min(ceiling);
        sum += ceiling;
        lag += 2;
    }
    // A first pair of zero or less would make tau negative; the series alternates perfectly.
    let tau = (2.0 * sum - 1.0).max(1.0 / values.len() as f64);
    Ok(EffectiveSize { tau, samples: values.len() as f64 / tau, lags: lag })
}

/// Von Neumann's ratio: sum of squared steps over sum of squared deviations, a pure number. About 2
/// for independent samples, less when neighbours resemble each other. At least two values with some
/// spread.
pub fn von_neumann_ratio(values: &[f64]) -> Result<f64, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 2)?;
    let squares = squared_deviations(values);
    if squares <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    Ok(steps / squares)
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::series::autocorrelation::{autocorrelation, effective_size, von_neumann_ratio};
    use crate::series::serial_check::serial_check;

    /// Deviations -1, 1, -1, 1: lag 1 is -3/4, lag 2 is 2/4.
    #[test]
    fn alternation_by_hand() {
        let values = [1.0, 3.0, 1.0, 3.0];
        assert_eq!(autocorrelation(&values, 9), Ok(vec![1.0, -0.75, 0.5, -0.25]));
        // Three squared steps of 4 over four squared deviations of 1.
        assert_eq!(von_neumann_ratio(&values), Ok(3.0));
        let size = effective_size(&values).unwrap();
        assert!(size.tau > 0.0 && size.samples >= 4.0, "{size:?}");
    }

    #[test]
    fn flat_series_are_refused() {
        assert_eq!(autocorrelation(&[0.1; 5], 2), Err(StatsError::NoSpread));
        assert_eq!(serial_check(&[0.1; 50]), Err(StatsError::NoSpread));
        assert!(effective_size(&[1.0, 2.0, 3.0]).is_err());
    }

    #[test]
    fn a_slow_group_is_serial_and_scattered_values_are_not() {
        let group: Vec<f64> = (0..100).map(|i| (f64::from(i) / 10.0).sin()).collect();
        assert!(serial_check(&group).unwrap().serial);
        assert!(effective_size(&group).unwrap().samples < 20.0);
        let scattered: Vec<f64> = (0..100_u64).map(|i| (i * i * 7919 % 1009) as f64).collect();
        assert!(!serial_check(&scattered).unwrap().serial);
    }
}
