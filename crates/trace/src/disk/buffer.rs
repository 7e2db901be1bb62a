//! Disk buffer: keeps the data that passed below the head, and reads ahead while the disk is idle.
//!
//! Head and buffer as they are between two requests are here; how long a request takes is for
//! `model`.

use serde::Deserialize;

use super::page_map::PageMap;

/// Buffer description of a disk file.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BufferText {
    pub(super) bytes: u64,
    /// Number of segments: sequential streams tracked at a time, each with an equal part of the
    /// buffer.
    pub(super) segments: usize,
    pub(super) bus_bytes_per_second: f64,
    /// Time between the command for buffered data and their transfer; that of the disk if absent.
    pub(super) overhead_ms: Option<f64>,
    /// True if writes are answered when they are in the buffer.
    #[serde(default)]
    pub(super) write_cache: bool,
}

impl BufferText {
    /// Size of a segment in bytes: the limit of both read-ahead and kept data.
    pub(super) const fn segment_bytes(&self) -> u64 {
        self.bytes / self.segments as u64
    }
}

/// Byte range of the disk in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BufferSegment {
    start: u64,
    end: u64,
}

/// Read-ahead in progress behind the newest segment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReadAhead {
    since_ns: f64,
    bytes_per_ns: f64,
    /// Offset at which the segment is full.
    limit: u64,
}

/// Result of a buffer lookup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BufferLookup {
    /// All bytes are buffered.
    Buffered,
    /// Read-ahead reaches the last byte after this many nanoseconds.
    Coming(f64),
    /// Not in the buffer, and read-ahead does not reach the bytes.
    No,
}

/// Head position and buffer contents.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskState {
    /// End offset of the last read or write.
    pub(super) end: u64,
    /// Time at which the head was there; before the epoch if it has moved on.
    pub(super) end_ns: f64,
    /// Segments, the newest first.
    segments: Vec<BufferSegment>,
    reading: Option<ReadAhead>,
    /// Pages of a flash drive with a translation layer, from its first write on.
    pub(super) flash: Option<Box<PageMap>>,
    /// Time of garbage collection that delays the next request.
    pub(super) owed_ns: f64,
}

impl DiskState {
    /// End of the newest segment at `now_ns`, and whether read-ahead is still in progress.
    fn reached(&self, now_ns: f64) -> Option<(u64, bool)> {
        let (newest, reading) = (self.segments.first()?, self.reading?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of bytes, rounded down"
        )]
        let more = ((now_ns - reading.since_ns).max(0.0) * reading.bytes_per_ns) as u64;
        let end = newest.end.saturating_add(more);
        Some(if end < reading.limit { (end, true) } else { (reading.limit, false) })
    }

    /// Looks up the bytes `start..end`.
    pub(super) fn find(&self, now_ns: f64, start: u64, end: u64) -> BufferLookup {
        let reached = self.reached(now_ns);
        for (place, segment) in self.segments.iter().enumerate() {
            let (known, is_reading) =
                reached.filter(|_| place == 0).unwrap_or((segment.end, false));
            if start < segment.start || (start > known && !is_reading) {
                continue;
            }
            if end <= known {
                return BufferLookup::Buffered;
            }
            if let Some(reading) = self.reading.filter(|_| is_reading) {
                return BufferLookup::Coming((end - known) as f64 / reading.bytes_per_ns);
            }
        }
        BufferLookup::No
    }

    /// Updates the buffer after a read that was served from it or by read-ahead.
    pub(super) fn served(&mut self, done_ns: f64, (start, end): (u64, u64), segment_bytes: u64) {
        self.end = end;
        self.end_ns = -1.0;
        let reached = self.reached(done_ns);
        let holds = |segment: &BufferSegment, known: u64| segment.start <= start && start <= known;
        let known = |newest: &BufferSegment| reached.map_or(newest.end, |(known, _)| known);
        if !self.segments.first().is_some_and(|newest| holds(newest, known(newest))) {
            let older = self.segments.iter().position(|segment| holds(segment, segment.end));
            if let Some(place) = older {
                // Read-ahead stays with the newest segment; among the others this one is evicted
                // last.
                self.segments[1..=place].rotate_right(1);
            }
            return;
        }
        let (Some((known, _)), Some(newest), Some(reading)) =
            (reached, self.segments.first_mut(), self.reading.as_mut())
        else {
            return;
        };
        newest.end = known;
        newest.start = newest.start.max(known.saturating_sub(segment_bytes));
        reading.since_ns = done_ns;
        reading.limit = reading.limit.max(end.saturating_add(segment_bytes));
    }

    /// Stops the read-ahead; the data read so far stay in the buffer.
    fn leave(&mut self, now_ns: f64) {
        let reached = self.reached(now_ns);
        if let (Some((end, _)), Some(newest)) = (reached, self.segments.first_mut()) {
            newest.end = end;
        }
        self.reading = None;
    }

    /// Updates the state after a seek at `now_ns` and a read of `start..end`; read-ahead begins.
    pub(super) fn record_read(
        &mut self,
        (now_ns, done_ns): (f64, f64),
        (start, end): (u64, u64),
        bytes_per_ns: f64,
        buffer: &BufferText,
    ) {
        self.leave(now_ns);
        (self.end, self.end_ns) = (end, done_ns);
        self.segments.insert(0, BufferSegment { start, end });
        self.segments.truncate(buffer.segments);
        let limit = end.saturating_add(buffer.segment_bytes());
        self.reading = Some(ReadAhead { since_ns: done_ns, bytes_per_ns, limit });
    }

    /// Updates the state after a write, or a read on a disk without a buffer: moves the head and
    /// drops overlapping segments.
    pub(super) fn record_write(&mut self, (now_ns, done_ns): (f64, f64), range: (u64, u64)) {
        self.leave(now_ns);
        (self.end, self.end_ns) = (range.1, done_ns);
        self.forget(range);
    }

    /// Drops the segments that overlap a range.
    pub(super) fn forget(&mut self, (start, end): (u64, u64)) {
        let newest = self.segments.first().copied();
        self.segments.retain(|segment| end <= segment.start || segment.end <= start);
        if self.segments.first() != newest.as_ref() {
            self.reading = None;
        }
    }
}
