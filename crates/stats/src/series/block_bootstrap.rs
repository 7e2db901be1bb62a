//! Intervals inside one run, whose samples are not independent: batch means, circular block
//! bootstrap, and the Politis-White block length.
//!
//! What does not live here: anything across runs. Even these methods are not safe for short series
//! (a nominal 5 per cent is really 5 to 21 at n = 30), so their intervals describe a run and never
//! decide a verdict.
//!
//! Sources: Politis & Romano, in "Exploring the Limits of Bootstrap", 1992; Politis & White,
//! Econometric Reviews 23, 2004, corrected by Patton, Politis & White, Econometric Reviews 28,
//! 2009.

use crate::describe::{mean, squared_deviations, t_interval};
use crate::error::StatsError;
use crate::generator::Generator;
use crate::inference::bootstrap::{BootstrapPlan, percentile_interval};
use crate::input::{
    index_rounded_down, require_at_most, require_count, require_finite, require_probability,
};
use crate::interval::{Interval, IntervalMethod};

/// Longest series the block methods accept.
pub const LONGEST_SERIES: usize = 10_000_000;

/// The resample that circular blocks of `block` samples with the given starts make: whole blocks,
/// wrapping at the end, cut to the length of the series.
pub fn circular_blocks(values: &[f64], block: usize, starts: &[usize]) -> Vec<f64> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let block = block.clamp(1, n);
    let places = starts.iter().flat_map(|start| (0..block).map(move |step| (start % n + step) % n));
    places.take(n).map(|place| values[place]).collect()
}

/// A block-bootstrapped mean, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockBootstrap {
    /// Mean of the series.
    pub mean: f64,
    /// Standard error that allows for the correlation within a block.
    pub standard_error: f64,
    /// Percentile interval.
    pub interval: Interval,
    /// Block length used, in samples.
    pub block: usize,
}

/// Circular block bootstrap of the mean of one run's samples, at least two. `block` in samples;
/// [`block_length`] proposes one. Cost: series length times resamples.
pub fn block_bootstrap_mean(
    values: &[f64],
    block: usize,
    plan: &BootstrapPlan,
) -> Result<BlockBootstrap, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 2)?;
    require_count(block, 1)?;
    require_at_most(values.len(), LONGEST_SERIES)?;
    plan.check()?;
    let n = values.len();
    let block = block.min(n);
    let mut generator = Generator::seeded(plan.seed);
    let mut starts = vec![0; n.div_ceil(block)];
    let replicates: Vec<f64> = (0..plan.resamples)
        .map(|_| {
            starts.fill_with(|| generator.below(n));
            mean(&circular_blocks(values, block, &starts))
        })
        .collect();
    Ok(BlockBootstrap {
        mean: mean(values),
        standard_error: (squared_deviations(&replicates) / replicates.len() as f64).sqrt(),
        interval: percentile_interval(&replicates, plan.confidence)?,
        block,
    })
}

/// The t interval over `batches` means of consecutive samples. Left-over samples at the end are not
/// used; at least two batches of at least one sample.
pub fn batch_means_interval(
    values: &[f64],
    batches: usize,
    confidence: f64,
) -> Result<Interval, StatsError> {
    require_finite(values)?;
    require_count(batches, 2)?;
    require_count(values.len(), batches)?;
    require_probability("confidence", confidence)?;
    let means: Vec<f64> =
        values.chunks_exact(values.len() / batches).take(batches).map(mean).collect();
    t_interval(&means, confidence, IntervalMethod::BatchMeans)
        .ok_or(StatsError::TooFew { needed: 2, got: means.len() })
}

/// Proposed block lengths, in samples (not rounded).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockLength {
    /// Mean block length for the stationary bootstrap.
    pub stationary: f64,
    /// Block length for the circular bootstrap.
    pub circular: f64,
}

impl BlockLength {
    /// The circular length in whole samples, rounded up, at least 1.
    pub fn circular_samples(&self) -> usize {
        index_rounded_down(self.circular.ceil(), LONGEST_SERIES).max(1)
    }
}

