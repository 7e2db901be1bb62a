//! A latency histogram of constant size: an HDR histogram with two significant digits.
//!
//! Two digits keep a value to 0.8 %, far below the noise of any disk, in 33 KiB whatever the
//! number of samples. The bytes are the `HdrHistogram` V2 format, so other tools can read them.

mod bytes;

use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest distinguished latency: one hour. Longer ones count as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Latencies of one kind of operation, in nanoseconds. A new one has memory for all that can be
/// recorded; a clone has what its samples need, which is a third for calls below a millisecond.
pub struct Latency {
    histogram: Histogram<u64>,
}

/// Bytes that are not a latency histogram.
#[derive(Debug, Error)]
#[error("not an HdrHistogram V2 histogram: {0}")]
pub struct LatencyError(String);

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Latency {
    fn clone(&self) -> Self {
        let mut copy = Self::for_latencies_up_to(self.max_ns());
        copy.merge(self);
        copy
    }
}

/// Latencies are equal if their buckets are, whatever range they have memory for.
impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Latency({} samples, p50 {} ns)", self.samples(), self.quantile_ns(0.5))
    }
}

impl Latency {
    /// An empty histogram from 1 ns to one hour.
    pub fn new() -> Self {
        Self { histogram: with_range(LONGEST_NS) }
    }

    /// An empty histogram with memory for latencies up to `highest_ns`, that grows for longer ones.
    fn for_latencies_up_to(highest_ns: u64) -> Self {
        // The least range of a histogram ends at twice its beginning.
        let mut histogram = with_range(highest_ns.clamp(2, LONGEST_NS));
        histogram.auto(true);
        Self { histogram }
    }

    /// Adds one sample. Nothing is allocated, unless this is a clone of latencies that were all
    /// shorter.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.record_many(latency_ns, 1);
    }

    /// Adds `samples` samples of one latency.
    pub fn record_many(&mut self, latency_ns: u64, samples: u64) {
        let recorded = self.histogram.record_n(latency_ns.min(LONGEST_NS), samples);
        recorded.expect("a histogram has or gets the whole range");
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("a histogram has or gets the whole range");
    }

    /// Forgets all samples, keeping the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.histogram.len()
    }

    /// Latency at a quantile (0 to 1); 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile.clamp(0.0, 1.0))
    }

    /// Maximum latency; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }

    /// Mean latency; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        self.histogram.mean()
    }

    /// Serializes to `HdrHistogram` V2, the format of the store.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut whole = with_range(LONGEST_NS);
        whole.add(&self.histogram).expect("all latencies are within the range");
        bytes::encode(&whole)
    }

    /// Reads the bytes of [`Latency::to_bytes`]. Untrusted bytes are safe.
    ///
    /// # Errors
    /// If the bytes are not such a histogram, or one with other bounds.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LatencyError> {
        let read = bytes::decode(bytes)?;
        Ok(Self { histogram: read }.clone())
    }

    /// Non-empty buckets: highest latency of the bucket in nanoseconds, and number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
    }
}

/// Creates an empty histogram from 1 ns to `highest_ns`.
fn with_range(highest_ns: u64) -> Histogram<u64> {
    Histogram::new_with_bounds(1, highest_ns, 2).expect("bounds and digits are valid")
}

/// Serializes the buckets: `[[highest_ns, samples], …]`.
impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let buckets = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut latency = Self::new();
        for (highest_ns, samples) in buckets {
            latency.record_many(highest_ns, samples);
        }
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::Latency;

    fn some() -> Latency {
        let mut latency = Latency::new();
        for value in [0, 1, 900, 1_000, 1_000_000, u64::MAX] {
            latency.record(value);
        }
        latency
    }

    #[test]
    fn bytes_and_json_keep_every_bucket() {
        let latency = some();
        assert_eq!(latency.samples(), 6);
        let again = Latency::from_bytes(&latency.to_bytes()).unwrap();
        assert!(again.buckets().eq(latency.buckets()));
        let json = serde_json::to_string(&latency).unwrap();
        let again: Latency = serde_json::from_str(&json).unwrap();
        assert!(again.buckets().eq(latency.buckets()));
    }

    #[test]
    fn a_clone_is_equal_and_goes_on_recording() {
        let mut short = Latency::new();
        short.record_many(20_000, 5);
        let mut copy = short.clone();
        assert!(copy.histogram.distinct_values() * 3 < short.histogram.distinct_values());
        assert_eq!((&copy, copy.to_bytes()), (&short, short.to_bytes()));
        for latency in [&mut short, &mut copy] {
            latency.record(3_000_000);
            latency.merge(&some());
        }
        assert_eq!((&copy, copy.to_bytes()), (&short, short.to_bytes()));
        assert_eq!((copy.samples(), copy.max_ns()), (12, short.max_ns()));
    }

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut latency = Latency::new();
        (1..=10_000u64).for_each(|value| latency.record(value * 100));
        let p99 = latency.quantile_ns(0.99) as f64;
        assert!((p99 / 990_000.0 - 1.0).abs() < 0.01, "{p99}");
        assert_eq!(Latency::new().quantile_ns(0.5), 0);
    }

    #[test]
    fn invalid_bytes_are_rejected() {
        assert!(Latency::from_bytes(b"").is_err());
        assert!(Latency::from_bytes(&[0xff; 64]).is_err());
    }
}
