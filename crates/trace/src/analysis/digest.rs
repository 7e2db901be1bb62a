//! What is known of a phase, or of a whole trace, in numbers that take little room.

use serde::{Deserialize, Serialize};

use super::latency::LatencyBins;
use super::map::Map;
use super::tally::LatencyFigures;
use super::timeline::Timeline;

/// What a trace, or a part of it, says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// The figures.
    pub figures: Figures,
    /// The same over time.
    #[serde(rename = "course")]
    pub timeline: Timeline,
    /// Where requests went over time, one map for each device.
    pub maps: Vec<Map>,
    /// How long requests took over time.
    #[serde(default, skip_serializing_if = "LatencyBins::is_empty")]
    pub latency: LatencyBins,
}

/// Figures of a trace, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// From its beginning to its end, in nanoseconds.
    pub span_ns: u64,
    /// Events that it is made of.
    pub events: u64,
    /// Events that were lost. Counts of requests and their bytes are then lower bounds; seeks,
    /// scores, latencies and queue depth may be wrong in either direction.
    pub lost_events: u64,
    /// Events that came later than their time allowed for.
    pub late_events: u64,
    /// Requests whose end the kernel did not tell: they are not in the queue depth.
    #[serde(default)]
    pub unended: u64,
    /// Bytes that the devices' own counters have beyond the completions seen here: requests whose
    /// completion is missing from the trace, without having been reported as lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing_bytes: u64,
    /// Which of its events counts a request.
    #[serde(default)]
    pub counted_by: CountedBy,
    /// Reads that the device has done.
    pub reads: KindFigures,
    /// Writes that the device has done, those of zeroes among them.
    pub writes: KindFigures,
    /// Writes of zeroes: the device got the place and no data.
    #[serde(default)]
    pub write_zeroes: u64,
    /// Bytes of the places that were zeroed.
    #[serde(default)]
    pub write_zeroes_bytes: u64,
    /// Discards that the device has done.
    pub discards: KindFigures,
    /// Flushes that the device has done.
    pub flushes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were put into others that waited.
    pub merges: u64,
    /// Requests that the device did not take at first.
    pub requeues: u64,
    /// Reads and writes in the order by which seeks are counted.
    pub ordered: u64,
    /// What they are ordered by: `issue`, `queue` or `complete`, whichever the trace has.
    pub ordered_by: Direction,
    /// Those of them more than 128 sectors from the end of the one before on the same device.
    pub seeks: u64,
    /// Bytes of all distances of seeks.
    pub seek_bytes: u64,
    /// The distance in bytes that half of the seeks do not exceed.
    pub seek_bytes_p50: u64,
    /// The distance in bytes that nine tenths of the seeks do not exceed.
    pub seek_bytes_p90: u64,
    /// Those that begin exactly where the one before ended.
    pub sequential: u64,
    /// Blocks of 4 KiB that were asked for.
    pub blocks: u64,
    /// Those of them that follow the block before.
    pub following: u64,
    /// The same of reads among reads only.
    pub read_blocks: u64,
    /// The same of reads among reads only.
    pub read_following: u64,
    /// Requests that the device had at a time, by time.
    pub depth_mean: f64,
    /// The most requests that it had.
    pub depth_max: u64,
    /// Devices, each with its own figures.
    pub devices: Vec<DeviceFigures>,
    /// Bytes that the program wrote meanwhile, where all of them are known: of a run those of its
    /// write calls, of a command those that the kernel charged it with (`write_bytes` without
    /// `cancelled_write_bytes`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_write_bytes: Option<u64>,
}

/// What requests are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// When the device got them.
    #[default]
    Issue,
    /// When they were asked for.
    Queue,
    /// When they were done.
    Complete,
}

/// Which event counts a request: the first of these that the trace has of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The device has done it.
    #[default]
    Complete,
    /// The device got it: the trace has no completions of some device.
    Issue,
    /// It was asked for: the trace has nothing else of some device.
    Queue,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Requests of a kind that the device has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindFigures {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The size that half of them do not exceed, in bytes.
    pub request_bytes_p50: u64,
    /// The largest, in bytes.
    pub request_bytes_max: u64,
    /// From the device's having it to its being done.
    pub issue_to_complete: LatencyFigures,
    /// From its being asked for to its being done.
    pub queue_to_complete: LatencyFigures,
}

/// Figures of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFigures {
    /// Its name.
    pub name: String,
    /// Its size in bytes, 0 when unknown.
    pub bytes: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub write_bytes: u64,
    /// Reads and writes done.
    pub requests: u64,
    /// Seeks.
    pub seeks: u64,
}

impl Figures {
    /// Seconds from beginning to end; never 0.
    pub fn seconds(&self) -> f64 {
        self.span_ns.max(1) as f64 / 1e9
    }

    /// Reads and writes that were done, a second.
    pub fn requests_per_second(&self) -> f64 {
        (self.reads.requests + self.writes.requests) as f64 / self.seconds()
    }

    /// Seeks a second.
    pub fn seeks_per_second(&self) -> f64 {
        self.seeks as f64 / self.seconds()
    }

    /// The dynamic layout score: the share of blocks that follow the block before. `None` where
    /// there are not two.
    pub fn layout_score(&self) -> Option<f64> {
        score(self.blocks, self.following)
    }

    /// The dynamic layout score of reads alone.
    pub fn read_layout_score(&self) -> Option<f64> {
        score(self.read_blocks, self.read_following)
    }

    /// The share of requests that begin where the one before ended.
    pub fn sequential_share(&self) -> Option<f64> {
        score(self.ordered, self.sequential)
    }

    /// Bytes of data written to the device over bytes that the program wrote; `None` where it is
    /// not known what the program wrote, and where completions are missing.
    pub fn write_amplification(&self) -> Option<f64> {
        let program = self.program_write_bytes.filter(|bytes| *bytes > 0)?;
        let data = self.writes.bytes.saturating_sub(self.write_zeroes_bytes);
        (self.missing_bytes == 0 && self.lost_events == 0).then(|| data as f64 / program as f64)
    }

    /// Whether the order of requests is known: counters of a device do not tell it.
    pub fn is_ordered(&self) -> bool {
        self.ordered > 0
    }
}

/// What losses mean for the figures of a trace, in words: so many events were reported as lost, and
/// so many bytes are in the devices' own counters but in no completion. `None` where nothing is
/// missing.
pub fn losses(lost_events: u64, missing_bytes: u64) -> Option<String> {
    let missing = format!(
        "completions of {missing_bytes} bytes that the devices' own counters have are missing from \
         the trace"
    );
    let what = match (lost_events, missing_bytes) {
        (0, 0) => return None,
        (lost, 0) => format!("{lost} events of requests were lost"),
        (0, _) => missing,
        (lost, _) => format!("{lost} events of requests were lost, and {missing}"),
    };
    Some(format!(
        "{what}: counts of requests and bytes are lower bounds; seeks, layout scores, latencies \
         and queue depth may be too high or too low"
    ))
}

/// Of so many, all but the first could follow.
fn score(all: u64, following: u64) -> Option<f64> {
    (all > 1).then(|| following as f64 / (all - 1) as f64)
}
