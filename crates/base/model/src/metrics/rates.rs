//! Rates that several workloads share.

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
}
