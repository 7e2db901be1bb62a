//! Error type of this crate: reasons to reject input.
//!
//! Not here: recovery, or texts for users. An uncertain estimate is not an error but `None` or
//! `Finding::Unclear`; an error means that the method cannot be applied to these numbers.

use thiserror::Error;

/// Reason for rejected input. No method of this crate panics; every one returns this instead.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StatsError {
    /// Value that is NaN or infinite. `index` counts from 0 in the given slice.
    #[error("value {index} is not finite ({value})")]
    NotFinite {
        /// Position in the input, from 0.
        index: usize,
        /// The value as given.
        value: f64,
    },
    /// A value is so large or so small that its powers no longer fit a double.
    ///
    /// The bounds are [`crate::LARGEST_VALUE`] for every method and [`crate::SMALLEST_RATIO_VALUE`]
    /// for methods that take logarithms; nothing a benchmark measures comes near them.
    #[error("value {index} is out of range ({value})")]
    OutOfRange {
        /// Position in the input, from 0.
        index: usize,
        /// The value as given.
        value: f64,
    },
    /// A logarithm or a ratio needs values above zero. Counters that may be zero are compared by
    /// difference.
    #[error("value {index} must be positive to form a ratio ({value})")]
    NotPositive {
        /// Position in the input, from 0.
        index: usize,
        /// The value as given.
        value: f64,
    },
    /// Fewer values than the method is defined for.
    #[error("{got} values given, at least {needed} needed")]
    TooFew {
        /// The smallest number the method is defined for.
        needed: usize,
        /// Number of values passed.
        got: usize,
    },
    /// More values than the method can treat in bounded time or memory.
    #[error("{got} values given, at most {limit} supported")]
    TooMany {
        /// The documented limit of the method.
        limit: usize,
        /// Number of values passed.
        got: usize,
    },
    /// Two series that must be paired have different lengths.
    #[error("paired series differ in length: {left} and {right}")]
    LengthsDiffer {
        /// Length of the first series.
        left: usize,
        /// Length of the second series.
        right: usize,
    },
    /// A parameter (not a datum) is outside its domain.
    #[error("{name} is {value}, expected {expected}")]
    InvalidParameter {
        /// The parameter's name.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// Domain of the parameter, in words.
        expected: &'static str,
    },
    /// All values are equal where the method divides by their spread.
    #[error("all values are equal: this method needs some spread")]
    NoSpread,
    /// The statistic handed to a bootstrap has no value on the observed rounds, or on most
    /// resamples.
    #[error("the statistic is undefined on these rounds")]
    StatisticUndefined,
}
