//! Hodges-Lehmann estimates of location and shift, with exact intervals.
//!
//! Not here: logarithms and pairing (`rounds`), p-values (`signed_rank`, `mann_whitney`). The exact
//! interval has its nominal coverage even under outliers and skew, where Student's t has not, and
//! at 5 to 15 rounds, where a bootstrap interval of nominal .95 has .73 to .91.
//!
//! Source: Hodges & Lehmann, Annals of Mathematical Statistics 34, 1963; the intervals as in
//! Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3rd edition, sections 3.2, 3.3,
//! 4.2, 4.3.

use crate::describe::{mean, t_interval};
use crate::error::StatsError;
use crate::inference::null_counts::{CutRank, rank_sum_cuts, signed_rank_cuts};
use crate::inference::student::welch_interval;
use crate::input::{require_count, require_finite, require_probability, sorted};
use crate::interval::{Interval, IntervalMethod};
use crate::judging::pair_selection::{AscendingRows, pairwise_differences, walsh_averages};

/// Number of rounds below which no distribution-free 95 per cent interval exists.
pub const FEWEST_ROUNDS: usize = 6;

/// A Hodges-Lehmann estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HodgesLehmann {
    /// The pseudomedian of one series, or the shift b - a of two; in their unit.
    pub estimate: f64,
    /// Interval, which always contains the estimate; `None` for a single value, which allows no
    /// inference.
    pub interval: Option<Interval>,
    /// Rank at which the sorted averages or differences are cut, from 1; `None` for a t interval.
    pub cut_rank: Option<usize>,
    /// True if there are too few values for the exact interval. The interval is then Student's t
    /// and assumes normality.
    pub few_rounds: bool,
}

/// Pseudomedian of one series: the median of all averages (x_i + x_j)/2, i <= j.
///
/// The interval lies between the k-th smallest and the k-th largest average, k = max(1, smallest k
/// with P(W <= k) >= alpha/2), W the signed-rank statistic. If no k reaches the confidence (below
/// six values at 95 per cent), the interval is Student's t and is flagged. A single value has none.
/// The cost is O(n log^2 n) above a hundred values.
pub fn hodges_lehmann(values: &[f64], confidence: f64) -> Result<HodgesLehmann, StatsError> {
    let [estimate] = hodges_lehmann_at(values, [confidence])?;
    Ok(estimate)
}

/// Computes the estimate with intervals at several confidences, at the cost of one.
pub(crate) fn hodges_lehmann_at<const C: usize>(
    values: &[f64],
    confidences: [f64; C],
) -> Result<[HodgesLehmann; C], StatsError> {
    require_finite(values)?;
    require_count(values.len(), 1)?;
    for confidence in confidences {
        require_probability("confidence", confidence)?;
    }
    let ascending = sorted(values);
    let averages = walsh_averages(&ascending);
    let cuts = signed_rank_cuts(values.len(), confidences.map(|wanted| (1.0 - wanted) / 2.0));
    let estimate = averages.median();
    Ok(std::array::from_fn(|i| {
        let confidence = confidences[i];
        let t = || t_interval(values, confidence, IntervalMethod::StudentT);
        let method = IntervalMethod::SignedRank;
        estimate_of(&averages, estimate, cuts[i], confidence, method, t)
    }))
}

/// Shift from `a` to `b`: the median of all differences b_j - a_i, in the unit of the values.
///
/// The interval is cut by the same rule as in [`hodges_lehmann`], with the distribution of U. If no
/// k reaches the confidence, it is Welch's t and is flagged; with a single value on one side there
/// is none.
pub fn hodges_lehmann_shift(
    a: &[f64],
    b: &[f64],
    confidence: f64,
) -> Result<HodgesLehmann, StatsError> {
    let [estimate] = hodges_lehmann_shift_at(a, b, [confidence])?;
    Ok(estimate)
}

