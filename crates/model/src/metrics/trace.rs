//! Metrics of a block trace of one device, per trial or phase.

use super::spec::metrics;

metrics! {
    /// Requests by the time that was traced.
    REQUESTS_PER_SECOND = "trace_requests_per_second", OpsPerSecond, Higher;
    /// Requests more than 128 sectors (64 KiB) from the end of the one before.
    SEEKS = "trace_seeks", Count, Lower;
    /// Seeks by the time that was traced.
    SEEKS_PER_SECOND = "trace_seeks_per_second", OpsPerSecond, Lower;
    /// The mean distance of a seek.
    SEEK_DISTANCE_MEAN_BYTES = "trace_seek_distance_mean_bytes", Bytes, Lower;
    /// The median distance of a seek.
    SEEK_DISTANCE_P50_BYTES = "trace_seek_distance_p50_bytes", Bytes, Lower;
    /// The share of requests that begin where the one before ended.
    SEQUENTIAL_PERCENT = "trace_sequential_percent", Percent, Higher;
    /// The dynamic layout score: the share of the blocks asked for that follow the block before.
    LAYOUT_SCORE = "trace_layout_score", Count, Higher;
    /// The dynamic layout score of reads alone.
    READ_LAYOUT_SCORE = "trace_read_layout_score", Count, Higher;
    /// How many requests the device had at once, in the mean.
    QUEUE_DEPTH_MEAN = "trace_queue_depth_mean", Count, Lower;
    /// Bytes written to the device by bytes that the workload wrote.
    WRITE_AMPLIFICATION = "trace_write_amplification", Count, Lower;
    /// Events that the kernel lost: the other figures are too low by them.
    LOST_EVENTS = "trace_lost_events", Count, Lower;
    /// Bytes of requests in one direction (`read`, `write`) by the time that was traced.
    DIRECTION_MIB_PER_SECOND = "trace_{}_mib_per_second", MibPerSecond, Higher;
    /// The mean size of a request in one direction (`read`, `write`).
    DIRECTION_REQUEST_MEAN_BYTES = "trace_{}_request_mean_bytes", Bytes, Higher;
    /// The median time of requests in one direction from their issue or from their arrival in the
    /// queue (`read_issue`, `write_queue`) to their completion.
    TO_COMPLETE_P50_NS = "trace_{}_to_complete_p50_ns", Nanoseconds, Lower;
    /// The time that 99 % of these requests do not exceed.
    TO_COMPLETE_P99_NS = "trace_{}_to_complete_p99_ns", Nanoseconds, Lower;
}
