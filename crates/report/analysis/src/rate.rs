//! Throughput over the course of a phase by seconds, merged into slices when there are many.

use treering_model::{IntervalTotals, PhaseTotals};

/// Minimum duration in seconds of a phase with a timeline.
pub const COURSE_MIN_SECONDS: f64 = 5.0;

/// Maximum number of slices in a timeline.
const MOST_SLICES: u64 = 150;

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// Quantity whose rate a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateQuantity {
    /// Bytes transferred.
    Bytes,
    /// Calls completed.
    Calls,
}

impl RateQuantity {
    fn amount(self, interval: &IntervalTotals) -> u64 {
        match self {
            Self::Bytes => interval.bytes,
            Self::Calls => interval.calls,
        }
    }
}

/// Slice of a phase with its rate, the amount per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSlice {
    /// Mean rate over the slice.
    pub mean: f64,
    /// Rate of the slowest whole second; the mean when the slice has no whole second.
    pub low: f64,
    /// Rate of the fastest whole second.
    pub high: f64,
}

/// Reports whether a phase is long enough for a timeline and has per-second intervals.
pub fn has_timeline(phase: &PhaseTotals) -> bool {
    phase.wall_ns as f64 / SECOND_NS >= COURSE_MIN_SECONDS && !phase.intervals.is_empty()
}

/// Length of a slice in seconds that keeps a phase of this duration within the maximum number of
/// slices.
pub fn slice_seconds(wall_ns: u64) -> u64 {
    let least = (wall_ns / 1_000_000_000).div_ceil(MOST_SLICES).max(1);
    let nice = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800];
    nice.into_iter().find(|&seconds| seconds >= least).unwrap_or(least.next_multiple_of(3600))
}

/// Timeline of a phase in slices of `slice` seconds. Seconds without a call count as zero; a last
/// slice shorter than half a slice is dropped.
pub fn timeline(phase: &PhaseTotals, amount: RateQuantity, slice: u64) -> Vec<RateSlice> {
    let slice = slice.max(1);
    let whole = phase.wall_ns / 1_000_000_000;
    let full = whole / slice;
    let remaining_seconds = phase.wall_ns as f64 / SECOND_NS - (full * slice) as f64;
    let count = full + u64::from(remaining_seconds >= slice as f64 / 2.0);
    let mut sums =
        vec![SliceSum::default(); usize::try_from(count.min(2 * MOST_SLICES)).unwrap_or(0)];
    for interval in &phase.intervals {
        let second = u64::from(interval.second);
        let place = usize::try_from(second / slice).unwrap_or(usize::MAX);
        if let Some(sum) = sums.get_mut(place) {
            sum.add(amount.amount(interval) as f64, second < whole);
        }
    }
    let mut slices = Vec::with_capacity(sums.len());
    for (place, sum) in (0..).zip(&sums) {
        let seconds = if place < full { slice as f64 } else { remaining_seconds };
        let whole_seconds = whole.saturating_sub(place * slice).min(slice);
        slices.push(sum.slice(seconds, whole_seconds));
    }
    slices
}

#[derive(Clone, Copy, Default)]
struct SliceSum {
    total: f64,
    low: f64,
    high: f64,
    whole_seconds: u64,
}

impl SliceSum {
    fn add(&mut self, amount: f64, is_whole: bool) {
        self.total += amount;
        if is_whole {
            self.low = if self.whole_seconds == 0 { amount } else { self.low.min(amount) };
            self.high = self.high.max(amount);
            self.whole_seconds += 1;
        }
    }

    fn slice(&self, seconds: f64, whole_seconds: u64) -> RateSlice {
        let mean = self.total / seconds;
        if whole_seconds == 0 {
            return RateSlice { mean, low: mean, high: mean };
        }
        let has_idle_second = self.whole_seconds < whole_seconds;
        let low = if has_idle_second { 0.0 } else { self.low };
        RateSlice { mean, low: low.min(mean), high: self.high.max(mean) }
    }
}

#[cfg(test)]
mod tests {
    use super::{RateQuantity, RateSlice, has_timeline, slice_seconds, timeline};
    use treering_model::{IntervalTotals, PhaseTotals};

    fn phase(milliseconds: u64, seconds: &[(u32, u64)]) -> PhaseTotals {
        let interval = |&(second, bytes)| IntervalTotals { second, calls: 1, bytes };
        PhaseTotals {
            wall_ns: milliseconds * 1_000_000,
            intervals: seconds.iter().map(interval).collect(),
            ..PhaseTotals::default()
        }
    }

    fn means(slices: &[RateSlice]) -> Vec<f64> {
        slices.iter().map(|slice| slice.mean).collect()
    }

    #[test]
    fn a_second_without_a_call_is_a_stall() {
        let stalled = phase(5_000, &[(0, 10), (1, 20), (4, 30)]);
        assert!(has_timeline(&stalled));
        assert_eq!(
            means(&timeline(&stalled, RateQuantity::Bytes, 1)),
            [10.0, 20.0, 0.0, 0.0, 30.0]
        );
        assert_eq!(means(&timeline(&stalled, RateQuantity::Calls, 1)), [1.0, 1.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn the_last_slice_counts_by_its_own_length() {
        let half = phase(2_500, &[(0, 10), (1, 10), (2, 10)]);
        assert_eq!(means(&timeline(&half, RateQuantity::Bytes, 1)), [10.0, 10.0, 20.0]);
        let tenth = phase(2_100, &[(0, 10), (1, 10), (2, 10)]);
        assert_eq!(means(&timeline(&tenth, RateQuantity::Bytes, 1)), [10.0, 10.0]);
        assert!(!has_timeline(&half));
    }

    #[test]
    fn slices_of_several_seconds_keep_their_extremes() {
        let single = phase(6_000, &[(0, 10), (1, 30), (2, 4), (3, 4), (4, 8)]);
        let slices = timeline(&single, RateQuantity::Bytes, 2);
        assert_eq!(slices[0], RateSlice { mean: 20.0, low: 10.0, high: 30.0 });
        assert_eq!(slices[1], RateSlice { mean: 4.0, low: 4.0, high: 4.0 });
        assert_eq!(slices[2], RateSlice { mean: 4.0, low: 0.0, high: 8.0 });
    }

    #[test]
    fn any_duration_has_a_bounded_number_of_slices() {
        assert_eq!(slice_seconds(7_000_000_000), 1);
        assert_eq!(slice_seconds(400_000_000_000), 5);
        for wall_ns in [0, 1, 999_999_999_999, u64::MAX] {
            let endless = PhaseTotals {
                wall_ns,
                intervals: vec![IntervalTotals {
                    second: u32::MAX,
                    calls: u64::MAX,
                    bytes: u64::MAX,
                }],
                ..PhaseTotals::default()
            };
            for slice in [0, 1, slice_seconds(wall_ns), u64::MAX] {
                let slices = timeline(&endless, RateQuantity::Bytes, slice);
                assert!(slices.len() <= 300);
                assert!(slices.iter().all(|slice| slice.mean.is_finite()));
            }
        }
    }
}
