//! Tails that a typical ratio hides: the ratio of means, that of the worst tenth, outlying runs.
//!
//! Not here: the verdict on the typical ratio (`verdict`). Occasional stalls do not change the
//! median. They change the mean, which determines how long a large amount of work takes, and the
//! worst tenth, which determines how long users wait.

use crate::error::StatsError;
use crate::inference::fisher::fisher_exact;
use crate::input::{require_count, require_positive};
use crate::judging::comparison::{ALPHA, RunPairing};
use crate::judging::verdict::Direction;
use crate::quantile::median;

/// Fewest runs per side for which outlying runs are reported.
const FEWEST_RUNS: usize = 6;

/// Distance from the median, in robust standard deviations, beyond which a run is outlying if there
/// are many runs. With few runs the deviation is less certain and the distance larger. With
/// Student's t of three degrees of freedom, 3 of 1000 values lie beyond it.
const FENCE: f64 = 8.0;

/// Number of runs at which the distance is doubled.
const FEW_RUNS: f64 = 4.0;

/// Smallest distance of an outlying run, on a logarithmic scale: about 10 % longer.
const LEAST_DISTANCE: f64 = 0.095;

/// Standard deviation of normal values over the median of their absolute deviations.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;

/// Means, worst tenths and outlying runs of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailComparison {
    /// Ratio of the means, variant / base. For rates, the means are taken of the time per amount of
    /// work.
    pub mean_ratio: f64,
    /// Ratio of the means of the worst tenth of each side's runs, at least one run.
    pub worst_tenth_ratio: f64,
    /// Number of runs of base and variant that are far worse than the typical run.
    pub outlying: [usize; 2],
    /// Number of runs of each side.
    pub runs: [usize; 2],
    /// Two-sided p-value of the counts by Fisher's exact test.
    pub p_value: f64,
}

impl TailComparison {
    /// Compares two sides of positive values; `None` with fewer than six runs on a side.
    pub fn new(
        (base, variant): (&[f64], &[f64]),
        design: RunPairing,
        direction: Direction,
    ) -> Result<Option<Self>, StatsError> {
        require_positive(base)?;
        require_positive(variant)?;
        require_count(base.len(), 1)?;
        require_count(variant.len(), 1)?;
        if base.len().min(variant.len()) < FEWEST_RUNS {
            return Ok(None);
        }
        let costs = |values: &[f64]| -> Vec<f64> {
            match direction {
                Direction::HigherIsBetter => values.iter().map(|value| 1.0 / value).collect(),
                Direction::LowerIsBetter => values.to_vec(),
            }
        };
        let costs = [costs(base), costs(variant)];
        let ratio = |of: fn(&[f64]) -> f64| match direction {
            Direction::HigherIsBetter => of(&costs[0]) / of(&costs[1]),
            Direction::LowerIsBetter => of(&costs[1]) / of(&costs[0]),
        };
        let outlying = count_outlying(&costs, design)?;
        let runs = [base.len(), variant.len()];
        Ok(Some(Self {
            mean_ratio: ratio(mean),
            worst_tenth_ratio: ratio(mean_of_worst_tenth),
            outlying,
            runs,
            p_value: p_value(outlying, runs)?,
        }))
    }

    /// Reports whether the numbers of outlying runs differ by more than chance explains.
    pub fn is_one_sided(&self) -> bool {
        self.p_value < ALPHA
    }

    /// Reports whether means or worst tenths differ by more than `threshold` (relative) because of
    /// outlying runs on one side. The sides are then not the same.
    pub fn disagrees(&self, threshold: f64) -> bool {
        let margin = threshold.ln_1p();
        let excess = self.outlying[0].abs_diff(self.outlying[1]);
        let is_beyond = |ratio: f64| ratio.ln().abs() > margin;
        self.is_one_sided()
            || excess > 0 && is_beyond(self.mean_ratio)
            || excess > 1 && is_beyond(self.worst_tenth_ratio)
    }
}

