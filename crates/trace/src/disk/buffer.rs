//! The buffer of a disk: what the head passed over is kept, and it reads on while nothing else is
//! asked for.
//!
//! Head and buffer as they are between two requests are here; how long a request takes is for
//! `model`.

use serde::Deserialize;

/// A buffer as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BufferText {
    pub(super) bytes: u64,
    /// Places that are read side by side, each with its part of the buffer.
    pub(super) segments: usize,
    pub(super) bus_bytes_per_second: f64,
}

impl BufferText {
    /// Bytes of a segment: so far the disk reads ahead, and so much of what it passed is kept.
    pub(super) const fn segment_bytes(&self) -> u64 {
        self.bytes / self.segments as u64
    }
}

/// A stretch of the disk that is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    start: u64,
    end: u64,
}

/// The head reads on behind a segment, the newest one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    since_ns: f64,
    bytes_per_ns: f64,
    /// Where the segment is full.
    limit: u64,
}

/// Where the bytes of a request are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// All in the buffer.
    Buffered,
    /// The head comes to the last of them in so many nanoseconds.
    Coming(f64),
    /// On the disk.
    No,
}

/// The head, and what is in the buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskState {
    /// The end of what was read or written last.
    pub(super) end: u64,
    /// The newest first.
    segments: Vec<Segment>,
    reading: Option<Reading>,
}

impl DiskState {
    /// The end of the newest segment at a time, and whether the head is still reading.
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

    /// Where the bytes from here to there are.
    pub(super) fn find(&self, now_ns: f64, start: u64, end: u64) -> Found {
        let reached = self.reached(now_ns);
        for (place, segment) in self.segments.iter().enumerate() {
            let (known, is_reading) =
                reached.filter(|_| place == 0).unwrap_or((segment.end, false));
            if start < segment.start || (start > known && !is_reading) {
                continue;
            }
            if end <= known {
                return Found::Buffered;
            }
            if let Some(reading) = self.reading.filter(|_| is_reading) {
                return Found::Coming((end - known) as f64 / reading.bytes_per_ns);
            }
        }
        Found::No
    }

    /// A request was served from the buffer, or by reading on.
    pub(super) fn served(&mut self, done_ns: f64, (start, end): (u64, u64), segment_bytes: u64) {
        self.end = end;
        let reached = self.reached(done_ns);
        let holds = |segment: &Segment, known: u64| segment.start <= start && start <= known;
        let known = |newest: &Segment| reached.map_or(newest.end, |(known, _)| known);
        if !self.segments.first().is_some_and(|newest| holds(newest, known(newest))) {
            let older = self.segments.iter().position(|segment| holds(segment, segment.end));
            if let Some(place) = older {
                // The head stays with the newest; of the others this one is given up last.
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

    /// The head leaves; what it read until then stays.
    fn leave(&mut self, now_ns: f64) {
        let reached = self.reached(now_ns);
        if let (Some((end, _)), Some(newest)) = (reached, self.segments.first_mut()) {
            newest.end = end;
        }
        self.reading = None;
    }

    /// The head went somewhere at a time and has read from `start` to `end`; it reads on.
    pub(super) fn went(
        &mut self,
        (now_ns, done_ns): (f64, f64),
        (start, end): (u64, u64),
        bytes_per_ns: f64,
        buffer: &BufferText,
    ) {
        self.leave(now_ns);
        self.end = end;
        self.segments.insert(0, Segment { start, end });
        self.segments.truncate(buffer.segments);
        let limit = end.saturating_add(buffer.segment_bytes());
        self.reading = Some(Reading { since_ns: done_ns, bytes_per_ns, limit });
    }

    /// Something was written, or read without a buffer: the head is there, and what was known of
    /// the place is no longer.
    pub(super) fn wrote(&mut self, now_ns: f64, start: u64, end: u64) {
        self.leave(now_ns);
        self.end = end;
        self.segments.retain(|segment| end <= segment.start || segment.end <= start);
    }
}
