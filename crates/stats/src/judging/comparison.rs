//! Comparison of one metric between a variant and the baseline: ratio (or difference), intervals,
//! exact p-value, spread, drift over the rounds.
//!
//! Not here: verdicts, which depend on the whole family and an effect threshold (`verdict`), and
//! the pairing of rounds with failed runs (`rounds`).

use crate::describe::{squared_deviations, variance};
use crate::error::StatsError;
use crate::inference::hodges_lehmann::{HodgesLehmann, hodges_lehmann_at, hodges_lehmann_shift_at};
use crate::inference::mann_whitney::mann_whitney;
use crate::inference::signed_rank::signed_rank_at;
use crate::input::{
    largest_magnitude, require_count, require_finite, require_positive, require_probability,
};
use crate::interval::{Interval, TestMethod};
use crate::judging::rounds::{LOG_RATIO_RESOLUTION, RELATIVE_RESOLUTION, differences, log_ratios};
use crate::rank::quantised;
use crate::series::mann_kendall::mann_kendall;
use crate::series::settle::noise_of_interval;
use crate::series::theil_sen::theil_sen;

/// Chance of a false alarm that treering accepts.
pub const ALPHA: f64 = 0.05;

/// Fewest rounds for the drift test.
const DRIFT_FEWEST_ROUNDS: usize = 5;

/// Confidence of the interval whose width tells the noise of rounds. The estimate is consistent
/// with any confidence; at a low one, the few outliers of a dozen rounds do not widen it.
///
/// Source: McKean & Hettmansperger, Biometrika 63, 1976.
const NOISE_CONFIDENCE: f64 = 0.6;

/// Limit of the log ratio, which keeps the interval of two extreme runs finite.
const LARGEST_LOG: f64 = 700.0;

/// Scale of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scale {
    /// variant / baseline: rates, times, sizes. Values must be positive.
    Ratio,
    /// variant - baseline in the metric's unit: counters that may be zero or negative.
    Difference,
}

/// Pairing of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunPairing {
    /// One run of each side per round; effects common to a round cancel.
    Paired,
    /// Two unrelated sets of runs, as in imports, which need more runs to show the same difference.
    Unpaired,
}

/// Trend of the differences over the rounds: the two sides moved apart during the campaign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundDrift {
    /// Theil-Sen slope per round, on the working scale (log ratio or difference).
    pub slope_per_round: f64,
    /// Mann-Kendall p-value.
    pub p_value: f64,
    /// True if p is below .05: the estimate averages over values that changed during the campaign.
    pub drifting: bool,
}

/// Comparison of one metric between the variant and the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Scale, which determines the unit of `estimate` and the intervals.
    pub scale: Scale,
    /// Paired or unpaired.
    pub design: RunPairing,
    /// Runs of the baseline used (rounds, when paired).
    pub base_runs: usize,
    /// Runs of the variant used.
    pub variant_runs: usize,
    /// Hodges-Lehmann estimate: a ratio (1.02 is 2 % more) or a difference in the metric's unit.
    pub estimate: f64,
    /// The interval of confidence 1 - alpha; `None` for a single run.
    pub interval: Option<Interval>,
    /// The interval of confidence 1 - 2 alpha, for the question "is it the same?"
    pub equivalence_interval: Option<Interval>,
    /// Two-sided p-value, uncorrected; `None` for a single run. Must not be shown alone.
    pub p_value: Option<f64>,
    /// Method of the p-value.
    pub method: Option<TestMethod>,
    /// Standard deviation of the round differences on the working scale (a log ratio of .02 is
    /// about 2 %). If unpaired, the pooled standard deviation times the square root of 2, which is
    /// comparable. `None` for a single run.
    pub spread: Option<f64>,
    /// Standard deviation of normal differences that the rank test would find as hard, on the
    /// working scale: outliers count as it feels them. `None` below six rounds or without spread.
    pub rank_spread: Option<f64>,
    /// Rounds without any difference, left out by the test.
    pub zeros: usize,
    /// True if the test had ties.
    pub ties: bool,
    /// True if there were too few runs for an exact interval, and Student's t was used.
    pub few_rounds: bool,
    /// Drift over the rounds; `None` unpaired or below five rounds.
    pub drift: Option<RoundDrift>,
}

impl Comparison {
    /// The estimate on the working scale: the log of the ratio, or the difference itself.
    pub fn effect(&self) -> f64 {
        self.scale.to_working(self.estimate)
    }

    /// Smaller number of runs.
    pub fn runs(&self) -> usize {
        self.base_runs.min(self.variant_runs)
    }

    /// True if one side has a single run: the comparison is a ratio without inference.
    pub fn is_single_run(&self) -> bool {
        self.runs() < 2
    }

    /// Half the width of the interval on the working scale, for precision stopping.
    pub fn half_width(&self) -> Option<f64> {
        let working = |end| self.scale.to_working(end);
        self.interval.map(|interval| (working(interval.high) - working(interval.low)) / 2.0)
    }
}

