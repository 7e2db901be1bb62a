//! Statistics as fio sums them up, and latencies with their histogram.

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;

/// Sample statistic: extremes, mean and deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stat {
    /// Number of values.
    pub samples: u64,
    /// Minimum; 0 for no values.
    pub least: u64,
    /// Maximum.
    pub most: u64,
    sum: f64,
    squares: f64,
}

impl Stat {
    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        if self.samples == 0 || value < self.least {
            self.least = value;
        }
        self.most = self.most.max(value);
        self.samples += 1;
        let value = value as f64;
        self.sum += value;
        self.squares += value * value;
    }

    /// Adds another sample.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.samples == 0 {
            return;
        }
        let least = if self.samples == 0 { other.least } else { self.least.min(other.least) };
        *self = Self {
            samples: self.samples + other.samples,
            least,
            most: self.most.max(other.most),
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        };
    }

    /// Adds the rates of a concurrent clone: the common rate is the sum. The deviation is the
    /// original's, from the added squares around both means.
    pub(crate) fn sum_with(&mut self, other: &Self) {
        if self.samples == 0 || other.samples == 0 {
            self.merge(other);
            return;
        }
        let (mean, squares) =
            (self.mean() + other.mean(), self.sum_of_squares() + other.sum_of_squares());
        let samples = self.samples + other.samples;
        let count = samples as f64;
        *self = Self {
            samples,
            least: self.least + other.least,
            most: self.most + other.most,
            sum: mean * count,
            squares: squares + mean * mean * count,
        };
    }

    /// Builds the statistic from reported figures: the count, the extremes, the mean and the
    /// deviation.
    pub(crate) fn reported(
        samples: u64,
        [least, most]: [u64; 2],
        mean: f64,
        deviation: f64,
    ) -> Self {
        let count = samples as f64;
        let around = deviation * deviation * (count - 1.0).max(0.0);
        Self { samples, least, most, sum: mean * count, squares: around + mean * mean * count }
    }

    /// Mean; 0 for no values.
    pub(crate) fn mean(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum / self.samples as f64 }
    }

    /// Standard deviation of the sample; 0 for fewer than two values.
    pub(crate) fn deviation(&self) -> f64 {
        if self.samples < 2 {
            return 0.0;
        }
        (self.sum_of_squares() / (self.samples - 1) as f64).sqrt()
    }

    /// Sum of squares around the mean, for at least one value.
    fn sum_of_squares(&self) -> f64 {
        (self.squares - self.sum * self.sum / self.samples as f64).max(0.0)
    }
}

/// Latencies: statistic and histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latencies {
    /// Extremes, mean and deviation, in nanoseconds.
    pub stat: Stat,
    /// Histogram of the latencies.
    pub histogram: Histogram,
}

impl Latencies {
    /// Adds a latency, in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        self.stat.add(ns);
        self.histogram.record(ns);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.stat.merge(&other.stat);
        self.histogram.merge(&other.histogram);
    }

    pub(super) fn clear(&mut self) {
        self.stat = Stat::default();
        self.histogram.clear();
    }
}
