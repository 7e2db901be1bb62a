//! Latencies of calls, operations and requests. Names with the statistic last are those of dbench,
//! blogbench and bonnie++, those with the unit last of fio and filebench: both are in stores.

use super::spec::metrics;

metrics! {
    /// How long an operation of this kind took: `min`, `mean`, `p50`, `p99`, `p999` (what 99.9 %
    /// do not exceed), `max`.
    LATENCY_NS = "latency_ns_{}", Nanoseconds, Lower;
    /// How long an operation of this kind took: `min`, `mean`, `p50`, `p99`, `p999` (what 99.9 %
    /// do not exceed), `max`.
    LATENCY_NANOSECONDS = "latency_{}_nanoseconds", Nanoseconds, Lower;
}
