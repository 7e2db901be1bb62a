//! Compact results of a phase or of a whole trace.

use serde::{Deserialize, Serialize};

use super::latency::LatencyBins;
use super::map::DeviceMap;
use super::tally::LatencyFigures;
use super::timeline::Timeline;

/// Results of a trace or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceDigest {
    /// Totals of the part.
    pub figures: TraceFigures,
    /// Totals per time slice.
    #[serde(rename = "course")]
    pub timeline: Timeline,
    /// Offsets over time, one map per device.
    pub maps: Vec<DeviceMap>,
    /// Request latencies per time slice.
    #[serde(default, skip_serializing_if = "LatencyBins::is_empty")]
    pub latency: LatencyBins,
}

/// Figures of a trace or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceFigures {
    /// Duration in nanoseconds.
    pub span_ns: u64,
    /// Number of events.
    pub events: u64,
    /// Number of lost events. Counts of requests and their bytes are then lower bounds; seeks,
    /// scores, latencies and queue depth may be wrong in either direction.
    pub lost_events: u64,
    /// Events that arrived out of order.
    pub late_events: u64,
    /// Requests without a reported completion; excluded from the queue depth.
    #[serde(default)]
    pub unended: u64,
    /// Bytes in the devices' own counters without a completion in the trace: completions that are
    /// missing although no loss was reported.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing_bytes: u64,
    /// Event that counts a request.
    #[serde(default)]
    pub counted_by: CountingEvent,
    /// Completed reads.
    pub reads: KindFigures,
    /// Completed writes, including writes of zeroes.
    pub writes: KindFigures,
    /// Writes of zeroes without a data transfer.
    #[serde(default)]
    pub write_zeroes: u64,
    /// Bytes zeroed by such writes.
    #[serde(default)]
    pub write_zeroes_bytes: u64,
    /// Completed discards.
    pub discards: KindFigures,
    /// Completed flushes.
    pub flushes: u64,
    /// Failed requests.
    pub failed: u64,
    /// Requests merged into waiting ones.
    pub merges: u64,
    /// Requests that the device rejected at first.
    pub requeues: u64,
    /// Reads and writes in the order that defines seeks.
    pub ordered: u64,
    /// Event that defines the order: `issue`, `queue` or `complete`, whichever the trace has.
    pub ordered_by: RequestOrder,
    /// Ordered requests that start more than 128 sectors from the end of the previous one on the
    /// same device.
    pub seeks: u64,
    /// Sum of all seek distances, in bytes.
    pub seek_bytes: u64,
    /// Median seek distance, in bytes.
    pub seek_bytes_p50: u64,
    /// 90th percentile of the seek distance, in bytes.
    pub seek_bytes_p90: u64,
    /// Ordered requests that start exactly at the end of the previous one.
    pub sequential: u64,
    /// Requested blocks of 4 KiB.
    pub blocks: u64,
    /// Requested blocks that directly follow the previous block.
    pub following: u64,
    /// Blocks requested by reads.
    pub read_blocks: u64,
    /// Blocks requested by reads that directly follow the previous block read.
    pub read_following: u64,
    /// Time-weighted mean of the requests in flight.
    pub depth_mean: f64,
    /// Maximum of the requests in flight.
    pub depth_max: u64,
    /// Figures per device.
    pub devices: Vec<DeviceFigures>,
    /// Bytes written by the program meanwhile, where all are known: for a run the bytes of its
    /// write calls, for a command the bytes charged by the kernel (`write_bytes` without
    /// `cancelled_write_bytes`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_write_bytes: Option<u64>,
}

/// Event that defines the order of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOrder {
    /// Order of issue to the device.
    #[default]
    Issue,
    /// Order of submission.
    Queue,
    /// Order of completion.
    Complete,
}

/// Event that counts a request: the first of these that the trace has for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountingEvent {
    /// Completion events.
    #[default]
    Complete,
    /// Issue events: some device has no completions in the trace.
    Issue,
    /// Queue events: some device has neither completions nor issues in the trace.
    Queue,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Completed requests of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindFigures {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
    /// Median request size, in bytes.
    pub request_bytes_p50: u64,
    /// Largest request size, in bytes.
    pub request_bytes_max: u64,
    /// Latency from issue to completion.
    pub issue_to_complete: LatencyFigures,
    /// Latency from submission to completion.
    pub queue_to_complete: LatencyFigures,
}

/// Figures of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFigures {
    /// Device name.
    pub name: String,
    /// Device size in bytes; 0 when unknown.
    pub bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Completed reads and writes.
    pub requests: u64,
    /// Number of seeks.
    pub seeks: u64,
}

impl TraceFigures {
    /// Duration in seconds; never 0.
    pub fn seconds(&self) -> f64 {
        self.span_ns.max(1) as f64 / 1e9
    }

    /// Completed reads and writes per second.
    pub fn requests_per_second(&self) -> f64 {
        (self.reads.requests + self.writes.requests) as f64 / self.seconds()
    }

    /// Seeks per second.
    pub fn seeks_per_second(&self) -> f64 {
        self.seeks as f64 / self.seconds()
    }

    /// Dynamic layout score: the share of blocks that directly follow the previous block. `None`
    /// with fewer than two blocks.
    pub fn layout_score(&self) -> Option<f64> {
        score(self.blocks, self.following)
    }

    /// Dynamic layout score of reads alone.
    pub fn read_layout_score(&self) -> Option<f64> {
        score(self.read_blocks, self.read_following)
    }

    /// Share of requests that start where the previous one ended.
    pub fn sequential_share(&self) -> Option<f64> {
        score(self.ordered, self.sequential)
    }

    /// Data bytes written to the device per byte written by the program; `None` where the latter is
    /// unknown or completions are missing.
    pub fn write_amplification(&self) -> Option<f64> {
        let program = self.program_write_bytes.filter(|bytes| *bytes > 0)?;
        let data = self.writes.bytes.saturating_sub(self.write_zeroes_bytes);
        (self.missing_bytes == 0 && self.lost_events == 0).then(|| data as f64 / program as f64)
    }

    /// Reports whether the request order is known; device counters do not provide it.
    pub fn is_ordered(&self) -> bool {
        self.ordered > 0
    }
}

/// Caution text for lost events and for bytes that the devices' own counters have but no
/// completion; `None` if nothing is missing.
pub fn losses(lost_events: u64, missing_bytes: u64) -> Option<String> {
    let missing = format!(
        "completions of {missing_bytes} bytes that the devices' own counters have are missing from \
         the trace"
    );
    let losses = match (lost_events, missing_bytes) {
        (0, 0) => return None,
        (lost, 0) => format!("{lost} events of requests were lost"),
        (0, _) => missing,
        (lost, _) => format!("{lost} events of requests were lost, and {missing}"),
    };
    Some(format!(
        "{losses}: counts of requests and bytes are lower bounds; seeks, layout scores, latencies \
         and queue depth may be too high or too low"
    ))
}

/// Share of blocks that follow the previous one; the first block has no previous one.
fn score(blocks: u64, following: u64) -> Option<f64> {
    (blocks > 1).then(|| following as f64 / (blocks - 1) as f64)
}
