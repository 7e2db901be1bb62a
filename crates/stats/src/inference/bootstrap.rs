//! The bootstrap over rounds, for statistics that have no formula: a ratio of p99s, a geometric
//! mean over metrics.
//!
//! What does not live here: resampling inside one run (`block_bootstrap`), and the default
//! comparison, which is exact. Rounds are resampled whole, so that everything measured in a round
//! stays together. At 5 to 15 rounds the promised 95 per cent is really .73 to .91; therefore BCa
//! only from 20 rounds, below that the studentised form, and the result is labelled approximate.
//!
//! Sources: Efron, Journal of the American Statistical Association 82, 1987 (BCa); Hall, Annals of
//! Statistics 16, 1988 (studentised).

use crate::describe::{mean, squared_deviations};
use crate::distribution::{normal_cumulative, normal_quantile};
use crate::error::StatsError;
use crate::generator::Generator;
use crate::input::{
    LARGEST_VALUE, require_at_most, require_count, require_finite, require_probability, sorted,
};
use crate::interval::{Interval, IntervalMethod};
use crate::quantile::quantile_of_sorted;

/// From this number of rounds the interval is BCa and no longer labelled approximate.
pub const BCA_FEWEST_ROUNDS: usize = 20;

/// More resamples than this are refused.
pub const MOST_RESAMPLES: usize = 1_000_000;

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapPlan {
    /// Number of resamples; 10,000 by default.
    pub resamples: usize,
    /// Seed of the generator: the same seed gives the same interval.
    pub seed: u64,
    /// Nominal confidence; .95 by default.
    pub confidence: f64,
}

impl Default for BootstrapPlan {
    fn default() -> Self {
        Self { resamples: 10_000, seed: 1, confidence: 0.95 }
    }
}

impl BootstrapPlan {
    pub(crate) fn check(&self) -> Result<(), StatsError> {
        require_count(self.resamples, 1)?;
        require_at_most(self.resamples, MOST_RESAMPLES)?;
        require_probability("confidence", self.confidence)
    }
}

/// A bootstrapped statistic, every figure but the counts in the statistic's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the observed rounds.
    pub estimate: f64,
    /// Standard deviation of the replicates.
    pub standard_error: f64,
    /// `None` for a single round.
    pub interval: Option<Interval>,
    /// Resamples on which the statistic had no value; they are left out.
    pub undefined: usize,
    /// Fewer than 20 rounds: the real coverage is below the nominal one.
    pub approximate: bool,
}

/// Bootstraps a statistic of rounds. `statistic` receives the positions of the rounds to use, with
/// repetitions, and returns `None` where it has no value. BCa from 20 rounds, else studentised with
/// jackknife standard errors, else (where those vanish) percentile.
///
/// The cost is `resamples` calls of the statistic, and `rounds` times as many below 20 rounds.
pub fn bootstrap_rounds(
    rounds: usize,
    plan: &BootstrapPlan,
    mut statistic: impl FnMut(&[usize]) -> Option<f64>,
) -> Result<Bootstrap, StatsError> {
    require_count(rounds, 1)?;
    require_at_most(rounds, MOST_RESAMPLES)?;
    plan.check()?;
    let mut statistic =
        |places: &[usize]| statistic(places).filter(|value| value.abs() <= LARGEST_VALUE);
    let all: Vec<usize> = (0..rounds).collect();
    let estimate = statistic(&all).ok_or(StatsError::StatisticUndefined)?;
    let approximate = rounds < BCA_FEWEST_ROUNDS;
    let mut generator = Generator::seeded(plan.seed);
    let mut places = vec![0; rounds];
    let mut replicates = Vec::with_capacity(plan.resamples);
    let mut pivots = Vec::new();
    for _ in 0..plan.resamples {
        places.fill_with(|| generator.below(rounds));
        let Some(value) = statistic(&places) else {
            continue;
        };
        replicates.push(value);
        if approximate && let Some(error) = jackknife_error(&places, &mut statistic) {
            pivots.push((value - estimate) / error);
        }
    }
    if 2 * replicates.len() < plan.resamples {
        return Err(StatsError::StatisticUndefined);
    }
    let interval = match rounds {
        1 => None,
        _ if approximate => {
            let error = jackknife_error(&all, &mut statistic);
            studentised(estimate, error, pivots, replicates.len(), plan.confidence)
                .or(Some(percentile_interval(&replicates, plan.confidence)?))
        }
        _ => {
            let left_out = jackknife(&all, &mut statistic);
            let bca = bca_interval(estimate, &replicates, &left_out, plan.confidence);
            Some(bca.map_or(percentile_interval(&replicates, plan.confidence)?, |bca| bca.interval))
        }
    };
    Ok(Bootstrap {
        estimate,
        standard_error: (squared_deviations(&replicates) / replicates.len() as f64).sqrt(),
        interval,
        undefined: plan.resamples - replicates.len(),
        approximate,
    })
}

