//! Strided zones: `zonemode=strided` with zonesize, zonerange and zoneskip.

use crate::language::{Direction, StridedZones};

use super::Generator;

impl Generator {
    /// Moves to the next zone if enough bytes were moved in this one.
    pub(super) fn enter_zone(&mut self, file: usize, direction: Direction) {
        let StridedZones { bytes, range, skip, .. } = self.job.extras.strides;
        let state = &mut self.files[file];
        let end = &mut state.last_end[direction.place()];
        if self.zone_bytes >= bytes {
            self.zone_bytes = 0;
            state.start = state.start.saturating_add(range).saturating_add(skip);
            if state.start >= state.extent.file_bytes {
                state.start = state.extent.later_offset;
            }
            *end = state.start;
        }
        // A zone is repeated if more bytes are moved in it than it is long.
        if *end >= state.start.saturating_add(range) {
            *end = state.start;
        }
        if self.zone_bytes.is_multiple_of(range.max(1)) {
            state.reset();
        }
    }
}
