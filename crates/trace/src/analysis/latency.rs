//! How long requests took in each slice of time: the median, the 99th percentile and the longest.
//! Slices become twice as long when there are too many; what is reported is of finished slices.

use serde::{Deserialize, Serialize};

use super::tally::Sizes;

/// Slices at most; there are at least half as many once they have become longer.
const BINS_MAX: usize = 256;

/// Nanoseconds of a slice at first.
const BIN_NS: u64 = 1_000_000;

/// Times of requests in slices of equal length from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBins {
    /// Nanoseconds of a slice.
    pub bin_ns: u64,
    /// The slices.
    pub bins: Vec<LatencyBin>,
}

/// The times of the requests that were done in a slice, from the issue to the completion; of
/// devices whose requests are not issued, from the queueing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBin {
    /// How many were measured.
    pub samples: u64,
    /// The time in nanoseconds that half of them do not exceed, to an eighth.
    pub p50_ns: u64,
    /// The time that 99 of 100 do not exceed, to an eighth.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl LatencyBins {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }
}

/// Slices that are being filled.
#[derive(Debug)]
pub(super) struct LatencyTimeline {
    bin_ns: u64,
    bins: Vec<Sizes>,
}

impl Default for LatencyTimeline {
    fn default() -> Self {
        Self { bin_ns: BIN_NS, bins: Vec::new() }
    }
}

impl LatencyTimeline {
    /// A request was done at a time after the beginning, and took so long.
    pub(super) fn add(&mut self, after_ns: u64, took_ns: u64) {
        while after_ns / self.bin_ns >= BINS_MAX as u64 {
            self.halve();
        }
        let place = usize::try_from(after_ns / self.bin_ns).unwrap_or(0);
        if self.bins.len() <= place {
            self.bins.resize_with(place + 1, Sizes::default);
        }
        self.bins[place].add(took_ns);
    }

    /// Two slices become one.
    fn halve(&mut self) {
        self.bin_ns = self.bin_ns.saturating_mul(2);
        let pairs = std::mem::take(&mut self.bins);
        let mut pairs = pairs.into_iter();
        while let Some(mut sum) = pairs.next() {
            pairs.next().iter().for_each(|other| sum.merge(other));
            self.bins.push(sum);
        }
    }

    /// What was measured.
    pub(super) fn finish(self) -> LatencyBins {
        if self.bins.is_empty() {
            return LatencyBins::default();
        }
        let bin = |sizes: &Sizes| LatencyBin {
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
    fn nothing_is_lost_when_slices_become_longer() {
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
