//! Latencies of calls, operations and requests. Names ending in the statistic belong to dbench,
//! blogbench and bonnie++, names ending in the unit to fio and filebench; both exist in stores.

use super::spec::metrics;

metrics! {
    /// How long an operation of this kind took: `min`, `mean`, `p50`, `p99`, `p999` (what 99.9 %
    /// do not exceed), `max`.
    LATENCY_NS = "latency_ns_{}", Nanoseconds, Lower;
    /// How long an operation of this kind took: `min`, `mean`, `p50`, `p99`, `p999` (what 99.9 %
    /// do not exceed), `max`.
    LATENCY_NANOSECONDS = "latency_{}_nanoseconds", Nanoseconds, Lower;
}
