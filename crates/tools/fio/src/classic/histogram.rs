//! Latency histogram of fio: 29 groups of 64 buckets.
//!
//! Below 128 ns each value has a bucket; above, each power of two has 64. The last bucket also
//! counts latencies above some 17 seconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const BITS: u32 = 6;
const GROUP: usize = 1 << BITS;
const GROUPS: usize = 29;
/// Number of buckets.
pub(crate) const BUCKETS: usize = GROUP * GROUPS;

/// Index of the bucket of a latency.
#[inline]
pub(crate) fn bucket(ns: u64) -> usize {
    let highest = u64::BITS - 1 - (ns | 1).leading_zeros();
    if highest <= BITS {
        return usize::try_from(ns).unwrap_or(BUCKETS - 1);
    }
    let error_bits = highest - BITS;
    let base = (error_bits as usize + 1) << BITS;
    let offset = (ns >> error_bits) & (GROUP as u64 - 1);
    (base + usize::try_from(offset).unwrap_or(0)).min(BUCKETS - 1)
}

/// Value that represents a bucket: its middle.
pub(crate) fn middle_ns(bucket: usize) -> u64 {
    if bucket < 2 * GROUP {
        return bucket as u64;
    }
    let error_bits = (bucket >> BITS) - 1;
    let base = 1_u64 << (error_bits + BITS as usize);
    let offset = (bucket % GROUP) as u64;
    base + (offset << error_bits) + (1 << (error_bits - 1))
}

/// Latency histogram: a count for each bucket. One without latencies holds no memory, so that a
/// thousand clones cost little before they are forked.
#[derive(Clone, Default)]
pub(crate) struct Histogram {
    /// Count of each bucket; empty before the first latency.
    counts: Vec<u64>,
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

/// Serialises a histogram as its non-empty buckets: `[[bucket, latencies], …]`.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut sum = Self::default();
        for (bucket, count) in Vec::<(usize, u64)>::deserialize(deserializer)? {
            sum.add(bucket, count);
        }
        Ok(sum)
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} samples)", self.samples())
    }
}

impl Histogram {
    /// Counts a latency.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        let bucket = bucket(ns);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.record_first(bucket),
        }
    }

    #[cold]
    fn record_first(&mut self, bucket: usize) {
        self.counts.resize(BUCKETS, 0);
        self.counts[bucket] = 1;
    }

    /// Adds `count` to a bucket; invalid buckets are ignored.
    pub(crate) fn add(&mut self, bucket: usize, count: u64) {
        if count > 0 && bucket < BUCKETS {
            self.counts.resize(BUCKETS, 0);
            self.counts[bucket] = self.counts[bucket].saturating_add(count);
        }
    }

    /// Adds another histogram.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(one, more)| *one += more);
    }

    /// Resets all counts.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Number of latencies in all buckets.
    pub(crate) fn samples(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Buckets that are not empty, with their counts.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// Percentiles in ascending order, computed as the original does.
    pub(crate) fn percentiles(&self, percentiles: &[f64]) -> Vec<u64> {
        let samples = self.samples();
        let mut values = Vec::with_capacity(percentiles.len());
        let mut sum = 0;
        for (bucket, count) in self.buckets() {
            sum += count;
            while let Some(percent) = percentiles.get(values.len()) {
                if (sum as f64) < percent / 100.0 * samples as f64 {
                    break;
                }
                values.push(middle_ns(bucket));
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use treering_model::Latency;

    use super::{BUCKETS, Histogram, bucket, middle_ns};

    proptest! {
        #[test]
        fn a_bucket_holds_what_its_middle_stands_for(ns in 0..17_000_000_000_u64) {
            let middle = middle_ns(bucket(ns));
            prop_assert_eq!(bucket(middle), bucket(ns));
            prop_assert!(middle.abs_diff(ns) * 128 <= ns.max(1), "{} for {}", middle, ns);
        }
    }

    #[test]
    fn buckets_equal_those_of_the_original() {
        // Keys of a json+ document of fio 3.33.
        for key in [41, 127, 129, 131, 262, 1080, 1096, 12_352, 77_070_336] {
            assert_eq!(middle_ns(bucket(key)), key, "{key}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        let mut last = None;
        for number in 0..BUCKETS {
            assert_eq!(bucket(middle_ns(number)), number);
            assert!(last < Some(middle_ns(number)));
            last = Some(middle_ns(number));
        }
    }

    #[test]
    fn stored_histograms_keep_every_bucket() {
        let mut stored = Latency::new();
        for number in 0..BUCKETS {
            (0..=number % 3).for_each(|_| stored.record(middle_ns(number)));
        }
        let mut back = Histogram::default();
        for (highest_ns, count) in stored.buckets() {
            back.add(bucket(highest_ns), count);
        }
        for (one, count) in back.buckets() {
            assert_eq!(count, 1 + one as u64 % 3, "{one}");
        }
        assert_eq!(back.buckets().count(), BUCKETS);
    }

    #[test]
    fn percentiles_take_the_first_bucket_that_reaches_the_share() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|ns| histogram.record(ns));
        assert_eq!(histogram.percentiles(&[1.0, 50.0, 99.5, 100.0]), [1, 50, 100, 100]);
        assert!(Histogram::default().percentiles(&[50.0]).is_empty());
        let mut both = histogram.clone();
        both.merge(&histogram);
        assert_eq!(both.samples(), 200);
        both.clear();
        assert_eq!(both, Histogram::default());
    }
}
