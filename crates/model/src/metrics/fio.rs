//! Metrics specific to fio.

use super::spec::metrics;

metrics! {
    /// How long the requests of one direction (`read`, `write`, `trim`, `sync`) took from
    /// submission to completion (fio's lat; where fio does not take it, clat): `min`, `mean`,
    /// `stddev`, `max` or a percentile (`p99`, `p999` for 99.9 %).
    DIRECTION_LATENCY_NANOSECONDS = "{}_latency_{}_nanoseconds", Nanoseconds, Lower;
    /// The same of the submission alone (fio's slat).
    DIRECTION_SUBMISSION_NANOSECONDS = "{}_slat_{}_nanoseconds", Nanoseconds, Lower;
    /// The same from the end of the submission to completion (fio's clat).
    DIRECTION_COMPLETION_NANOSECONDS = "{}_clat_{}_nanoseconds", Nanoseconds, Lower;
    /// For how long the job moved data in this direction.
    DIRECTION_RUNTIME_SECONDS = "{}_runtime_seconds", Seconds, Lower;
    /// Rates of fio's samples (one for each 500 ms) in one direction: `min`, `mean` or `max`.
    DIRECTION_SAMPLED_MIB_PER_SECOND = "{}_sample_mib_per_second_{}", MibPerSecond, Higher;
    /// How far the rates of fio's samples spread in one direction.
    DIRECTION_SAMPLED_MIB_PER_SECOND_STDDEV =
        "{}_sample_mib_per_second_stddev", MibPerSecond, Lower;
    /// Requests per second of fio's samples in one direction: `min`, `mean` or `max`.
    DIRECTION_SAMPLED_OPERATIONS_PER_SECOND =
        "{}_sample_operations_per_second_{}", OpsPerSecond, Higher;
    /// How far the requests per second of fio's samples spread in one direction.
    DIRECTION_SAMPLED_OPERATIONS_PER_SECOND_STDDEV =
        "{}_sample_operations_per_second_stddev", OpsPerSecond, Lower;
    /// Number of requests of this kind (`read`, `write`, `trim`, `sync`).
    DIRECTION_REQUESTS = "{}_requests", Count, Higher;
    /// Bytes moved in this direction (`read`, `write`, `trim`).
    DIRECTION_BYTES = "{}_bytes", Bytes, Higher;
    /// The share of all requests of the job that took no longer than this (`10us`, `1ms`).
    WITHIN_PERCENT = "within_{}_percent", Percent, Higher;
    /// Context switches of the job.
    CONTEXT_SWITCHES = "context_switches", Count, Lower;
    /// Page faults of the job that needed a read.
    MAJOR_FAULTS = "major_faults", Count, Lower;
    /// Page faults of the job that needed none.
    MINOR_FAULTS = "minor_faults", Count, Lower;
    /// Requests that one disk was sent in this direction (`read`, `write`).
    DISK_REQUESTS = "{}_ios", Count, Lower;
    /// Sectors of 512 bytes that one disk was asked for in this direction (`read`, `write`).
    DISK_SECTORS = "{}_sectors", Count, Lower;
    /// Requests in this direction (`read`, `write`) that were merged with others for one disk.
    DISK_MERGES = "{}_merges", Count, Lower;
    /// Time for which requests in this direction (`read`, `write`) were on their way to one disk.
    DISK_TICKS_SECONDS = "{}_ticks_seconds", Seconds, Lower;
    /// Time for which requests were in the queue of one disk, summed over them.
    IN_QUEUE_SECONDS = "in_queue_seconds", Seconds, Lower;
    /// The share of the time for which one disk had requests.
    BUSY_PERCENT = "busy_percent", Percent, Lower;
}
