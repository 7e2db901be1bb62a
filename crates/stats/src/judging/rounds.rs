//! Differences between paired rounds: pairing, dropping failed rounds, logarithms.
//!
//! Not here: estimates. A round is one replicate in which every variant ran once. A failed or
//! missing run drops its round from that pair and is counted; it is never treated as a zero.

use crate::error::StatsError;
use crate::input::{require_finite, require_positive, require_same_length};

/// Log ratios closer than this are tied: a ratio of 1.0000000001 equals 1, since floating-point
/// noise must not break ties.
pub const LOG_RATIO_RESOLUTION: f64 = 1e-10;

/// Resolution of ranked differences, as a fraction of the largest value.
pub const RELATIVE_RESOLUTION: f64 = 1e-10;

/// Rounds in which both sides have a value.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedRounds {
    /// Values of the baseline, one per kept round, in the metric's unit.
    pub base: Vec<f64>,
    /// Values of the variant, paired with `base`.
    pub variant: Vec<f64>,
    /// Round number of each pair, from 0.
    pub rounds: Vec<usize>,
    /// Rounds in which the baseline has no value.
    pub missing_base: usize,
    /// Rounds in which the variant has no value.
    pub missing_variant: usize,
}

impl PairedRounds {
    /// Rounds that were dropped because at least one side has no value.
    pub fn dropped(&self, total_rounds: usize) -> usize {
        total_rounds.saturating_sub(self.rounds.len())
    }
}

/// Pairs the rounds of a variant with those of the baseline. `None` marks a failed or missing run;
/// if one side has fewer rounds, its further rounds count as missing.
pub fn pair_rounds(base: &[Option<f64>], variant: &[Option<f64>]) -> PairedRounds {
    let total = base.len().max(variant.len());
    let mut paired = PairedRounds {
        base: Vec::with_capacity(total),
        variant: Vec::with_capacity(total),
        rounds: Vec::with_capacity(total),
        missing_base: 0,
        missing_variant: 0,
    };
    for round in 0..total {
        let left = base.get(round).copied().flatten();
        let right = variant.get(round).copied().flatten();
        paired.missing_base += usize::from(left.is_none());
        paired.missing_variant += usize::from(right.is_none());
        if let (Some(left), Some(right)) = (left, right) {
            paired.base.push(left);
            paired.variant.push(right);
            paired.rounds.push(round);
        }
    }
    paired
}

/// ln(variant / base) per round, a pure number. On this scale twice and half are equally far from
/// 1, and rates and times behave alike. Both series must be positive and of equal length.
pub(crate) fn log_ratios(base: &[f64], variant: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_same_length(base.len(), variant.len())?;
    require_positive(base)?;
    require_positive(variant)?;
    Ok(variant.iter().zip(base).map(|(variant, base)| (variant / base).ln()).collect())
}

/// variant - base per round, in the metric's unit: for counters that may be zero or negative.
pub fn differences(base: &[f64], variant: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_same_length(base.len(), variant.len())?;
    require_finite(base)?;
    require_finite(variant)?;
    Ok(variant.iter().zip(base).map(|(variant, base)| variant - base).collect())
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::judging::rounds::{differences, log_ratios, pair_rounds};

    #[test]
    fn a_failed_run_drops_its_round() {
        let base = [Some(1.0), None, Some(3.0), Some(4.0)];
        let variant = [Some(2.0), Some(2.0), None];
        let paired = pair_rounds(&base, &variant);
        assert_eq!((paired.base.as_slice(), paired.variant.as_slice()), (&[1.0][..], &[2.0][..]));
        assert_eq!(paired.rounds, [0]);
        assert_eq!((paired.missing_base, paired.missing_variant), (1, 2));
        assert_eq!(paired.dropped(4), 3);
    }

    #[test]
    fn zeros_are_refused_before_the_logarithm() {
        assert!(matches!(
            log_ratios(&[1.0, 0.0], &[1.0, 1.0]),
            Err(StatsError::NotPositive { index: 1, .. })
        ));
        assert_eq!(differences(&[1.0, 0.0], &[1.0, 1.0]), Ok(vec![0.0, 1.0]));
        assert_eq!(
            log_ratios(&[1.0], &[1.0, 1.0]),
            Err(StatsError::LengthsDiffer { left: 1, right: 2 })
        );
    }

    #[test]
    fn log_ratios_of_double_and_half_are_symmetric() {
        let up = log_ratios(&[1.0], &[2.0]).unwrap()[0];
        let down = log_ratios(&[2.0], &[1.0]).unwrap()[0];
        assert!((up + down).abs() < 1e-15);
    }
}
