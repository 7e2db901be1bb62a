//! Quantiles of a stream of values in constant memory, to three digits.

use hdrhistogram::Histogram;

/// Largest recorded value; larger ones are recorded as this.
const LARGEST: u64 = 1 << 62;
/// Significant decimal digits.
const DIGITS: u8 = 3;

/// Summary of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// Number of values; positive.
    pub count: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// Histogram of a stream of values.
#[derive(Clone, Debug)]
pub(crate) struct ValueHistogram {
    /// Histogram; `None` if it could not be created, which its constant bounds rule out.
    histogram: Option<Histogram<u64>>,
}

impl Default for ValueHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LARGEST, DIGITS).ok();
        Self { histogram }
    }
}

impl ValueHistogram {
    /// Adds a value.
    pub(crate) fn add(&mut self, value: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(value.min(LARGEST));
        }
    }

    /// Summary of the values; `None` without any.
    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        let histogram = self.histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        // The upper end of the bucket, limited to the maximum.
        let at = |quantile| histogram.value_at_quantile(quantile).min(histogram.max());
        Some(Quantiles {
            count: histogram.len(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: histogram.max(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ValueHistogram;
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        assert_eq!(ValueHistogram::default().quantiles(), None);
    }

    #[test]
    fn zero_and_huge_values_are_counted() {
        let mut spread = ValueHistogram::default();
        [0, 0, u64::MAX].into_iter().for_each(|value| spread.add(value));
        let reported = spread.quantiles().unwrap();
        assert_eq!((reported.count, reported.p50), (3, 0));
        assert!(reported.max > 1 << 61 && reported.p99 <= reported.max);
    }

    proptest! {
        #[test]
        fn quantiles_are_near_those_of_the_values(
            mut values in prop::collection::vec(any::<u64>(), 1..200)
        ) {
            let mut spread = ValueHistogram::default();
            values.iter_mut().for_each(|value: &mut u64| {
                *value >>= 3;
                spread.add(*value);
            });
            values.sort_unstable();
            let reported = spread.quantiles().unwrap();
            let percentiles = [(50, reported.p50), (90, reported.p90), (99, reported.p99)];
            for (percent, reported) in percentiles {
                let rank = (percent * values.len()).div_ceil(100);
                let exact = values[rank.max(1) - 1] as f64;
                let off = (reported as f64 - exact).abs();
                assert!(off <= exact / 1000.0 + 1.0, "{percent} %: {reported} for {exact}");
            }
        }
    }
}