fn p_value(outlying: [usize; 2], runs: [usize; 2]) -> Result<f64, StatsError> {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let [base, variant] = [0, 1].map(|side: usize| (count(outlying[side]), count(runs[side])));
    fisher_exact(base, variant)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn mean_of_worst_tenth(costs: &[f64]) -> f64 {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(|left, right| right.total_cmp(left));
    mean(&costs[..costs.len().div_ceil(10)])
}

/// Number of outlying runs of each side. Paired runs are judged by the ratio of their round, so
/// that a stall that hits both sides counts for neither; unpaired runs by the median of their own
/// side.
fn count_outlying(costs: &[Vec<f64>; 2], design: RunPairing) -> Result<[usize; 2], StatsError> {
    let logs = |side: usize| costs[side].iter().map(|cost| cost.ln()).collect::<Vec<f64>>();
    let above = |values: &[f64], sign: f64| -> Result<usize, StatsError> {
        let center = median(values)?;
        let distances: Vec<f64> = values.iter().map(|value| sign * (value - center)).collect();
        let sizes: Vec<f64> = distances.iter().map(|distance| distance.abs()).collect();
        let deviations = FENCE * (1.0 + FEW_RUNS / values.len() as f64);
        let fence = (deviations * DEVIATION_OF_MEDIAN * median(&sizes)?).max(LEAST_DISTANCE);
        Ok(distances.iter().filter(|distance| **distance > fence).count())
    };
    let (base, variant) = (logs(0), logs(1));
    match design {
        RunPairing::Paired => {
            let ratios: Vec<f64> = variant.iter().zip(&base).map(|(v, b)| v - b).collect();
            Ok([above(&ratios, -1.0)?, above(&ratios, 1.0)?])
        }
        RunPairing::Unpaired => Ok([above(&base, 1.0)?, above(&variant, 1.0)?]),
    }
}

#[cfg(test)]
mod tests {
    use crate::judging::comparison::RunPairing;
    use crate::judging::tails::TailComparison;
    use crate::judging::verdict::Direction;

    fn of(base: &[f64], variant: &[f64], direction: Direction) -> TailComparison {
        TailComparison::new((base, variant), RunPairing::Paired, direction).unwrap().unwrap()
    }

    #[test]
    fn a_stall_is_counted_on_its_side_whatever_the_direction() {
        let base: Vec<f64> = (0..20).map(|run| 100.0 + f64::from(run % 3)).collect();
        let mut slow = base.clone();
        (slow[4], slow[11]) = (200.0, 200.0);
        let times = of(&base, &slow, Direction::LowerIsBetter);
        assert_eq!((times.outlying, times.runs), ([0, 2], [20, 20]));
        assert!((times.mean_ratio - 1.098).abs() < 0.002, "{times:?}");
        assert!(times.worst_tenth_ratio > 1.9 && times.disagrees(0.03), "{times:?}");
        let inverse = |values: &[f64]| values.iter().map(|value| 1.0 / value).collect::<Vec<_>>();
        let rates = of(&inverse(&base), &inverse(&slow), Direction::HigherIsBetter);
        assert_eq!(rates.outlying, [0, 2]);
        assert!((rates.mean_ratio * times.mean_ratio - 1.0).abs() < 1e-9);
        assert_eq!(of(&slow, &base, Direction::LowerIsBetter).outlying, [2, 0]);
    }

    #[test]
    fn a_stall_of_both_sides_counts_on_neither() {
        let mut base: Vec<f64> = (0..20).map(|run| 100.0 + f64::from(run % 3)).collect();
        base[7] = 300.0;
        let tails = of(&base, &base, Direction::LowerIsBetter);
        assert_eq!((tails.outlying, tails.disagrees(0.03)), ([0, 0], false));
    }

    #[test]
    fn five_runs_have_no_tail() {
        let five = [1.0; 5];
        let tails =
            TailComparison::new((&five, &five), RunPairing::Unpaired, Direction::LowerIsBetter);
        assert_eq!(tails, Ok(None));
    }
}
