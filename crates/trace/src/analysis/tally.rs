//! Constant-memory counters: histograms of sizes and distances, and the order of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use treering_model::Latency;

use crate::event::{DeviceNumber, Operation, RequestEvent};

/// Sectors between two requests from which on the distance counts as a seek: 64 KiB, as in
/// seekwatcher.
pub(super) const SEEK_SECTORS: u64 = 128;

/// Block size of the layout score, in sectors.
const BLOCK_SECTORS: u64 = 8;

/// Limit of devices with an own order; events of further devices count in the totals only.
const DEVICES_MAX: usize = 4096;

/// Logarithmic histogram: eight classes per power of two, for a relative error of 6 %.
#[derive(Clone, Debug, Default)]
pub(super) struct LogHistogram {
    classes: Vec<u64>,
    count: u64,
    max: u64,
}

const CLASSES: u32 = 8;

impl LogHistogram {
    pub(super) fn add(&mut self, value: u64) {
        let class = Self::class(value);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    fn class(value: u64) -> usize {
        let bits = u64::BITS - value.leading_zeros();
        let shift = bits.saturating_sub(4);
        usize::try_from(u64::from(shift * CLASSES) + (value >> shift)).unwrap_or(0)
    }

    /// Largest value of a class.
    fn highest(class: usize) -> u64 {
        let class = class as u64;
        let shift = (class / u64::from(CLASSES)).saturating_sub(1);
        let head = class - shift * u64::from(CLASSES);
        (u128::from(head + 1) << shift).saturating_sub(1).try_into().unwrap_or(u64::MAX)
    }

    /// Quantile for this share; 0 without values.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    pub(super) fn quantile(&self, share: f64) -> u64 {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::highest(class).min(self.max);
            }
        }
        self.max
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds all values of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            *class += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

/// Seek statistics over the order of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct SeekTracker {
    /// End sector of the last request, and of the last read, per device.
    ends: BTreeMap<DeviceNumber, (u64, Option<u64>)>,
    pub(super) count: SeekCounts,
}

/// Counts derived from the request order.
#[derive(Clone, Debug, Default)]
pub(super) struct SeekCounts {
    pub(super) requests: u64,
    pub(super) seeks: u64,
    pub(super) seek_bytes: u64,
    pub(super) distances: LogHistogram,
    pub(super) sequential: u64,
    pub(super) blocks: u64,
    pub(super) following: u64,
    pub(super) read_blocks: u64,
    pub(super) read_following: u64,
    /// Seeks per device.
    pub(super) seeks_of: BTreeMap<DeviceNumber, u64>,
}

impl SeekTracker {
    /// Adds the next request with data; returns whether it requires a seek.
    pub(super) fn next(&mut self, event: &RequestEvent) -> bool {
        let is_read = event.operation == Operation::Read;
        let blocks = event.sectors().div_ceil(BLOCK_SECTORS);
        let room = self.ends.len() < DEVICES_MAX;
        let before = self.ends.get(&event.device).copied();
        if before.is_some() || room {
            let read_end =
                if is_read { Some(event.end()) } else { before.and_then(|(_, read)| read) };
            self.ends.insert(event.device, (event.end(), read_end));
        }
        let count = &mut self.count;
        count.requests += 1;
        count.blocks += blocks;
        let inside = blocks.saturating_sub(1);
        count.following += inside;
        if is_read {
            count.read_blocks += blocks;
            count.read_following += inside;
            let continues = before.and_then(|(_, read)| read) == Some(event.sector);
            count.read_following += u64::from(continues);
        }
        let Some((end, _)) = before else { return false };
        let distance = end.abs_diff(event.sector);
        count.sequential += u64::from(distance == 0);
        count.following += u64::from(distance == 0);
        let seeks = distance > SEEK_SECTORS;
        if seeks {
            let bytes = distance.saturating_mul(512);
            count.seeks += 1;
            count.seek_bytes = count.seek_bytes.saturating_add(bytes);
            count.distances.add(bytes);
            *count.seeks_of.entry(event.device).or_default() += 1;
        }
        seeks
    }
}

/// Latency statistics in nanoseconds; all 0 without samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Number of samples.
    pub samples: u64,
    /// Mean latency.
    pub mean_ns: f64,
    /// Median latency.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum latency.
    pub max_ns: u64,
}

pub(super) fn figures_of(latency: &Latency) -> LatencyFigures {
    if latency.samples() == 0 {
        return LatencyFigures::default();
    }
    LatencyFigures {
        samples: latency.samples(),
        mean_ns: latency.mean_ns(),
        p50_ns: latency.quantile_ns(0.5),
        p90_ns: latency.quantile_ns(0.9),
        p99_ns: latency.quantile_ns(0.99),
        p999_ns: latency.quantile_ns(0.999),
        max_ns: latency.max_ns(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::LogHistogram;

    proptest! {
        #[test]
        fn quantiles_are_within_an_eighth(mut values in
                proptest::collection::vec(any::<u64>(), 1..200), eighths in 0usize..=8) {
            let mut sizes = LogHistogram::default();
            values.iter().for_each(|value| sizes.add(*value));
            values.sort_unstable();
            let place = (values.len() * eighths).div_ceil(8).max(1) - 1;
            let (exact, reported) = (values[place], sizes.quantile(eighths as f64 / 8.0));
            assert!(reported >= exact && reported - exact <= exact / 8, "{reported} {exact}");
            assert_eq!(sizes.max(), *values.last().unwrap());
        }
    }

    #[test]
    fn small_numbers_are_exact() {
        for value in 0..=15 {
            let mut sizes = LogHistogram::default();
            sizes.add(value);
            assert_eq!(sizes.quantile(0.5), value);
        }
        assert_eq!(LogHistogram::default().quantile(0.5), 0);
    }
}
