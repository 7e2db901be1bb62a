//! Scaling of throughput with concurrency: ranks, clients, threads. The throughput is compared with
//! the ideal, linear from the smallest size. With enough sizes it is also fitted to the
//! Universal Scalability Law.

use std::collections::BTreeMap;

use treering_stats::{FEWEST_SIZES, Scalability, StatsError, mean_interval, paired_scalability};

const CONFIDENCE: f64 = 0.95;

/// Scaling of a metric over one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Key that holds the concurrency: `ranks`.
    pub key: String,
    /// Values of the other keys, as `key=value`; empty without other keys.
    pub others: Vec<String>,
    /// Concurrency levels, ascending; at least two.
    pub sizes: Vec<ScalingSize>,
    /// Fitted model; `None` below [`Scaling::FEWEST_SIZES`] sizes.
    pub model: Option<Scalability>,
}

/// Throughput at one level of concurrency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingSize {
    /// Number of concurrent ranks, clients or threads.
    pub size: f64,
    /// Geometric mean of the throughput over the rounds.
    pub mean: f64,
    /// 95 % confidence interval of the mean (Student's t on logarithms); `None` for a single round.
    pub interval: Option<(f64, f64)>,
    /// Ideal throughput: linear scaling from the smallest size.
    pub ideal: f64,
    /// Throughput as a share of the ideal, 1 at the smallest size: geometric mean over the rounds.
    /// Each round is compared with its own smallest size where possible.
    pub efficiency: f64,
    /// 95 % confidence interval of the efficiency; `None` at the smallest size and for a single
    /// round.
    pub efficiency_interval: Option<(f64, f64)>,
    /// Number of rounds.
    pub rounds: usize,
}

impl Scaling {
    /// Minimum number of sizes for a fitted model.
    pub const FEWEST_SIZES: usize = FEWEST_SIZES;

    /// Size whose mean deviates most from the model, with the deviation as a share of the
    /// prediction; `None` without a model.
    pub fn farthest(&self) -> Option<(f64, f64)> {
        let model = self.model.as_ref()?;
        let off = self
            .sizes
            .iter()
            .map(|size| (size.size, size.mean / model.throughput(size.size) - 1.0));
        off.max_by(|(_, size), (_, other)| size.abs().total_cmp(&other.abs()))
    }

    /// Reports whether throughput grows faster than linearly at any size, which the model cannot
    /// represent.
    pub fn is_superlinear(&self) -> bool {
        self.sizes.iter().any(|size| match size.efficiency_interval {
            Some((low, _)) => low > 1.0 && size.efficiency > 1.05,
            None => size.efficiency > 1.05,
        })
    }

    /// Largest level of concurrency.
    pub fn largest(&self) -> f64 {
        self.sizes.last().map_or(0.0, |size| size.size)
    }
}

/// Computes the scaling of a curve: ascending sizes, each with the logarithm of the throughput by
/// round.
///
/// # Errors
/// If a value is invalid for the statistics.
pub(crate) fn scaling(
    key: String,
    others: Vec<String>,
    curve: &[(f64, &BTreeMap<u32, f64>)],
) -> Result<Scaling, StatsError> {
    let mut sizes = Vec::new();
    let (mut counts, mut throughputs, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let Some((smallest, base)) = curve.first() else {
        return Ok(Scaling { key, others, sizes, model: None });
    };
    let base_mean = base.values().sum::<f64>() / base.len() as f64;
    for (size, rounds) in curve {
        let logs: Vec<f64> = rounds.values().copied().collect();
        counts.extend(logs.iter().map(|_| *size));
        throughputs.extend(logs.iter().map(|log| log.exp()));
        numbers.extend(rounds.keys().copied());
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let growth = (size / smallest).ln();
        let pairs: Vec<f64> = rounds
            .iter()
            .filter_map(|(round, log)| Some(log - base.get(round)? - growth))
            .collect();
        let share = match pairs.len() {
            0 => mean - base_mean - growth,
            pairs_len => pairs.iter().sum::<f64>() / pairs_len as f64,
        };
        let is_base = size == smallest;
        let ends = |logs: &[f64]| -> Result<Option<(f64, f64)>, StatsError> {
            let interval = if logs.is_empty() { None } else { mean_interval(logs, CONFIDENCE)? };
            Ok(interval.map(|log_interval| (log_interval.low.exp(), log_interval.high.exp())))
        };
        sizes.push(ScalingSize {
            size: *size,
            mean: mean.exp(),
            interval: ends(&logs)?,
            ideal: (base_mean + growth).exp(),
            efficiency: share.exp(),
            efficiency_interval: if is_base { None } else { ends(&pairs)? },
            rounds: logs.len(),
        });
    }
    let is_enough = sizes.len() >= FEWEST_SIZES;
    let fitted = || paired_scalability(&counts, &throughputs, &numbers, CONFIDENCE);
    let model = is_enough.then(fitted).transpose()?;
    Ok(Scaling { key, others, sizes, model })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Scaling, scaling};

    /// Scaling of a curve with this throughput, in rounds that differ by constant factors.
    fn scaling_of(sizes: &[f64], throughput: impl Fn(f64) -> f64) -> Scaling {
        let curve: Vec<(f64, BTreeMap<u32, f64>)> = sizes
            .iter()
            .map(|size| {
                let round =
                    |round: u32| (round, (throughput(*size) * 1.1f64.powf(f64::from(round))).ln());
                (*size, (1..=3).map(round).collect())
            })
            .collect();
        let curve: Vec<_> = curve.iter().map(|(size, rounds)| (*size, rounds)).collect();
        scaling("ranks".to_owned(), Vec::new(), &curve).unwrap()
    }

    #[test]
    fn efficiency_is_paired_by_round_and_the_ideal_is_straight() {
        let scaling = scaling_of(&[2.0, 4.0, 8.0], |size| 100.0 * size.min(4.0));
        let shares: Vec<f64> = scaling.sizes.iter().map(|size| size.efficiency).collect();
        let is_near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 1e-9;
        assert!(
            is_near(shares[0], 1.0) && is_near(shares[1], 1.0) && is_near(shares[2], 0.5),
            "{shares:?}"
        );
        let last = scaling.sizes[2];
        // Differences common to a round affect the throughput but cancel out in the efficiency.
        let (low, high) = last.efficiency_interval.unwrap();
        assert!(is_near(low, 0.5) && is_near(high, 0.5), "{last:?}");
        assert!(last.interval.is_some_and(|(low, high)| high / low > 1.3), "{last:?}");
        assert!(is_near(last.ideal, 4.0 * scaling.sizes[0].mean), "{last:?}");
        assert_eq!(scaling.sizes[0].efficiency_interval, None);
        assert_eq!((scaling.model, scaling.farthest(), scaling.largest()), (None, None, 8.0));
        assert!(!scaling.is_superlinear());
    }

    #[test]
    fn scaling_over_five_sizes_has_a_model_and_its_deviation() {
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0];
        let planted = |n: f64| 500.0 * n / (1.0 + 0.1 * (n - 1.0) + 0.004 * n * (n - 1.0));
        let scaling = scaling_of(&sizes, planted);
        let model = scaling.model.unwrap();
        assert!((model.contention - 0.1).abs() < 0.02, "{model:?}");
        assert!((model.coherency - 0.004).abs() < 0.002, "{model:?}");
        assert!(scaling.farthest().unwrap().1.abs() < 0.02, "{scaling:?}");
        assert!(scaling_of(&sizes, |n| n.powf(1.3)).is_superlinear());
        assert!(scaling_of(&sizes[..4], planted).model.is_none());
    }
}
