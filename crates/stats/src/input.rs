//! Input checks of every method: finite, in range, enough values, paired.
//!
//! Not here: statistics. All public functions share these checks, so that each of them rejects
//! non-finite input in the same way.

use crate::error::StatsError;

/// The largest magnitude accepted, so that fourth powers of it still fit a double.
pub const LARGEST_VALUE: f64 = 1e60;

/// The smallest positive value accepted where logarithms are taken.
pub const SMALLEST_RATIO_VALUE: f64 = 1e-60;

/// Refuses NaN, infinities and magnitudes above [`LARGEST_VALUE`].
pub(crate) fn require_finite(values: &[f64]) -> Result<(), StatsError> {
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(StatsError::NotFinite { index, value });
        }
        if value.abs() > LARGEST_VALUE {
            return Err(StatsError::OutOfRange { index, value });
        }
    }
    Ok(())
}

/// Refuses non-positive values, magnitudes outside the limits, NaN and infinities.
pub(crate) fn require_positive(values: &[f64]) -> Result<(), StatsError> {
    require_finite(values)?;
    for (index, &value) in values.iter().enumerate() {
        if value <= 0.0 {
            return Err(StatsError::NotPositive { index, value });
        }
        if value < SMALLEST_RATIO_VALUE {
            return Err(StatsError::OutOfRange { index, value });
        }
    }
    Ok(())
}

/// Refuses a slice shorter than `needed`.
pub(crate) fn require_count(got: usize, needed: usize) -> Result<(), StatsError> {
    if got < needed {
        return Err(StatsError::TooFew { needed, got });
    }
    Ok(())
}

/// Refuses more than `limit` values.
pub(crate) fn require_at_most(got: usize, limit: usize) -> Result<(), StatsError> {
    if got > limit {
        return Err(StatsError::TooMany { limit, got });
    }
    Ok(())
}

/// Refuses series of different length.
pub(crate) fn require_same_length(left: usize, right: usize) -> Result<(), StatsError> {
    if left != right {
        return Err(StatsError::LengthsDiffer { left, right });
    }
    Ok(())
}

/// Refuses a probability outside the open interval from 0 to 1.
pub(crate) fn require_probability(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(StatsError::InvalidParameter {
        name,
        value,
        expected: "a number between 0 and 1, both excluded",
    })
}

/// Refuses a parameter that is not a positive number. [`LARGEST_VALUE`] does not apply: the spread
/// of accepted values can exceed it a little.
pub(crate) fn require_positive_parameter(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(StatsError::InvalidParameter { name, value, expected: "a positive finite number" })
}

/// The largest of the magnitudes; 0 for an empty slice.
pub(crate) fn largest_magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// Sorted copy, in ascending order. The values must have passed [`require_finite`].
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// A non-negative real number as a count, rounded up; `None` if NaN or above `limit`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked in the line before"
)]
pub(crate) fn count_rounded_up(real: f64, limit: u32) -> Option<u32> {
    let up = real.ceil();
    if up >= 0.0 && up <= f64::from(limit) { Some(up as u32) } else { None }
}

/// A real number as an index, rounded down and clamped to `0..=last`. NaN becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a saturating cast followed by min is exactly what is wanted"
)]
pub(crate) fn index_rounded_down(real: f64, last: usize) -> usize {
    (real.floor() as usize).min(last)
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::input::{
        count_rounded_up, index_rounded_down, require_finite, require_positive, require_probability,
    };

    #[test]
    fn refused_values_are_named_with_their_index() {
        assert!(matches!(
            require_finite(&[1.0, f64::NAN]),
            Err(StatsError::NotFinite { index: 1, .. })
        ));
        assert!(matches!(require_finite(&[1e61]), Err(StatsError::OutOfRange { index: 0, .. })));
        assert!(matches!(
            require_positive(&[1.0, 2.0, 0.0]),
            Err(StatsError::NotPositive { index: 2, .. })
        ));
        assert!(matches!(
            require_positive(&[1e-300]),
            Err(StatsError::OutOfRange { index: 0, .. })
        ));
        assert!(require_probability("confidence", f64::NAN).is_err());
        assert!(require_probability("confidence", 1.0).is_err());
        assert!(require_probability("confidence", 0.95).is_ok());
    }

    #[test]
    fn only_integral_reals_in_range_become_counts() {
        assert_eq!(count_rounded_up(5.01, 10), Some(6));
        assert_eq!(count_rounded_up(10.5, 10), None);
        assert_eq!(count_rounded_up(f64::NAN, 10), None);
        assert_eq!(count_rounded_up(-3.0, 10), None);
        assert_eq!(index_rounded_down(-0.5, 7), 0);
        assert_eq!(index_rounded_down(1e30, 7), 7);
        assert_eq!(index_rounded_down(f64::NAN, 7), 0);
    }
}
