//! Device counters, for devices whose requests cannot be traced: rates and queue depth, but no
//! offsets, seeks or latencies.

use super::digest::{DeviceFigures, KindFigures, TraceDigest, TraceFigures};
use super::timeline::Timeline;

/// Activity of a device since boot, from `/sys/block/…/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Completed reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Completed discards.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Completed flushes.
    pub flushes: u64,
    /// Reads merged into other requests.
    pub read_merges: u64,
    /// Writes merged into other requests.
    pub write_merges: u64,
    /// Total time of all reads, in milliseconds.
    pub read_ms: u64,
    /// Total time of all writes, in milliseconds.
    pub write_ms: u64,
    /// Requests in flight now.
    pub in_flight: u64,
    /// Time with at least one request in flight, in milliseconds.
    pub busy_ms: u64,
    /// Total time of all requests, in milliseconds, including those in flight.
    pub queue_ms: u64,
}

impl DiskCounters {
    /// Parses the text of a `stat` file; `None` if a field is missing.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let at = |place: usize| numbers.get(place).copied();
        let bytes = |place: usize| at(place).map(|sectors| sectors.saturating_mul(512));
        Some(Self {
            reads: at(0)?,
            read_bytes: bytes(2)?,
            writes: at(4)?,
            write_bytes: bytes(6)?,
            // Added in Linux 4.18 (discards) and 5.5 (flushes).
            discards: at(11).unwrap_or(0),
            discard_bytes: bytes(13).unwrap_or(0),
            flushes: at(15).unwrap_or(0),
            read_merges: at(1)?,
            write_merges: at(5)?,
            read_ms: at(3)?,
            write_ms: at(7)?,
            in_flight: at(8)?,
            busy_ms: at(9)?,
            queue_ms: at(10)?,
        })
    }
}

/// Counters of devices, sampled repeatedly.
#[derive(Debug)]
pub struct CounterTimeline {
    begin_ns: u64,
    now_ns: u64,
    /// Device names, each with its counters at the last cut and at the last sample.
    devices: Vec<(String, DiskCounters, DiskCounters)>,
    timeline: Timeline,
    depth_ns: u128,
    depth_max: u64,
}

impl CounterTimeline {
    /// Starts with the current counters as the baseline.
    pub fn new(begin_ns: u64, devices: Vec<(String, DiskCounters)>) -> Self {
        let devices = devices.into_iter().map(|(name, now)| (name, now, now)).collect();
        Self {
            begin_ns,
            now_ns: begin_ns,
            devices,
            timeline: Timeline::default(),
            depth_ns: 0,
            depth_max: 0,
        }
    }

    /// Records a sample of the devices' counters, in the order of the devices.
    pub fn look(&mut self, now_ns: u64, counters: &[DiskCounters]) {
        if now_ns < self.now_ns {
            return;
        }
        let (from, until) = (self.now_ns - self.begin_ns, now_ns - self.begin_ns);
        let depth: u64 = counters.iter().map(|now| now.in_flight).sum();
        self.timeline.depth(depth, from, until);
        self.depth_ns += u128::from(depth) * u128::from(until - from);
        self.depth_max = self.depth_max.max(depth);
        for ((_, _, last), now) in self.devices.iter_mut().zip(counters) {
            let slot = self.timeline.at(until.saturating_sub(1));
            slot.reads += now.reads.saturating_sub(last.reads);
            slot.read_bytes += now.read_bytes.saturating_sub(last.read_bytes);
            slot.writes += now.writes.saturating_sub(last.writes);
            slot.write_bytes += now.write_bytes.saturating_sub(last.write_bytes);
            *last = *now;
        }
        self.now_ns = now_ns;
    }

    /// Ends a part and begins the next: returns the activity since the last cut.
    pub fn cut(&mut self) -> TraceDigest {
        let span_ns = self.now_ns - self.begin_ns;
        let grown = |of: fn(&DiskCounters) -> u64| -> u64 {
            self.devices.iter().map(|(_, first, last)| of(last).saturating_sub(of(first))).sum()
        };
        let kind = |requests, bytes| KindFigures { requests, bytes, ..KindFigures::default() };
        let devices = self.devices.iter().map(|(name, first, last)| DeviceFigures {
            name: name.clone(),
            read_bytes: last.read_bytes.saturating_sub(first.read_bytes),
            write_bytes: last.write_bytes.saturating_sub(first.write_bytes),
            requests: last.reads.saturating_sub(first.reads)
                + last.writes.saturating_sub(first.writes),
            ..DeviceFigures::default()
        });
        let figures = TraceFigures {
            span_ns,
            reads: kind(grown(|counts| counts.reads), grown(|counts| counts.read_bytes)),
            writes: kind(grown(|counts| counts.writes), grown(|counts| counts.write_bytes)),
            discards: kind(grown(|counts| counts.discards), grown(|counts| counts.discard_bytes)),
            flushes: grown(|counts| counts.flushes),
            merges: grown(|counts| counts.read_merges.saturating_add(counts.write_merges)),
            depth_mean: self.depth_ns as f64 / span_ns.max(1) as f64,
            depth_max: self.depth_max,
            devices: devices.collect(),
            ..TraceFigures::default()
        };
        let timeline = std::mem::take(&mut self.timeline);
        self.devices.iter_mut().for_each(|(_, first, last)| *first = *last);
        self.begin_ns = self.now_ns;
        (self.depth_ns, self.depth_max) = (0, 0);
        TraceDigest { figures, timeline, ..TraceDigest::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterTimeline, DiskCounters};

    #[test]
    fn counters_are_parsed_and_become_rates() {
        let text = "   100 5 800 30 50 2 400 20 3 40 50 7 0 56 1 4 2\n";
        let first = DiskCounters::parse(text).unwrap();
        assert_eq!((first.reads, first.read_bytes, first.write_bytes), (100, 409_600, 204_800));
        assert_eq!((first.read_merges, first.write_merges), (5, 2));
        assert_eq!(
            (first.read_ms, first.write_ms, first.busy_ms, first.queue_ms),
            (30, 20, 40, 50)
        );
        assert_eq!((first.in_flight, first.flushes), (3, 4));
        // `stat` as of Linux 4.17 and earlier.
        let short = DiskCounters::parse("100 5 800 30 50 2 400 20 3 40 50").unwrap();
        assert_eq!(short, DiskCounters { discards: 0, discard_bytes: 0, flushes: 0, ..first });
        for wrong in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 10", "1 2 x 4 5 6 7 8 9 10 11"] {
            assert_eq!(DiskCounters::parse(wrong), None, "{wrong}");
        }
        let mut timeline = CounterTimeline::new(1_000_000_000, vec![("sda".to_owned(), first)]);
        let then = DiskCounters { reads: 150, read_bytes: 819_200, in_flight: 2, ..first };
        timeline.look(1_100_000_000, &[then]);
        let figures = timeline.cut().figures;
        assert_eq!((figures.reads.requests, figures.reads.bytes), (50, 409_600));
        assert_eq!((figures.writes.requests, figures.span_ns), (0, 100_000_000));
        assert!((figures.depth_mean - 2.0).abs() < 1e-12);
        assert_eq!(timeline.cut().figures.reads.requests, 0);
    }
}
