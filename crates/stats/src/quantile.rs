//! Quantiles of one series: the point estimate (type 7), the distribution-free interval by order
//! statistics, and how many samples a far quantile needs before it may be shown.
//!
//! Not here: comparing two series. The interval describes the samples of *one* run
//! when those are independent; it never supports a verdict between variants.

use crate::distribution::binomial_cumulative;
use crate::error::StatsError;
use crate::input::{
    index_rounded_down, require_count, require_finite, require_probability, sorted,
};
use crate::interval::{Interval, IntervalMethod};

/// A far quantile is shown only when at least this many samples lie beyond it.
pub const SAMPLES_BEYOND_QUANTILE: f64 = 1000.0;

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

/// Type 7 on a series already in ascending order; the slice is never empty here.
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

/// The interval of a quantile between two order statistics. An end is `None` where the bounding
/// rank lies outside the sample: the interval is open on that side and must be printed so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileInterval {
    /// The quantile asked for, 0 to 1.
    pub q: f64,
    /// The type 7 estimate, in the unit of the series.
    pub estimate: f64,
    /// Lower order statistic, in the unit of the series.
    pub low: Option<f64>,
    /// Upper order statistic, in the unit of the series.
    pub high: Option<f64>,
    /// Rank of the lower end, from 1; 0 when open.
    pub low_rank: usize,
    /// Rank of the upper end, from 1; n + 1 when open.
    pub high_rank: usize,
    /// Exact coverage for independent samples of a continuous distribution.
    pub achieved: f64,
}

/// Distribution-free interval of the quantile `q`: lower rank r = the largest with
/// P(Bin(n, q) < r) <= alpha/2, upper rank s = the smallest with P(Bin(n, q) >= s) <= alpha/2.
///
/// Source: David & Nagaraja, "Order Statistics", 3rd edition, section 7.1; the same rule as
/// benchstat.
pub fn quantile_interval(
    values: &[f64],
    q: f64,
    confidence: f64,
) -> Result<QuantileInterval, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 1)?;
    require_probability("q", q)?;
    require_probability("confidence", confidence)?;
    let ascending = sorted(values);
    let n = ascending.len();
    // The tolerance keeps a probability that is exactly alpha/2 on the allowed side.
    let tail = (1.0 - confidence) / 2.0 * (1.0 + 1e-12);
    // P(Bin < r) grows with r: the number of r in 1..=n that satisfy the rule is the largest such
    // r.
    let low_rank = partition(n, |r| binomial_cumulative(r - 1, n, q) <= tail);
    // P(Bin >= s) = P(n - Bin <= n - s), the same question with 1 - q, counted from the other end.
    let high_rank = n + 1 - partition(n, |r| binomial_cumulative(r - 1, n, 1.0 - q) <= tail);
    let below = if low_rank == 0 { 0.0 } else { binomial_cumulative(low_rank - 1, n, q) };
    let within = binomial_cumulative(high_rank - 1, n, q) - below;
    Ok(QuantileInterval {
        q,
        estimate: quantile_of_sorted(&ascending, q),
        low: low_rank.checked_sub(1).and_then(|index| ascending.get(index).copied()),
        high: ascending.get(high_rank - 1).copied(),
        low_rank,
        high_rank,
        achieved: within.clamp(0.0, 1.0),
    })
}

/// The largest r in `1..=n` for which `holds`, given that it holds for a prefix; 0 when for none.
fn partition(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut yes, mut no) = (0, n + 1);
    while no - yes > 1 {
        let middle = usize::midpoint(yes, no);
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    yes
}

/// The order-statistic interval of the median, `None` when there are too few values for the
/// confidence (below 5, 6 and 8 values for 90, 95 and 99 per cent).
pub fn median_interval(values: &[f64], confidence: f64) -> Result<Option<Interval>, StatsError> {
    let found = quantile_interval(values, 0.5, confidence)?;
    Ok(match (found.low, found.high) {
        (Some(low), Some(high)) if low <= high => Some(Interval {
            low,
            high,
            confidence,
            achieved: Some(found.achieved),
            method: IntervalMethod::OrderStatistic,
        }),
        _ => None,
    })
}

/// Fewest samples of a run for its quantile `q` to be shown: a thousand beyond it. One million for
/// p99.9.
pub fn samples_needed_for_quantile(q: f64) -> Result<u64, StatsError> {
    require_probability("q", q)?;
    let beyond = q.min(1.0 - q);
    let needed = (SAMPLES_BEYOND_QUANTILE / beyond * (1.0 - 1e-9)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and the cast saturates for a q within 1e-16 of its bound"
    )]
    Ok(needed as u64)
}

#[cfg(test)]
mod tests {
    use crate::quantile::{
        median, median_interval, quantile, quantile_interval, samples_needed_for_quantile,
    };

    #[test]
    fn type_seven_by_hand() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Ok(2.5));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), Ok(1.75));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.0), Ok(1.0));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 1.0), Ok(4.0));
        assert_eq!(median(&[5.0]), Ok(5.0));
        assert!(quantile(&[1.0], 1.5).is_err());
        assert!(quantile(&[1.0], f64::NAN).is_err());
        assert!(median(&[]).is_err());
    }

    #[test]
    fn six_values_are_the_first_with_a_95_per_cent_interval() {
        let values = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        assert_eq!(median_interval(&values[..5], 0.95), Ok(None));
        let found = median_interval(&values, 0.95).unwrap().unwrap();
        assert_eq!((found.low, found.high), (1.0, 6.0));
        assert!((found.achieved.unwrap() - 0.968_75).abs() < 1e-12);
        assert!(median_interval(&values[..5], 0.90).unwrap().is_some());
    }

    /// P(Bin(30, 0.9) = 30) is 0.042 > 0.025: thirty values cannot bound p90 from above, 36 can
    /// (0.0225).
    #[test]
    fn a_far_quantile_is_open_when_the_sample_is_small() {
        let values: Vec<f64> = (1..=36).map(f64::from).collect();
        let small = quantile_interval(&values[..30], 0.9, 0.95).unwrap();
        assert_eq!((small.high, small.high_rank), (None, 31));
        assert!(small.low.is_some());
        let enough = quantile_interval(&values, 0.9, 0.95).unwrap();
        assert_eq!(enough.high, Some(36.0));
        assert!(enough.achieved >= 0.95);
    }

    #[test]
    fn a_thousand_samples_beyond_the_quantile() {
        assert_eq!(samples_needed_for_quantile(0.999), Ok(1_000_000));
        assert_eq!(samples_needed_for_quantile(0.99), Ok(100_000));
        assert_eq!(samples_needed_for_quantile(0.5), Ok(2_000));
        assert!(samples_needed_for_quantile(1.0).is_err());
    }
}
