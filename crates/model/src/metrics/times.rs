//! Time metrics shared by several workloads.

use super::spec::metrics;

metrics! {
    /// Wall-clock time of one task of this kind, in the mean.
    SECONDS = "seconds", Seconds, Lower;
    /// Wall-clock time of the part that was measured, from the first start to the last end, with
    /// the final sync where the imitated tool counts it.
    ELAPSED_SECONDS = "elapsed_seconds", Seconds, Lower;
    /// The time of a test of mdtest as it prints it beside the mean over the iterations: `max`,
    /// `min` or `stddev`.
    ITERATION_ELAPSED_SECONDS = "elapsed_seconds_{}", Seconds, Lower;
    /// The time of single ranks as mdtest can print it beside that of the iterations: `max`,
    /// `min`, `mean` or `stddev`.
    RANK_ELAPSED_SECONDS = "rank_elapsed_seconds_{}", Seconds, Lower;
    /// The time of creating files until the time was over, as mdtest prints it.
    STONEWALL_SECONDS = "stonewall_seconds", Seconds, Lower;
    /// Mean time of a transfer, as ior prints it.
    TRANSFER_LATENCY_SECONDS = "transfer_latency_seconds", Seconds, Lower;
    /// From the first open of ior's tasks to the end of the last, as it prints it.
    OPEN_SECONDS = "open_seconds", Seconds, Lower;
    /// From the first transfer of ior's tasks to the end of the last, as it prints it.
    TRANSFERS_SECONDS = "transfers_seconds", Seconds, Lower;
    /// From the first close of ior's tasks to the end of the last, as it prints it.
    CLOSE_SECONDS = "close_seconds", Seconds, Lower;
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
    /// What a barrier before a group of tasks takes, in the median of those of a phase: from the
    /// arrival of the last rank at rank 0 to the beginning of the last rank's first task.
    BARRIER_SECONDS = "barrier_seconds", Seconds, Lower;
    /// How far the ranks' beginnings were apart after a barrier, in the median of those of a phase.
    START_SPREAD_SECONDS = "start_spread_seconds", Seconds, Lower;
}
