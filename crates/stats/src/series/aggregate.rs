//! Several metrics in one figure, and the figures of one run against one run.
//!
//! What does not live here: a mean of rates. Throughput over several pieces of work is total work
//! over total time; ratios of unlike metrics are combined by their geometric mean. An average of
//! per-operation rates can move against every paired ratio, because a few large operations rule it.
//!
//! Source: Fleming & Wallace, "How not to lie with statistics", Communications of the ACM 29, 1986.

use crate::describe::mean;
use crate::error::StatsError;
use crate::inference::bootstrap::{Bootstrap, BootstrapPlan, bootstrap_rounds};
use crate::inference::hodges_lehmann::{HodgesLehmann, hodges_lehmann};
use crate::input::{
    require_count, require_finite, require_positive, require_positive_parameter,
    require_same_length, sorted,
};
use crate::judging::rounds::log_ratios;
use crate::quantile::quantile_of_sorted;
use crate::series::autocorrelation::autocorrelation;

/// The geometric mean of several metrics' ratios, variant over baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AggregateRatio {
    /// The ratio, a pure number.
    pub ratio: f64,
    /// Metrics combined.
    pub metrics: usize,
    /// The estimate on the log scale with its exact interval; exponentiate the ends.
    pub log: HodgesLehmann,
}

/// Checks a table `log_ratios[metric][round]` and returns its numbers of metrics and rounds.
fn require_table<M: AsRef<[f64]>>(log_ratios: &[M]) -> Result<(usize, usize), StatsError> {
    require_count(log_ratios.len(), 1)?;
    let rounds = log_ratios[0].as_ref().len();
    require_count(rounds, 1)?;
    for metric in log_ratios {
        require_same_length(rounds, metric.as_ref().len())?;
        require_finite(metric.as_ref())?;
    }
    Ok((log_ratios.len(), rounds))
}

/// Aggregate of `log_ratios[metric][round]` (the same rounds for every metric), oriented so that
/// more is better for all or none. Each round gives one geometric mean over the metrics; these are
/// analysed by the exact one-sample method, so that what happens together in a round stays together
/// and the interval keeps its promise at few rounds.
pub fn aggregate_ratio<M: AsRef<[f64]>>(
    log_ratios: &[M],
    confidence: f64,
) -> Result<AggregateRatio, StatsError> {
    let (metrics, rounds) = require_table(log_ratios)?;
    let per_round: Vec<f64> = (0..rounds)
        .map(|round| log_ratios.iter().map(|metric| metric.as_ref()[round]).sum::<f64>())
        .map(|sum| sum / metrics as f64)
        .collect();
    let log = hodges_lehmann(&per_round, confidence)?;
    Ok(AggregateRatio { ratio: log.estimate.exp(), metrics, log })
}

/// The geometric mean of the metrics' own Hodges-Lehmann ratios, with a joint bootstrap of the
/// rounds, on the log scale. Costs a pseudomedian per metric and resample (and per round below 20
/// rounds); its interval is labelled approximate below 20 rounds. Prefer [`aggregate_ratio`] unless
/// the figure must be the mean of the very ratios that are printed.
pub fn aggregate_ratio_bootstrap<M: AsRef<[f64]>>(
    log_ratios: &[M],
    plan: &BootstrapPlan,
) -> Result<Bootstrap, StatsError> {
    let (metrics, rounds) = require_table(log_ratios)?;
    let mut averages = Vec::new();
    bootstrap_rounds(rounds, plan, |places| {
        let sum: f64 = log_ratios
            .iter()
            .map(|metric| pseudomedian(metric.as_ref(), places, &mut averages))
            .sum();
        (!places.is_empty()).then(|| sum / metrics as f64)
    })
}

/// The pseudomedian of some places of a series, with the memory of the caller.
fn pseudomedian(values: &[f64], places: &[usize], averages: &mut Vec<f64>) -> f64 {
    averages.clear();
    for (i, &left) in places.iter().enumerate() {
        averages
            .extend(places[i..].iter().map(|&right| f64::midpoint(values[left], values[right])));
    }
    if averages.is_empty() {
        return f64::NAN;
    }
    let middle = averages.len() / 2;
    let odd = averages.len() % 2 == 1;
    let (below, upper, _) = averages.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return *upper;
    }
    f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), *upper)
}

