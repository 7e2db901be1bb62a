//! Metrics specific to filebench.

use super::spec::metrics;

metrics! {
    /// Operations that read, by the measured time.
    READS_PER_SECOND = "reads_per_second", OpsPerSecond, Higher;
    /// Operations that write, by the measured time.
    WRITES_PER_SECOND = "writes_per_second", OpsPerSecond, Higher;
    /// CPU of an operation as filebench 1.4 prints it.
    CPU_NS_MEAN = "cpu_ns_mean", Nanoseconds, Lower;
}
