//! MSER-5: where the warm-up of one run ends.
//!
//! What does not live here: dropping anything. The truncation is a proposal to report; the figure
//! of the whole run is always kept beside it.
//!
//! Source: White, Simulation 69, 1997; batches of five: White, Cobb & Spratt, Winter Simulation
//! Conference 2000.

use crate::error::StatsError;
use crate::input::{largest_magnitude, require_count, require_finite};

/// Samples per batch.
const BATCH: usize = 5;

/// A proposed truncation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// Leading batches of five samples to leave out.
    pub batches_dropped: usize,
    /// The same in samples.
    pub samples_dropped: usize,
    /// The minimised statistic: squared error of the mean of the rest, in the squared unit of the
    /// samples.
    pub statistic: f64,
    /// The minimum lies at the last place that was tried (half of the run): the run is probably too
    /// short to tell.
    pub at_limit: bool,
}

/// MSER-5 over the samples of one run in time order, at least ten. Minimises the sum of squared
/// deviations of the remaining batch means over the squared number of them, leaving out at most
/// half.
pub fn mser5(samples: &[f64]) -> Result<WarmUp, StatsError> {
    require_finite(samples)?;
    require_count(samples.len(), 2 * BATCH)?;
    // Deviations from the first value in units of the largest: sums of squares then lose nothing.
    let scale = largest_magnitude(samples).max(f64::MIN_POSITIVE);
    let means: Vec<f64> = samples
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().map(|value| value / scale).sum::<f64>() / BATCH as f64)
        .collect();
    let last = means.len() / 2;
    let mut best = (f64::INFINITY, 0);
    // Walk from the end, carrying mean and sum of squares of the rest (Welford), and look from
    // `last` on.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (dropped, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
        let statistic: f64 = squares / (count * count);
        // Ties go to the smaller truncation, which this walk meets later.
        if dropped <= last && statistic <= best.0 {
            best = (statistic, dropped);
        }
    }
    Ok(WarmUp {
        batches_dropped: best.1,
        samples_dropped: best.1 * BATCH,
        statistic: best.0 * scale * scale,
        at_limit: best.1 == last,
    })
}

#[cfg(test)]
mod tests {
    use crate::series::warm_up::mser5;

    #[test]
    fn a_steady_run_loses_nothing() {
        assert_eq!(mser5(&[3.0; 50]).unwrap().samples_dropped, 0);
        assert!(mser5(&[3.0; 9]).is_err());
    }

    #[test]
    fn a_ramp_without_end_is_at_the_limit() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        let found = mser5(&ramp).unwrap();
        assert!(found.at_limit, "{found:?}");
        assert_eq!(found.samples_dropped, 50);
    }
}