impl Scale {
    /// Converts a reported value to the working scale.
    pub(crate) fn to_working(self, reported: f64) -> f64 {
        match self {
            Self::Ratio => reported.max(f64::MIN_POSITIVE).ln(),
            Self::Difference => reported,
        }
    }

    /// Converts a value of the working scale to the reported one.
    pub(crate) fn to_reported(self, working: f64) -> f64 {
        match self {
            Self::Ratio => working.clamp(-LARGEST_LOG, LARGEST_LOG).exp(),
            Self::Difference => working,
        }
    }
}

/// Compares a metric over paired rounds: `base[r]` and `variant[r]` come from the same round, in
/// the metric's unit; at least one round. Uses the exact signed-rank test and interval; below six
/// rounds, a flagged t interval; for one round, only the ratio. `alpha` is usually [`ALPHA`].
pub fn compare_paired(
    base: &[f64],
    variant: &[f64],
    scale: Scale,
    alpha: f64,
) -> Result<Comparison, StatsError> {
    require_alpha(alpha)?;
    let (working, resolution) = match scale {
        Scale::Ratio => (log_ratios(base, variant)?, LOG_RATIO_RESOLUTION),
        Scale::Difference => {
            let largest = largest_magnitude(base).max(largest_magnitude(variant));
            (differences(base, variant)?, RELATIVE_RESOLUTION * largest)
        }
    };
    require_count(working.len(), 1)?;
    let confidences = [1.0 - alpha, 1.0 - 2.0 * alpha, NOISE_CONFIDENCE];
    let estimates = hodges_lehmann_at(&working, confidences)?;
    let test = signed_rank_at(&working, resolution.max(f64::MIN_POSITIVE))?;
    let several = working.len() > 1;
    Ok(Comparison {
        p_value: several.then_some(test.p_value),
        method: several.then_some(test.method),
        spread: several.then(|| variance(&working).sqrt()),
        zeros: test.zeros,
        ties: test.ties,
        drift: round_drift(&working, resolution),
        ..skeleton(scale, RunPairing::Paired, base.len(), variant.len(), &estimates)
    })
}

/// Compares a metric between two unrelated sets of at least one run, in the metric's unit. Uses the
/// exact Mann-Whitney test and rank-sum interval; below four runs per side, a flagged Welch
/// interval; with one run on a side, only the ratio.
pub fn compare_unpaired(
    base: &[f64],
    variant: &[f64],
    scale: Scale,
    alpha: f64,
) -> Result<Comparison, StatsError> {
    require_alpha(alpha)?;
    require_count(base.len(), 1)?;
    require_count(variant.len(), 1)?;
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (base, variant, resolution) = match scale {
        Scale::Ratio => {
            require_positive(base)?;
            require_positive(variant)?;
            (logarithms(base), logarithms(variant), LOG_RATIO_RESOLUTION)
        }
        Scale::Difference => {
            require_finite(base)?;
            require_finite(variant)?;
            let largest = largest_magnitude(base).max(largest_magnitude(variant));
            (base.to_vec(), variant.to_vec(), RELATIVE_RESOLUTION * largest)
        }
    };
    let confidences = [1.0 - alpha, 1.0 - 2.0 * alpha, NOISE_CONFIDENCE];
    let estimates = hodges_lehmann_shift_at(&base, &variant, confidences)?;
    let test = mann_whitney(&quantised(&base, resolution), &quantised(&variant, resolution))?;
    let several = base.len() > 1 && variant.len() > 1;
    let pooled = || {
        let freedom = (base.len() + variant.len() - 2) as f64;
        ((squared_deviations(&base) + squared_deviations(&variant)) / freedom).sqrt()
    };
    Ok(Comparison {
        p_value: several.then_some(test.p_value),
        method: several.then_some(test.method),
        spread: several.then(|| pooled() * std::f64::consts::SQRT_2),
        ties: test.ties,
        ..skeleton(scale, RunPairing::Unpaired, base.len(), variant.len(), &estimates)
    })
}

fn require_alpha(alpha: f64) -> Result<(), StatsError> {
    require_probability("alpha", alpha)?;
    require_probability("1 - 2 alpha", 1.0 - 2.0 * alpha)
}

fn skeleton(
    scale: Scale,
    design: RunPairing,
    base_runs: usize,
    variant_runs: usize,
    [outer, inner, narrow]: &[HodgesLehmann; 3],
) -> Comparison {
    let reported = |interval: Option<Interval>| {
        interval.map(|interval| interval.mapped(|end| scale.to_reported(end)))
    };
    Comparison {
        scale,
        design,
        base_runs,
        variant_runs,
        estimate: scale.to_reported(outer.estimate),
        interval: reported(outer.interval),
        equivalence_interval: reported(inner.interval),
        p_value: None,
        method: None,
        spread: None,
        rank_spread: narrow.interval.and_then(|interval| {
            let rounds = u32::try_from(base_runs.min(variant_runs)).unwrap_or(u32::MAX);
            let half_width = (interval.high - interval.low) / 2.0;
            let noise = noise_of_interval(half_width, interval.achieved?, rounds);
            (noise > 0.0).then_some(noise)
        }),
        zeros: 0,
        ties: false,
        few_rounds: outer.few_rounds,
        drift: None,
    }
}

