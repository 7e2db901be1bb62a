//! Ranges of files that requests in flight are writing or verifying.

/// Part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl FileRange {
    fn overlaps(&self, other: &Self) -> bool {
        self.file == other.file
            && self.offset < other.offset.saturating_add(other.bytes)
            && other.offset < self.offset.saturating_add(self.bytes)
    }
}

/// Ranges of the requests in flight.
#[derive(Debug, Default)]
pub(crate) struct RangesInFlight {
    ranges: Vec<FileRange>,
}

impl RangesInFlight {
    /// Adds the range of a request that is issued.
    pub(crate) fn begin(&mut self, range: FileRange) {
        self.ranges.push(range);
    }

    /// Removes the range of a request that has ended.
    pub(crate) fn end(&mut self, range: FileRange) {
        if let Some(at) = self.ranges.iter().position(|other| *other == range) {
            self.ranges.swap_remove(at);
        }
    }

    /// True if a request in flight touches this range.
    pub(crate) fn overlaps(&self, range: &FileRange) -> bool {
        self.ranges.iter().any(|other| other.overlaps(range))
    }

    /// Removes all ranges.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{FileRange, RangesInFlight};

    #[test]
    fn only_ranges_of_one_file_that_share_a_byte_touch() {
        let range = |file, offset, bytes| FileRange { file, offset, bytes };
        let mut in_flight = RangesInFlight::default();
        in_flight.begin(range(0, 8, 8));
        assert!(in_flight.overlaps(&range(0, 15, 4)) && in_flight.overlaps(&range(0, 0, 9)));
        assert!(!in_flight.overlaps(&range(0, 16, 4)) && !in_flight.overlaps(&range(0, 0, 8)));
        assert!(!in_flight.overlaps(&range(1, 8, 8)));
        in_flight.end(range(0, 8, 8));
        assert!(!in_flight.overlaps(&range(0, 8, 8)));
    }
}
