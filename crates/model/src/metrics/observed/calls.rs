//! Latencies of system calls by kind, of the phases together, and of each phase for calls that are
//! made in several.

use crate::metrics::spec::metrics;

metrics! {
    /// Latency of the calls of one kind (`fsync`, with `fdatasync`; `sync`, `rename`, `open`,
    /// `read`, `write` and so on): `p50` from 10 timed calls on, `p99` from 100, `p999` (what
    /// 99.9 % do not exceed) from 1000, and `max` where every call was timed. `treering show` lists
    /// how many were.
    CALL_LATENCY_NANOSECONDS = "{}_call_latency_{}_nanoseconds", Nanoseconds, Lower;
}