/// The statistic with each place left out once; undefined values are skipped.
fn jackknife(places: &[usize], statistic: &mut impl FnMut(&[usize]) -> Option<f64>) -> Vec<f64> {
    let mut rest = places.to_vec();
    let mut values = Vec::with_capacity(places.len());
    let Some(mut held) = rest.pop() else {
        return values;
    };
    values.extend(statistic(&rest));
    // Put the one held back in the place of the next one to leave out.
    for place in (0..rest.len()).rev() {
        std::mem::swap(&mut rest[place], &mut held);
        values.extend(statistic(&rest));
    }
    values
}

fn jackknife_error(
    places: &[usize],
    statistic: &mut impl FnMut(&[usize]) -> Option<f64>,
) -> Option<f64> {
    let values = jackknife(places, statistic);
    let n = values.len() as f64;
    let error = (squared_deviations(&values) * (n - 1.0) / n).sqrt();
    (error > 0.0 && error.is_finite()).then_some(error)
}

/// `None` unless most resamples have a standard error of their own.
fn studentised(
    estimate: f64,
    error: Option<f64>,
    pivots: Vec<f64>,
    replicates: usize,
    confidence: f64,
) -> Option<Interval> {
    let error = error?;
    let pivots: Vec<f64> = pivots.into_iter().filter(|pivot| pivot.is_finite()).collect();
    if 10 * pivots.len() < 9 * replicates {
        return None;
    }
    let ascending = sorted(&pivots);
    let tail = (1.0 - confidence) / 2.0;
    let low = estimate - quantile_of_sorted(&ascending, 1.0 - tail) * error;
    let high = estimate - quantile_of_sorted(&ascending, tail) * error;
    let method = IntervalMethod::BootstrapStudentised;
    (low.is_finite() && high.is_finite())
        .then(|| Interval { low, high, confidence, achieved: None, method }.widened_to(estimate))
}

/// The percentile interval of given replicates (at least one), type 7 quantiles.
pub fn percentile_interval(replicates: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    require_finite(replicates)?;
    require_count(replicates.len(), 1)?;
    require_probability("confidence", confidence)?;
    let ascending = sorted(replicates);
    let tail = (1.0 - confidence) / 2.0;
    Ok(Interval {
        low: quantile_of_sorted(&ascending, tail),
        high: quantile_of_sorted(&ascending, 1.0 - tail),
        confidence,
        achieved: None,
        method: IntervalMethod::BootstrapPercentile,
    })
}

/// A BCa interval and the figures it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bca {
    /// Bias correction.
    pub z0: f64,
    /// Acceleration, from the jackknife.
    pub acceleration: f64,
    /// The quantile taken for the lower end.
    pub alpha_low: f64,
    /// The quantile taken for the upper end.
    pub alpha_high: f64,
    /// The interval.
    pub interval: Interval,
}