/// The Politis-White automatic block length of a series of at least 16 samples with some spread.
pub fn block_length(values: &[f64]) -> Result<BlockLength, StatsError> {
    require_finite(values)?;
    require_count(values.len(), 16)?;
    require_at_most(values.len(), LONGEST_SERIES)?;
    let n = values.len();
    let real = n as f64;
    let centre = mean(values);
    let deviations: Vec<f64> = values.iter().map(|value| value - centre).collect();
    // Between 5 and 7 for any accepted length.
    let run_length = index_rounded_down(real.log10(), 9).max(5);
    let root = index_rounded_down(real.sqrt().ceil(), n);
    let longest_lag = (root + run_length).min(n - 2);
    let (covariances, significant) = lag_covariances(&deviations, longest_lag);
    if covariances[0] <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    // The first lag after which `run_length` autocorrelations in a row are insignificant.
    let quiet_after = (run_length..=longest_lag)
        .find(|&lag| significant[lag - run_length..lag].iter().all(|significant| !significant))
        .map(|lag| lag - run_length);
    let bandwidth = quiet_after.map_or(longest_lag, |lag| (2 * lag.max(1)).min(longest_lag));
    let (mut g, mut long_run) = (0.0, covariances[0]);
    for (lag, covariance) in covariances.iter().enumerate().take(bandwidth + 1).skip(1) {
        let share = lag as f64 / bandwidth as f64;
        let weight = if share <= 0.5 { 1.0 } else { 2.0 * (1.0 - share) };
        g += 2.0 * weight * lag as f64 * covariance;
        long_run += 2.0 * weight * covariance;
    }
    let longest = (3.0 * real.sqrt()).min(real / 3.0).ceil();
    let length = |constant: f64| {
        let ratio = 2.0 * (g / long_run).powi(2) / constant;
        let length = (ratio * real).cbrt();
        if length.is_finite() { length.min(longest) } else { longest }
    };
    Ok(BlockLength { stationary: length(2.0), circular: length(4.0 / 3.0) })
}

/// Autocovariances for lags 0..=longest, and whether each autocorrelation (normed by the
/// overlapping parts) is significant.
fn lag_covariances(deviations: &[f64], longest: usize) -> (Vec<f64>, Vec<bool>) {
    let n = deviations.len();
    let critical = 2.0 * ((n as f64).log10() / n as f64).sqrt();
    let squares = |part: &[f64]| part.iter().map(|value| value * value).sum::<f64>();
    (0..=longest)
        .map(|lag| {
            let cross: f64 = deviations[lag..].iter().zip(deviations).map(|(a, b)| a * b).sum();
            // One step beyond the lag: the convention of the reference implementation (arch).
            let norm =
                (squares(&deviations[lag + 1..]) * squares(&deviations[..n - lag - 1])).sqrt();
            (cross / n as f64, cross.abs() / norm >= critical)
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::bootstrap::BootstrapPlan;
    use crate::series::block_bootstrap::{
        batch_means_interval, block_bootstrap_mean, block_length, circular_blocks,
    };

    #[test]
    fn blocks_wrap_and_are_cut_to_length() {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0];
        assert_eq!(circular_blocks(&values, 3, &[4, 1]), [4.0, 0.0, 1.0, 1.0, 2.0]);
        assert_eq!(circular_blocks(&values, 100, &[2]), [2.0, 3.0, 4.0, 0.0, 1.0]);
        assert!(circular_blocks(&[], 3, &[1]).is_empty());
    }

    /// Batches {1, 3}, {5, 7}, {9, 11}: means 2, 6, 10, mean 6, sd 4.
    #[test]
    fn batch_means_by_hand() {
        let found = batch_means_interval(&[1.0, 3.0, 5.0, 7.0, 9.0, 11.0], 3, 0.95).unwrap();
        let half = 4.302_652_729_749_464 * 4.0 / 3.0_f64.sqrt();
        assert!((found.high - (6.0 + half)).abs() < 1e-9);
        assert!(batch_means_interval(&[1.0, 2.0], 3, 0.95).is_err());
    }

    #[test]
    fn longer_blocks_see_the_correlation() {
        let values: Vec<f64> = (0..120).map(|i| f64::from(i / 20 % 2)).collect();
        let plan = BootstrapPlan { resamples: 500, ..BootstrapPlan::default() };
        let single = block_bootstrap_mean(&values, 1, &plan).unwrap();
        let blocks = block_bootstrap_mean(&values, 10, &plan).unwrap();
        assert!(blocks.standard_error > 2.0 * single.standard_error);
        assert!(block_length(&values).unwrap().circular_samples() > 10);
    }

    #[test]
    fn flat_series_have_no_block_length() {
        assert_eq!(block_length(&[2.0; 40]), Err(StatsError::NoSpread));
        assert!(block_length(&[1.0; 15]).is_err());
        let plan = BootstrapPlan { resamples: 10, ..BootstrapPlan::default() };
        assert_eq!(block_bootstrap_mean(&[2.0; 4], 2, &plan).unwrap().standard_error, 0.0);
        assert!(block_bootstrap_mean(&[2.0; 4], 0, &plan).is_err());
    }
}
