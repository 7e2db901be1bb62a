//! Rate metrics shared by several workloads.

use super::spec::metrics;

metrics! {
    /// Bytes of the tasks, operations or requests of this kind, by the wall-clock time of all of
    /// them: from the first start to the last end where they run side by side, else the sum.
    MIB_PER_SECOND = "mib_per_second", MibPerSecond, Higher;
    /// Bytes moved in one direction (`read`, `write`, `trim`) by the time that was measured.
    DIRECTION_MIB_PER_SECOND = "{}_mib_per_second", MibPerSecond, Higher;
    /// Files made, read, looked up or removed, by the wall-clock time of all of them.
    FILES_PER_SECOND = "files_per_second", FilesPerSecond, Higher;
    /// Operations of all kinds, or of one kind, by the time that was measured.
    OPERATIONS_PER_SECOND = "operations_per_second", OpsPerSecond, Higher;
    /// Requests or operations in one direction (`read`, `write`, `trim`) by the time for which
    /// the job moved data in it.
    DIRECTION_OPERATIONS_PER_SECOND = "{}_operations_per_second", OpsPerSecond, Higher;
    /// How many operations were done in the time that was measured.
    OPERATIONS = "operations", Count, Higher;
    /// How many operations of this kind were done, as logs print it.
    CALLS = "calls", Count, Higher;
    /// How many items each worker of mdtest made, where time and not their number ended the
    /// creation: what a longer run is planned with.
    ITEMS_PER_WORKER = "items_per_worker", Count, Higher;
    /// How many transfers each worker of ior did, where time and not their number ended the test:
    /// what a longer run is planned with.
    TRANSFERS_PER_WORKER = "transfers_per_worker", Count, Higher;
    /// The share of the items or transfers that were done only after the time was over, so that all
    /// workers have as many as the fastest.
    WEAR_OUT_PERCENT = "wear_out_percent", Percent, Lower;
    /// The rate of the iterations as mdtest and ior print it beside the mean: `max`, `min` or
    /// `stddev`; mdtest 3 prints that of its workers.
    ITERATION_OPERATIONS_PER_SECOND = "operations_per_second_{}", OpsPerSecond, Higher;
    /// The rate of single ranks as mdtest can print it beside that of the iterations: `max`,
    /// `min`, `mean` or `stddev`.
    RANK_OPERATIONS_PER_SECOND = "rank_operations_per_second_{}", OpsPerSecond, Higher;
    /// The rate of creating files until the time was over, without the wear-out, as mdtest prints
    /// it.
    STONEWALL_OPERATIONS_PER_SECOND = "stonewall_operations_per_second", OpsPerSecond, Higher;
    /// The bytes that were moved when the time was over, as ior prints them.
    STONEWALL_BYTES = "stonewall_bytes", Bytes, Higher;
    /// The rate of the repetitions as ior prints it: `max`, `min` or `stddev`.
    REPETITION_MIB_PER_SECOND = "mib_per_second_{}", MibPerSecond, Higher;
    /// The score of a run, as IO500 printed it: only imported, never computed.
    IO500_SCORE = "io500_score", Count, Higher;
    /// The score of its four phases of ior, in GiB/s as IO500 printed it.
    IO500_BANDWIDTH_SCORE = "io500_bandwidth_score", Count, Higher;
    /// The score of its phases of mdtest and find, in kIOPS as IO500 printed it.
    IO500_METADATA_SCORE = "io500_metadata_score", Count, Higher;
    /// The rate of a phase that writes until its time was over, without the wear-out: of mdtest in
    /// thousands of operations a second, of ior in GiB/s, as IO500 printed it.
    IO500_STONEWALL_RATE = "io500_stonewall_rate", Count, Higher;
}