fn round_drift(working: &[f64], resolution: f64) -> Option<RoundDrift> {
    if working.len() < DRIFT_FEWEST_ROUNDS {
        return None;
    }
    let p_value = mann_kendall(&quantised(working, resolution)).ok()?.p_value;
    let slope_per_round = theil_sen(working, 1.0 - ALPHA).ok()?.slope;
    Some(RoundDrift { slope_per_round, p_value, drifting: p_value < ALPHA })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::judging::comparison::{ALPHA, RunPairing, Scale, compare_paired, compare_unpaired};

    const BASE: [f64; 8] = [100.0, 104.0, 97.0, 101.0, 99.0, 103.0, 98.0, 102.0];

    #[test]
    fn a_constant_factor_is_found_exactly() {
        let variant = BASE.map(|value| value * 0.9);
        let comparison = compare_paired(&BASE, &variant, Scale::Ratio, ALPHA).unwrap();
        assert!((comparison.estimate - 0.9).abs() < 1e-12);
        let interval = comparison.interval.unwrap();
        assert!((interval.low - 0.9).abs() < 1e-12 && (interval.high - 0.9).abs() < 1e-12);
        assert_eq!(comparison.p_value, Some(2.0 / 256.0));
        assert!(comparison.ties && !comparison.few_rounds);
        assert!(comparison.spread.unwrap() < 1e-12);
        assert!((comparison.effect() - 0.9_f64.ln()).abs() < 1e-12);
        assert!(comparison.half_width().unwrap() < 1e-12);
    }

    #[test]
    fn a_single_run_has_a_ratio_without_inference() {
        for comparison in [
            compare_paired(&[10.0], &[20.0], Scale::Ratio, ALPHA).unwrap(),
            compare_unpaired(&[10.0], &[20.0], Scale::Ratio, ALPHA).unwrap(),
        ] {
            assert!((comparison.estimate - 2.0).abs() < 1e-12);
            assert!(comparison.is_single_run());
            assert_eq!(
                (comparison.interval, comparison.p_value, comparison.spread),
                (None, None, None)
            );
        }
    }

    #[test]
    fn counters_at_zero_are_compared_by_difference() {
        let zeros = [0.0; 6];
        let some = [0.0, 1.0, 2.0, 0.0, 3.0, 1.0];
        assert!(matches!(
            compare_paired(&zeros, &some, Scale::Ratio, ALPHA),
            Err(StatsError::NotPositive { .. })
        ));
        let comparison = compare_paired(&zeros, &some, Scale::Difference, ALPHA).unwrap();
        assert_eq!((comparison.estimate, comparison.zeros), (1.0, 2));
        let same = compare_paired(&zeros, &zeros, Scale::Difference, ALPHA).unwrap();
        assert_eq!((same.estimate, same.p_value), (0.0, Some(1.0)));
    }

    /// Rounds vary by 30 per cent and the variant differs by 2 per cent in each, which only pairing
    /// detects.
    #[test]
    fn pairing_removes_effects_common_to_a_round() {
        let base = [70.0, 80.0, 90.0, 100.0, 110.0, 120.0, 130.0, 95.0];
        let noise = [0.001, -0.002, 0.0, 0.002, -0.001, 0.003, -0.003, 0.001];
        let variant: Vec<f64> = base.iter().zip(noise).map(|(b, e)| b * (1.02 + e)).collect();
        let paired = compare_paired(&base, &variant, Scale::Ratio, ALPHA).unwrap();
        let unpaired = compare_unpaired(&base, &variant, Scale::Ratio, ALPHA).unwrap();
        assert!(paired.p_value.unwrap() < 0.01 && unpaired.p_value.unwrap() > 0.5);
        assert_eq!((paired.design, unpaired.design), (RunPairing::Paired, RunPairing::Unpaired));
        assert!(unpaired.spread.unwrap() > 20.0 * paired.spread.unwrap());
    }

    #[test]
    fn a_variant_that_decays_from_round_to_round_is_flagged() {
        let variant: Vec<f64> =
            BASE.iter().zip(0..).map(|(value, round)| value * 0.98_f64.powi(round)).collect();
        let drift = compare_paired(&BASE, &variant, Scale::Ratio, ALPHA).unwrap().drift.unwrap();
        assert!(drift.drifting);
        assert!((drift.slope_per_round - 0.98_f64.ln()).abs() < 1e-9);
        let steady = compare_paired(&BASE, &BASE, Scale::Ratio, ALPHA).unwrap().drift.unwrap();
        assert!(!steady.drifting);
    }

    #[test]
    fn extreme_ratios_stay_finite() {
        let comparison =
            compare_paired(&[1e-50, 1e50], &[1e50, 1e-50], Scale::Ratio, ALPHA).unwrap();
        let interval = comparison.interval.unwrap();
        assert!(interval.low > 0.0 && interval.high.is_finite());
    }
}
