//! Activity per time slice. Slices double in length when there are too many.

use serde::{Deserialize, Serialize};

/// Limit of slices; after doubling at least half of them remain.
const SLOTS_MAX: usize = 2048;

/// Initial slice length in nanoseconds.
const SLOT_NS: u64 = 1_000_000;

/// Time slices of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Slice length in nanoseconds.
    pub slot_ns: u64,
    /// Slices from the beginning on.
    pub slots: Vec<TimeSlot>,
}

/// Activity in one time slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSlot {
    /// Completed reads.
    #[serde(default, skip_serializing_if = "none")]
    pub reads: u64,
    /// Bytes read.
    #[serde(default, skip_serializing_if = "none")]
    pub read_bytes: u64,
    /// Completed writes.
    #[serde(default, skip_serializing_if = "none")]
    pub writes: u64,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "none")]
    pub write_bytes: u64,
    /// Number of seeks.
    #[serde(default, skip_serializing_if = "none")]
    pub seeks: u64,
    /// Queue depth integrated over the slice, in request-nanoseconds.
    #[serde(default, skip_serializing_if = "none")]
    pub depth_ns: u64,
    /// Maximum queue depth.
    #[serde(default, skip_serializing_if = "none")]
    pub depth_max: u64,
    /// Requests with a known latency from issue to completion.
    #[serde(default, skip_serializing_if = "none")]
    pub timed: u64,
    /// Sum of those latencies, in nanoseconds.
    #[serde(default, skip_serializing_if = "none")]
    pub latency_ns: u64,
    /// Largest latency, in nanoseconds.
    #[serde(default, skip_serializing_if = "none")]
    pub latency_ns_max: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn none(number: &u64) -> bool {
    *number == 0
}

impl Default for Timeline {
    fn default() -> Self {
        Self { slot_ns: SLOT_NS, slots: Vec::new() }
    }
}

impl TimeSlot {
    fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.reads, other.reads),
            (&mut self.read_bytes, other.read_bytes),
            (&mut self.writes, other.writes),
            (&mut self.write_bytes, other.write_bytes),
            (&mut self.seeks, other.seeks),
            (&mut self.depth_ns, other.depth_ns),
            (&mut self.timed, other.timed),
            (&mut self.latency_ns, other.latency_ns),
        ];
        for (sum, number) in sums {
            *sum = sum.saturating_add(number);
        }
        self.depth_max = self.depth_max.max(other.depth_max);
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
    }
}

impl Timeline {
    /// Returns the slice of a time after the beginning.
    pub(super) fn at(&mut self, after_ns: u64) -> &mut TimeSlot {
        if let Some(last) = self.in_last(after_ns, after_ns) {
            return &mut self.slots[last];
        }
        while after_ns / self.slot_ns >= SLOTS_MAX as u64 {
            self.halve();
        }
        let place = usize::try_from(after_ns / self.slot_ns).unwrap_or(0).min(SLOTS_MAX - 1);
        if self.slots.len() <= place {
            self.slots.resize_with(place + 1, TimeSlot::default);
        }
        &mut self.slots[place]
    }

