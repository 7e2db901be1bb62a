//! Times that several workloads share.

use super::spec::metrics;

metrics! {
    /// Wall-clock time of one task of this kind, in the mean.
    SECONDS = "seconds", Seconds, Lower;
    /// Wall-clock time of the part that was measured, from the first start to the last end, with
    /// the final sync where the imitated tool counts it.
    ELAPSED_SECONDS = "elapsed_seconds", Seconds, Lower;
    /// Wall-clock time of making what is worked on; in no rate.
    SETUP_SECONDS = "setup_seconds", Seconds, Lower;
    /// Wall-clock time of the sync or of the fsyncs and closes at the end of the work.
    FINAL_SYNC_SECONDS = "final_sync_seconds", Seconds, Lower;
    /// The slowest worker's time by the fastest one's, in the mean of the iterations.
    WORKER_SKEW_RATIO = "worker_skew_ratio", Count, Lower;
    /// Wall-clock time of the operations of all kinds together.
    OPERATION_SECONDS = "operation_seconds", Seconds, Lower;
    /// By how much longer the slowest rank worked in a phase than the median of all ranks, in
    /// percent of the latter: from the first beginning to the last end of the rank's own tasks.
    RANK_SKEW_PERCENT = "rank_skew_percent", Percent, Lower;
}
