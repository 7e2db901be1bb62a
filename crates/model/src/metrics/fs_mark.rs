//! Metrics specific to fs_mark.

use super::spec::metrics;

metrics! {
    /// Files/sec as fs_mark prints it: the sum of the workers' rates, each over its own time,
    /// which is at least `files_per_second`. Of several iterations the harmonic mean, weighted by
    /// files.
    CLASSIC_FILES_PER_SECOND = "classic_files_per_second", FilesPerSecond, Higher;
    /// By how much `classic_files_per_second` exceeds the true `files_per_second`.
    CLASSIC_INFLATION_PERCENT = "classic_inflation_percent", Percent, Lower;
    /// The column App Overhead: time that fs_mark spends outside of calls.
    APP_OVERHEAD_SECONDS = "app_overhead_seconds", Seconds, Lower;
    /// The least time of one kind of call in an iteration, as fs_mark -v prints it.
    CALL_LEAST_SECONDS = "{}_least_seconds", Seconds, Lower;
    /// The largest time of one kind of call in an iteration, as fs_mark -v prints it.
    CALL_LARGEST_SECONDS = "{}_largest_seconds", Seconds, Lower;
    /// The mean time of one kind of call (`creat`, `write`, `fsync`, `sync`, `close`, `unlink`)
    /// in an iteration, as fs_mark -v prints it.
    CALL_MEAN_SECONDS = "{}_mean_seconds", Seconds, Lower;
}
