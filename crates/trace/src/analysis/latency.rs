//! Latency percentiles per time slice: median, 99th percentile and maximum. Slices double in length
//! when there are too many; only finished slices are reported.

use serde::{Deserialize, Serialize};

use super::tally::LogHistogram;

/// Limit of slices; after doubling at least half of them remain.
const BINS_MAX: usize = 256;

/// Initial slice length in nanoseconds.
const BIN_NS: u64 = 1_000_000;

/// Latencies in time slices of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBins {
    /// Slice length in nanoseconds.
    pub bin_ns: u64,
    /// Slices from the beginning on.
    pub bins: Vec<LatencyBin>,
}

/// Latencies of the requests completed in a slice, from issue to completion; on devices without
/// issue events from submission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBin {
    /// Number of measured requests.
    pub samples: u64,
    /// Median in nanoseconds, rounded up by at most 1/8.
    pub p50_ns: u64,
    /// 99th percentile in nanoseconds, rounded up by at most 1/8.
    pub p99_ns: u64,
    /// Maximum in nanoseconds.
    pub max_ns: u64,
}

impl LatencyBins {
    /// Reports whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }
}

/// Slices that are still being filled.
#[derive(Debug)]
pub(super) struct LatencyTimeline {
    bin_ns: u64,
    bins: Vec<LogHistogram>,
}

impl Default for LatencyTimeline {
    fn default() -> Self {
        Self { bin_ns: BIN_NS, bins: Vec::new() }
    }
}

impl LatencyTimeline {
    /// Records the latency of a request that completed `after_ns` after the beginning.
    pub(super) fn add(&mut self, after_ns: u64, took_ns: u64) {
        while after_ns / self.bin_ns >= BINS_MAX as u64 {
            self.halve();
        }
        let place = usize::try_from(after_ns / self.bin_ns).unwrap_or(0);
        if self.bins.len() <= place {
            self.bins.resize_with(place + 1, LogHistogram::default);
        }
        self.bins[place].add(took_ns);
    }

    /// Merges pairs of slices.
    fn halve(&mut self) {
        self.bin_ns = self.bin_ns.saturating_mul(2);
        let pairs = std::mem::take(&mut self.bins);
        let mut pairs = pairs.into_iter();
        while let Some(mut sum) = pairs.next() {
            pairs.next().iter().for_each(|other| sum.merge(other));
            self.bins.push(sum);
        }
    }

    /// Computes the percentiles of all slices.
    pub(super) fn finish(self) -> LatencyBins {
        if self.bins.is_empty() {
            return LatencyBins::default();
        }
        let bin = |sizes: &LogHistogram| LatencyBin {
            samples: sizes.count(),
            p50_ns: sizes.quantile(0.5),
            p99_ns: sizes.quantile(0.99),
            max_ns: sizes.max(),
        };
        LatencyBins { bin_ns: self.bin_ns, bins: self.bins.iter().map(bin).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{BINS_MAX, LatencyTimeline};

    #[test]
    fn each_slice_has_its_own_percentiles() {
        let mut timeline = LatencyTimeline::default();
        for request in 0..100 {
            timeline.add(0, 8);
            timeline.add(5_000_000, if request < 98 { 8 } else { 14 });
        }
        let bins = timeline.finish();
        assert_eq!((bins.bin_ns, bins.bins.len()), (1_000_000, 6));
        let reported = |place: usize| {
            let bin = &bins.bins[place];
            (bin.samples, bin.p50_ns, bin.p99_ns, bin.max_ns)
        };
        assert_eq!(
            (reported(0), reported(1), reported(5)),
            ((100, 8, 8, 8), (0, 0, 0, 0), (100, 8, 14, 14))
        );
    }

    #[test]
    fn merged_slices_keep_all_samples() {
        let mut timeline = LatencyTimeline::default();
        for second in 0..10_000u64 {
            timeline.add(second * 1_000_000_000, second);
        }
        timeline.add(u64::MAX, 1);
        let bins = timeline.finish();
        assert!(bins.bins.len() <= BINS_MAX);
        assert_eq!(bins.bins.iter().map(|bin| bin.samples).sum::<u64>(), 10_001);
        assert_eq!(bins.bins.iter().map(|bin| bin.max_ns).max(), Some(9999));
    }
}
