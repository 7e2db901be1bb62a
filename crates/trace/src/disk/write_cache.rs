//! Write cache of a disk: data that the disk has accepted and not yet written to the platter.
//!
//! Only ranges are kept. When they are written, and how long that takes, is for `head`.

use std::collections::{BTreeMap, VecDeque};

/// Number of ranges, oldest first, among which the disk chooses the next one to write. With 128, as
/// many random writes a second result as were measured on disks of 8 and 10 TB.
const CHOICE: usize = 128;

/// Ranges that wait for the platter.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteCache {
    /// Ends of the ranges by their starts; ranges do not overlap.
    ranges: BTreeMap<u64, u64>,
    /// Starts of the ranges, oldest first.
    order: VecDeque<u64>,
    bytes: u64,
    /// Time at which the cache was last filled from empty.
    filled_ns: f64,
}

impl WriteCache {
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Number of bytes that wait.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time since which something waits.
    pub(super) const fn filled_ns(&self) -> f64 {
        self.filled_ns
    }

    /// Reports whether all bytes of a range are in one waiting range.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let before = self.ranges.range(..=start).next_back();
        before.is_some_and(|(_, known)| end <= *known)
    }

    /// Adds a range. It is joined with those that it overlaps, and with a neighbour as long as the
    /// sum is at most `joined_bytes`.
    pub(super) fn add(&mut self, now_ns: f64, (start, end): (u64, u64), joined_bytes: u64) {
        if self.is_empty() {
            self.filled_ns = now_ns;
        }
        let (mut from, mut to) = (start, end);
        let mut place = None;
        while let Some((other, other_end)) = self.joined_with(from, to, joined_bytes) {
            let oldest = self.remove(other);
            place = match (place, oldest) {
                (Some(one), Some(two)) => Some(usize::min(one, two)),
                (one, two) => one.or(two),
            };
            (from, to) = (from.min(other), to.max(other_end));
        }
        self.ranges.insert(from, to);
        self.bytes += to - from;
        // A joined range is as old as its oldest part.
        self.order.insert(place.unwrap_or(self.order.len()).min(self.order.len()), from);
    }

    /// A waiting range that overlaps this one, or is its neighbour and small enough.
    fn joined_with(&self, from: u64, to: u64, joined_bytes: u64) -> Option<(u64, u64)> {
        let before = self.ranges.range(..=from).next_back();
        let behind = self.ranges.range(from..=to).next();
        let fits = |(start, end): &(&u64, &u64)| {
            let overlaps = **start < to && from < **end;
            let touches = **start <= to && from <= **end;
            let sum = (**end).max(to) - (**start).min(from);
            overlaps || (touches && sum <= joined_bytes)
        };
        before.filter(fits).or_else(|| behind.filter(fits)).map(|(start, end)| (*start, *end))
    }

    /// Ranges of which the disk writes one next.
    pub(super) fn next_ones(&self) -> impl Iterator<Item = (u64, u64)> {
        let ends = |start: &u64| Some((*start, *self.ranges.get(start)?));
        self.order.iter().take(CHOICE).filter_map(ends)
    }

    /// Removes the range with this start; returns its place in the order of age.
    pub(super) fn remove(&mut self, start: u64) -> Option<usize> {
        let end = self.ranges.remove(&start)?;
        self.bytes -= end - start;
        let place = self.order.iter().position(|known| *known == start)?;
        self.order.remove(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::WriteCache;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    #[test]
    fn neighbours_are_joined_up_to_a_size_and_keep_their_age() {
        let mut cache = WriteCache::default();
        for start in [0, 100, 10, 20] {
            cache.add(1.0, (start, start + 10), 30);
        }
        assert_eq!(cache.next_ones().collect::<Vec<_>>(), [(0, 30), (100, 110)]);
        cache.add(2.0, (30, 40), 30);
        assert_eq!(cache.next_ones().count(), 3, "the first one is long enough");
        assert!(cache.holds(5, 25) && !cache.holds(25, 35));
        assert_eq!((cache.bytes(), cache.filled_ns()), (50, 1.0));
    }

    proptest! {
        #[test]
        fn every_byte_waits_exactly_once(
            ranges in prop::collection::vec((0u64..200, 1u64..40), 1..60)
        ) {
            let mut cache = WriteCache::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, length) in ranges {
                cache.add(0.0, (start, start + length), 64);
                bytes.extend(start..start + length);
            }
            prop_assert_eq!(cache.bytes(), bytes.len() as u64);
            let starts: Vec<u64> = cache.order.iter().copied().collect();
            let waiting: usize = starts.iter().map(|start| {
                let end = cache.ranges[start];
                (*start..end).filter(|byte| bytes.remove(byte)).count()
            }).sum();
            prop_assert_eq!(waiting as u64, cache.bytes());
            starts.iter().for_each(|start| { cache.remove(*start); });
            prop_assert_eq!((cache.bytes(), cache.is_empty()), (0, true));
        }
    }
}