/// Total work over total time: the throughput of several pieces of work. `work` in any unit,
/// `seconds` positive in total; the result in that unit per second.
pub fn total_rate(work: &[f64], seconds: &[f64]) -> Result<f64, StatsError> {
    require_same_length(work.len(), seconds.len())?;
    require_count(work.len(), 1)?;
    require_finite(work)?;
    require_finite(seconds)?;
    let total: f64 = seconds.iter().sum();
    require_positive_parameter("total time", total)?;
    Ok(work.iter().sum::<f64>() / total)
}

/// One run against one run whose operations correspond line by line: a description "within one
/// run", never a verdict. All figures are ratios variant over baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinRun {
    /// Operations compared.
    pub operations: usize,
    /// Median of the paired ratios.
    pub median_ratio: f64,
    /// First quartile of the paired ratios.
    pub quartile_low: f64,
    /// Third quartile of the paired ratios.
    pub quartile_high: f64,
    /// Total over total: what the whole run took or did.
    pub total_ratio: f64,
    /// Autocorrelation of the log ratios at lag 1; `None` without spread. Far from 0 the operations
    /// are not independent evidence.
    pub lag1: Option<f64>,
}

/// Describes the paired positive values (seconds per operation, say) of two runs.
pub fn within_run(base: &[f64], variant: &[f64]) -> Result<WithinRun, StatsError> {
    require_count(base.len(), 1)?;
    require_positive(base)?;
    require_positive(variant)?;
    let logs = log_ratios(base, variant)?;
    let ascending = sorted(&logs);
    let ratio = |q: f64| quantile_of_sorted(&ascending, q).exp();
    Ok(WithinRun {
        operations: logs.len(),
        median_ratio: ratio(0.5),
        quartile_low: ratio(0.25),
        quartile_high: ratio(0.75),
        total_ratio: mean(variant) / mean(base),
        lag1: autocorrelation(&logs, 1).ok().and_then(|lags| lags.get(1).copied()),
    })
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::bootstrap::BootstrapPlan;
    use crate::series::aggregate::{
        aggregate_ratio, aggregate_ratio_bootstrap, total_rate, within_run,
    };

    /// One metric twice as good, one half as good: nothing changed on the whole.
    #[test]
    fn opposite_ratios_cancel() {
        let ln2 = std::f64::consts::LN_2;
        let found = aggregate_ratio(&[vec![ln2; 6], vec![-ln2; 6]], 0.95).unwrap();
        assert_eq!((found.ratio, found.metrics), (1.0, 2));
        assert_eq!(found.log.interval.map(|interval| interval.high), Some(0.0));
        let ragged = aggregate_ratio(&[vec![ln2; 6], vec![ln2; 5]], 0.95);
        assert_eq!(ragged, Err(StatsError::LengthsDiffer { left: 6, right: 5 }));
    }

    #[test]
    fn the_bootstrap_is_centred_on_the_mean_of_the_printed_ratios() {
        let metrics = [
            [0.01, 0.03, 0.02, 0.00, 0.04, 0.02, 0.01],
            [0.05, 0.01, 0.02, 0.03, 0.03, 0.00, 0.02],
        ];
        let plan = BootstrapPlan { resamples: 500, ..BootstrapPlan::default() };
        let found = aggregate_ratio_bootstrap(&metrics, &plan).unwrap();
        assert!((found.estimate - 0.02).abs() < 0.003, "{found:?}");
        assert!(found.approximate && found.interval.unwrap().contains(found.estimate));
    }

    /// 100 in 1 s and 100 in 9 s are 20 per second, not the 55.6 of the mean of rates.
    #[test]
    fn rates_are_never_averaged() {
        assert_eq!(total_rate(&[100.0, 100.0], &[1.0, 9.0]), Ok(20.0));
        assert!(total_rate(&[1.0], &[0.0]).is_err());
    }

    /// Nine small operations take half as long, one large one a third longer: the median ratio and
    /// the total disagree, which is why both are reported.
    #[test]
    fn median_and_total_can_disagree() {
        let mut base = vec![1.0; 9];
        base.push(90.0);
        let mut variant = vec![0.5; 9];
        variant.push(120.0);
        let found = within_run(&base, &variant).unwrap();
        assert!((found.median_ratio - 0.5).abs() < 1e-15);
        assert!(found.total_ratio > 1.2);
        assert!(within_run(&[1.0], &[0.0]).is_err());
    }
}
