//! Metrics of a played disk: its modelled work, and how precisely this machine played it.

use crate::metrics::spec::metrics;

metrics! {
    /// While the disk had requests, by its own clock.
    BUSY_SECONDS = "played_busy_seconds", Seconds, Lower;
    /// Of this time, moving the head; of flash, the latencies.
    SEEK_SECONDS = "played_seek_seconds", Seconds, Lower;
    /// Of this time, waiting for a place to turn up.
    ROTATION_SECONDS = "played_rotation_seconds", Seconds, Lower;
    /// Of this time, moving data.
    TRANSFER_SECONDS = "played_transfer_seconds", Seconds, Lower;
    /// Reads and writes.
    REQUESTS = "played_requests", Count, Lower;
    /// Flushes of the write cache that were asked for.
    FLUSHES = "played_flushes", Count, Lower;
    /// The lateness that half of the answers do not exceed: what playing the disk here costs beside
    /// the disk.
    LATE_P50_NS = "played_late_p50_ns", Nanoseconds, Lower;
    /// The lateness that 99 % of the answers do not exceed.
    LATE_P99_NS = "played_late_p99_ns", Nanoseconds, Lower;
    /// The lateness of all answers by the time in which the disk had requests.
    LATE_PERCENT = "played_late_percent", Percent, Lower;
    /// CPU time of the process that plays the disk.
    CPU_SECONDS = "played_cpu_seconds", Seconds, Lower;
}