/// The BCa interval of given replicates and jackknife values. Fails with [`StatsError::NoSpread`]
/// where the corrections do not exist (all replicates on one side of the estimate).
///
/// Replicates within 1e-12 of the estimate count as equal to it; equal ones count one half. For a
/// median the jackknife is degenerate: use [`percentile_interval`] or an order-statistic interval
/// there.
pub fn bca_interval(
    estimate: f64,
    replicates: &[f64],
    jackknife: &[f64],
    confidence: f64,
) -> Result<Bca, StatsError> {
    require_finite(&[estimate])?;
    require_finite(replicates)?;
    require_finite(jackknife)?;
    require_count(replicates.len(), 1)?;
    require_count(jackknife.len(), 2)?;
    require_probability("confidence", confidence)?;
    let slack = 1e-12 * estimate.abs();
    let below = replicates.iter().filter(|&&value| value < estimate - slack).count();
    let up_to = replicates.iter().filter(|&&value| value <= estimate + slack).count();
    let z0 = normal_quantile((below + up_to) as f64 / 2.0 / replicates.len() as f64);
    let centre = mean(jackknife);
    let cubes: f64 = jackknife.iter().map(|value| (centre - value).powi(3)).sum();
    let acceleration = match squared_deviations(jackknife) {
        squares if squares > 0.0 => cubes / (6.0 * squares.powf(1.5)),
        _ => 0.0,
    };
    let adjusted = |z: f64| {
        let shifted = z0 + z;
        normal_cumulative(z0 + shifted / (1.0 - acceleration * shifted))
    };
    let tail = (1.0 - confidence) / 2.0;
    let alpha_low = adjusted(normal_quantile(tail));
    let alpha_high = adjusted(normal_quantile(1.0 - tail));
    // NaN comparisons are false: a correction that does not exist is refused as well.
    let ordered = z0.is_finite() && alpha_low <= alpha_high;
    if !ordered {
        return Err(StatsError::NoSpread);
    }
    let ascending = sorted(replicates);
    let interval = Interval {
        low: quantile_of_sorted(&ascending, alpha_low),
        high: quantile_of_sorted(&ascending, alpha_high),
        confidence,
        achieved: None,
        method: IntervalMethod::BootstrapBca,
    };
    Ok(Bca { z0, acceleration, alpha_low, alpha_high, interval })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::bootstrap::{BootstrapPlan, bca_interval, bootstrap_rounds, jackknife};
    use crate::interval::IntervalMethod;

    fn mean_of(values: &[f64]) -> impl FnMut(&[usize]) -> Option<f64> + '_ {
        |places| {
            let sum: f64 = places.iter().map(|&place| values[place]).sum();
            (!places.is_empty()).then(|| sum / places.len() as f64)
        }
    }

    #[test]
    fn the_jackknife_leaves_out_each_once() {
        let values = [1.0, 10.0, 100.0];
        let mut sum = |places: &[usize]| Some(places.iter().map(|&place| values[place]).sum());
        let mut found = jackknife(&[0, 1, 2], &mut sum);
        found.sort_by(f64::total_cmp);
        assert_eq!(found, [11.0, 101.0, 110.0]);
    }

    #[test]
    fn few_rounds_are_studentised_and_labelled() {
        let values = [1.0, 2.0, 4.0, 3.0, 5.0, 2.5, 3.5, 1.5];
        let plan = BootstrapPlan { resamples: 2_000, ..BootstrapPlan::default() };
        let found = bootstrap_rounds(8, &plan, mean_of(&values)).unwrap();
        let interval = found.interval.unwrap();
        assert!(found.approximate);
        assert_eq!(interval.method, IntervalMethod::BootstrapStudentised);
        assert!(interval.contains(found.estimate));
        assert_eq!(found, bootstrap_rounds(8, &plan, mean_of(&values)).unwrap(), "seeded");
        let other = BootstrapPlan { seed: 2, ..plan };
        assert_ne!(found, bootstrap_rounds(8, &other, mean_of(&values)).unwrap());
    }

    #[test]
    fn from_twenty_rounds_it_is_bca_and_near_the_normal_interval() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * 17 % 41)).collect();
        let found = bootstrap_rounds(40, &BootstrapPlan::default(), mean_of(&values)).unwrap();
        let interval = found.interval.unwrap();
        assert!(!found.approximate);
        assert_eq!(interval.method, IntervalMethod::BootstrapBca);
        assert!((interval.half_width() / (1.96 * found.standard_error) - 1.0).abs() < 0.05);
    }

    #[test]
    fn degenerate_statistics_do_not_panic() {
        let plan = BootstrapPlan { resamples: 100, ..BootstrapPlan::default() };
        assert_eq!(bootstrap_rounds(1, &plan, |_| Some(1.0)).unwrap().interval, None);
        let flat = bootstrap_rounds(30, &plan, |_| Some(1.0)).unwrap();
        assert_eq!(flat.interval.map(|interval| (interval.low, interval.high)), Some((1.0, 1.0)));
        let undefined = bootstrap_rounds(6, &plan, |_| None);
        assert_eq!(undefined, Err(StatsError::StatisticUndefined));
        let nan = bootstrap_rounds(6, &plan, |_| Some(f64::NAN));
        assert_eq!(nan, Err(StatsError::StatisticUndefined));
        assert!(bootstrap_rounds(0, &plan, |_| Some(1.0)).is_err());
        assert_eq!(bca_interval(0.0, &[1.0, 2.0], &[1.0, 2.0], 0.95), Err(StatsError::NoSpread));
    }
}
