//! Median, minimum and maximum of a few numbers.
//!
//! Descriptive only: estimates with intervals come from `treering-stats`.

use treering_stats::{LARGEST_VALUE, median};

/// Median, minimum and maximum of some numbers, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianRange {
    /// Number of values.
    pub n: usize,
    /// Median; the mean of the two middle values for an even number.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl MedianRange {
    /// Spread of the numbers; `None` when none is usable. Skips values that are not finite or
    /// exceed the largest measurable value.
    pub(crate) fn from_values(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sane = |x: &f64| x.abs() <= LARGEST_VALUE;
        let numbers: Vec<f64> = numbers.into_iter().filter(sane).collect();
        let median = median(&numbers).ok()?;
        let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { n: numbers.len(), median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::MedianRange;

    #[test]
    fn middle_and_ends() {
        let spread = |numbers: &[f64]| MedianRange::from_values(numbers.iter().copied());
        let odd = MedianRange { n: 3, median: 2.0, min: 1.0, max: 3.0 };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(odd));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert_eq!(spread(&[7.0]), Some(MedianRange { n: 1, median: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn non_finite_values_are_left_out() {
        let spread = MedianRange::from_values([f64::NAN, 2.0, f64::INFINITY, 8.0]).unwrap();
        assert_eq!(spread, MedianRange { n: 2, median: 5.0, min: 2.0, max: 8.0 });
        assert_eq!(MedianRange::from_values([f64::NAN]), None);
    }
}