    /// Index of the last slice if it contains both times: the common case as time advances.
    fn in_last(&self, from_ns: u64, until_ns: u64) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let start = (last as u64).saturating_mul(self.slot_ns);
        let is_inside = from_ns >= start && until_ns.checked_sub(start)? < self.slot_ns;
        is_inside.then_some(last)
    }

    /// Adds another timeline with the same start.
    pub(super) fn add(&mut self, mut other: Self) {
        while self.slot_ns < other.slot_ns {
            self.halve();
        }
        while other.slot_ns < self.slot_ns {
            other.halve();
        }
        if self.slots.len() < other.slots.len() {
            self.slots.resize_with(other.slots.len(), TimeSlot::default);
        }
        for (slot, more) in self.slots.iter_mut().zip(&other.slots) {
            slot.add(more);
        }
    }

    /// Merges pairs of slices.
    fn halve(&mut self) {
        self.slot_ns = self.slot_ns.saturating_mul(2);
        let pairs = self.slots.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair.get(1).into_iter().for_each(|other| sum.add(other));
            sum
        });
        self.slots = pairs.collect();
    }

    /// Records `depth` requests in flight between two times.
    pub(super) fn depth(&mut self, depth: u64, from_ns: u64, until_ns: u64) {
        if depth == 0 || until_ns < from_ns {
            return;
        }
        if let Some(last) = self.in_last(from_ns, until_ns) {
            let slot = &mut self.slots[last];
            let spent = depth.saturating_mul(until_ns - from_ns);
            slot.depth_ns = slot.depth_ns.saturating_add(spent);
            slot.depth_max = slot.depth_max.max(depth);
            return;
        }
        let mut from = from_ns;
        self.at(until_ns);
        while from <= until_ns {
            let end = (from / self.slot_ns + 1).saturating_mul(self.slot_ns);
            let part = end.min(until_ns).saturating_sub(from);
            let slot = self.at(from);
            slot.depth_ns = slot.depth_ns.saturating_add(depth.saturating_mul(part));
            slot.depth_max = slot.depth_max.max(depth);
            if end <= from || end > until_ns {
                break;
            }
            from = end;
        }
    }

    /// Subtracts one request from the recorded depth between two times.
    pub(super) fn subtract_request(&mut self, from_ns: u64, until_ns: u64) {
        let slot_ns = self.slot_ns;
        for (number, slot) in (0_u64..).zip(&mut self.slots) {
            let start = number.saturating_mul(slot_ns);
            let end = start.saturating_add(slot_ns);
            let part = until_ns.min(end).saturating_sub(from_ns.max(start));
            slot.depth_ns = slot.depth_ns.saturating_sub(part);
            if part == slot_ns {
                slot.depth_max = slot.depth_max.saturating_sub(1);
            }
        }
    }

    /// Copies the timeline with at most `most` slices.
    pub fn in_slots(&self, most: usize) -> Self {
        let mut timeline = self.clone();
        while timeline.slots.len() > most.max(1) {
            timeline.halve();
        }
        timeline
    }
}

#[cfg(test)]
mod tests {
    use super::{SLOT_NS, SLOTS_MAX, Timeline};

    #[test]
    fn merged_slices_keep_all_totals() {
        let mut timeline = Timeline::default();
        let times = [0, SLOT_NS * 3, SLOT_NS * 2047, SLOT_NS * 5000, SLOT_NS * 4_000_000];
        for time in times {
            timeline.at(time).reads += 1;
            timeline.at(time).depth_max = time / SLOT_NS;
        }
        assert!(timeline.slots.len() <= SLOTS_MAX);
        assert_eq!(timeline.slots.iter().map(|slot| slot.reads).sum::<u64>(), 5);
        assert_eq!(timeline.slots.iter().map(|slot| slot.depth_max).max(), Some(4_000_000));
        assert_eq!(timeline.in_slots(10).slots.iter().map(|slot| slot.reads).sum::<u64>(), 5);
        timeline.at(u64::MAX).reads += 1;
        assert!(timeline.slots.len() <= SLOTS_MAX);
    }

    #[test]
    fn depth_is_spread_over_the_slices() {
        let mut timeline = Timeline::default();
        timeline.depth(2, SLOT_NS / 2, SLOT_NS * 3 + 100);
        let depths: Vec<u64> = timeline.slots.iter().map(|slot| slot.depth_ns).collect();
        assert_eq!(depths, [SLOT_NS, SLOT_NS * 2, SLOT_NS * 2, 200]);
        let mut less = timeline.clone();
        less.subtract_request(SLOT_NS / 2, SLOT_NS * 3 + 100);
        let depths: Vec<u64> = less.slots.iter().map(|slot| slot.depth_ns).collect();
        assert_eq!(depths, [SLOT_NS / 2, SLOT_NS, SLOT_NS, 100]);
        assert_eq!((less.slots[0].depth_max, less.slots[1].depth_max), (2, 1));
        timeline.depth(1, 5, 5);
        timeline.depth(0, 0, u64::MAX);
        timeline.depth(3, 9, 2);
        assert_eq!(timeline.slots[0].depth_ns, SLOT_NS);
    }
}
