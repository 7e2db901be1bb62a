//! Quantiles of one series: the point estimate (type 7).
//!
//! Not here: comparing two series.

use crate::error::StatsError;
use crate::input::{index_rounded_down, require_count, require_finite, sorted};

/// The quantile `q` (0 to 1) of a series, in its unit: Hyndman-Fan type 7, linear between order
/// statistics, the default of R and numpy.
///
/// Source: Hyndman & Fan, "Sample quantiles in statistical packages", The American Statistician 50,
/// 1996.
pub fn quantile(values: &[f64], q: f64) -> Result<f64, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 1)?;
    if !(0.0..=1.0).contains(&q) {
        let expected = "a number from 0 to 1";
        return Err(StatsError::InvalidParameter { name: "q", value: q, expected });
    }
    Ok(quantile_of_sorted(&sorted(values), q))
}

/// The median of a series, in its unit.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    quantile(values, 0.5)
}

/// Type-7 quantile of a non-empty series in ascending order.
pub(crate) fn quantile_of_sorted(ascending: &[f64], q: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = q * last as f64;
    let below = index_rounded_down(position, last);
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    ascending[below] + weight * (ascending[above] - ascending[below])
}

#[cfg(test)]
mod tests {
    use crate::quantile::{median, quantile};

    #[test]
    fn type_7_quantiles_match_the_hand_calculation() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Ok(2.5));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), Ok(1.75));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.0), Ok(1.0));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 1.0), Ok(4.0));
        assert_eq!(median(&[5.0]), Ok(5.0));
        assert!(quantile(&[1.0], 1.5).is_err());
        assert!(quantile(&[1.0], f64::NAN).is_err());
        assert!(median(&[]).is_err());
    }
}
