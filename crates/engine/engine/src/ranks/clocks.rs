//! Offsets between the clocks of ranks: clocks of different machines started at different times.

use serde::{Deserialize, Serialize};

/// Offset of a rank's monotonic clock from that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRelation {
    /// Offset in nanoseconds; positive if the rank's clock is ahead.
    pub offset_ns: i64,
    /// Bound on the error of the offset: half of the shortest round trip.
    pub uncertainty_ns: u64,
}

impl ClockRelation {
    /// Offset from one round trip: start and end by the clock of rank 0, and the other clock's
    /// reading in between.
    pub(crate) fn from_exchange(asked_ns: u64, answered_ns: u64, said_ns: u64) -> Self {
        let trip_ns = answered_ns.saturating_sub(asked_ns);
        let halfway_ns = asked_ns + trip_ns / 2;
        Self {
            offset_ns: said_ns.wrapping_sub(halfway_ns).cast_signed(),
            uncertainty_ns: trip_ns.div_ceil(2),
        }
    }

    /// Relation with the smaller uncertainty.
    pub(crate) fn more_certain(self, other: Self) -> Self {
        if other.uncertainty_ns < self.uncertainty_ns { other } else { self }
    }

    /// Converts a reading of the rank's clock to the clock of rank 0.
    pub(crate) const fn to_first(self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }

    /// Converts a reading of the clock of rank 0 to the rank's clock.
    pub(crate) const fn on_own_clock(self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::ClockRelation;

    #[test]
    fn clock_offset_error_is_at_most_half_a_round_trip() {
        // The other clock is 1,000,000 ahead; the way there takes 30, the way back 70.
        let relation = ClockRelation::from_exchange(500, 600, 1_000_530);
        assert_eq!(relation, ClockRelation { offset_ns: 999_980, uncertainty_ns: 50 });
        assert!((relation.offset_ns - 1_000_000).unsigned_abs() <= relation.uncertainty_ns);
        // Behind as well.
        let behind = ClockRelation::from_exchange(1_000_500, 1_000_501, 500);
        assert_eq!(behind, ClockRelation { offset_ns: -1_000_000, uncertainty_ns: 1 });
        assert_eq!(relation.more_certain(behind), behind);
        assert_eq!(behind.on_own_clock(behind.to_first(7)), 7);
        assert_eq!(behind.to_first(500), 1_000_500);
    }
}
