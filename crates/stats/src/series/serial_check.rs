//! Check for serial dependence among the samples of a run.

use crate::error::StatsError;
use crate::input::require_count;
use crate::series::autocorrelation::autocorrelation;
use crate::series::ljung_box::ljung_box;

/// Result of the check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SerialCheck {
    /// Autocorrelation at lag 1.
    pub lag1: f64,
    /// Threshold for `lag1`: 2 / sqrt(n).
    pub lag1_bound: f64,
    /// Ljung-Box p-value over min(10, n/5) lags.
    pub ljung_box_p: f64,
    /// True if either check indicates dependence: intervals that assume independence are then too
    /// narrow.
    pub serial: bool,
}

/// Checks one run's samples for dependence: lag 1 above 2/sqrt(n), or Ljung-Box p below .05. Needs
/// at least ten values that are not all equal.
pub fn serial_check(values: &[f64]) -> Result<SerialCheck, StatsError> {
    require_count(values.len(), 10)?;
    let lag1 = autocorrelation(values, 1)?[1];
    let lag1_bound = 2.0 / (values.len() as f64).sqrt();
    let ljung_box_p = ljung_box(values, (values.len() / 5).min(10))?.p_value;
    let serial = lag1 > lag1_bound || ljung_box_p < 0.05;
    Ok(SerialCheck { lag1, lag1_bound, ljung_box_p, serial })
}