/// Computes the shift with intervals at several confidences, at the cost of one.
pub(crate) fn hodges_lehmann_shift_at<const C: usize>(
    a: &[f64],
    b: &[f64],
    confidences: [f64; C],
) -> Result<[HodgesLehmann; C], StatsError> {
    require_finite(a)?;
    require_finite(b)?;
    require_count(a.len(), 1)?;
    require_count(b.len(), 1)?;
    for confidence in confidences {
        require_probability("confidence", confidence)?;
    }
    let (sorted_a, sorted_b) = (sorted(a), sorted(b));
    let differences = pairwise_differences(&sorted_a, &sorted_b);
    let cuts = rank_sum_cuts(a.len(), b.len(), confidences.map(|wanted| (1.0 - wanted) / 2.0));
    let estimate = differences.median();
    Ok(std::array::from_fn(|i| {
        let confidence = confidences[i];
        let t = || welch_interval(a, b, confidence).or_else(|| flat_interval(a, b, confidence));
        let method = IntervalMethod::RankSum;
        estimate_of(&differences, estimate, cuts[i], confidence, method, t)
    }))
}

/// Interval for two constant sides, which is the shift itself; `None` with one value on a side.
fn flat_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    let shift = mean(b) - mean(a);
    let method = IntervalMethod::StudentT;
    let several = a.len() > 1 && b.len() > 1;
    several.then_some(Interval { low: shift, high: shift, confidence, achieved: None, method })
}

fn estimate_of<V: Fn(usize, usize) -> f64>(
    pairs: &AscendingRows<V>,
    estimate: f64,
    cut: Option<CutRank>,
    confidence: f64,
    method: IntervalMethod,
    without_ranks: impl FnOnce() -> Option<Interval>,
) -> HodgesLehmann {
    let Some(cut) = cut else {
        let interval = without_ranks().map(|interval| interval.widened_to(estimate));
        return HodgesLehmann { estimate, interval, cut_rank: None, few_rounds: true };
    };
    let interval = Interval {
        low: pairs.nth(cut.k - 1),
        high: pairs.nth(pairs.total() - cut.k),
        confidence,
        achieved: cut.achieved,
        method,
    };
    HodgesLehmann {
        estimate,
        interval: Some(interval.widened_to(estimate)),
        cut_rank: Some(cut.k),
        few_rounds: false,
    }
}

#[cfg(test)]
mod tests {
    use crate::inference::hodges_lehmann::{hodges_lehmann, hodges_lehmann_shift};
    use crate::interval::IntervalMethod;

    /// Averages of {1, 2, 6}: 1, 1.5, 2, 3.5, 4, 6; the median is 2.75.
    #[test]
    fn the_pseudomedian_matches_the_hand_calculation() {
        let estimate = hodges_lehmann(&[6.0, 1.0, 2.0], 0.95).unwrap();
        assert_eq!(estimate.estimate, 2.75);
        assert!(estimate.few_rounds);
        assert_eq!(estimate.interval.unwrap().method, IntervalMethod::StudentT);
    }

    #[test]
    fn a_single_value_has_no_inference() {
        let single = hodges_lehmann(&[7.0], 0.95).unwrap();
        assert_eq!((single.estimate, single.interval, single.few_rounds), (7.0, None, true));
        let shift = hodges_lehmann_shift(&[7.0], &[9.0], 0.95).unwrap();
        assert_eq!((shift.estimate, shift.interval), (2.0, None));
        assert!(hodges_lehmann(&[], 0.95).is_err());
    }

    /// At six rounds k = 1: the interval spans all averages, that is all values.
    #[test]
    fn six_rounds_span_the_values() {
        let estimate = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0, 60.0], 0.95).unwrap();
        let interval = estimate.interval.unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 60.0));
        assert_eq!((interval.achieved, estimate.few_rounds), (Some(0.968_75), false));
    }

    #[test]
    fn three_runs_a_side_fall_back_to_welch() {
        let estimate = hodges_lehmann_shift(&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0], 0.95).unwrap();
        assert!(estimate.few_rounds);
        assert_eq!(estimate.interval.unwrap().method, IntervalMethod::StudentT);
        let flat = hodges_lehmann_shift(&[1.0; 3], &[4.0; 3], 0.95).unwrap();
        assert_eq!((flat.interval.unwrap().low, flat.interval.unwrap().high), (3.0, 3.0));
    }

    #[test]
    fn thousands_of_values_are_selected_not_listed() {
        let values: Vec<f64> = (0..5_000).map(|i| f64::from((i * 7919) % 5_003)).collect();
        let estimate = hodges_lehmann(&values, 0.95).unwrap();
        let interval = estimate.interval.unwrap();
        assert!((estimate.estimate - 2_500.0).abs() < 5.0, "{estimate:?}");
        assert!(interval.half_width() < 60.0 && interval.achieved.is_none());
    }
}
