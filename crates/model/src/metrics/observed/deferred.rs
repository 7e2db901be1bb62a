//! Metrics of deferred work: what the devices and the kernel still did after the last phase, until
//! the devices were quiet or the watch reached its limit. Defined in docs/counters.md.

use crate::metrics::spec::metrics;

metrics! {
    /// Time from the end of the last phase to the last deferred work that was seen.
    SECONDS = "deferred_seconds", Seconds, Lower;
    /// Bytes read from the devices after the last phase.
    READ_BYTES = "deferred_read_bytes", Bytes, Lower;
    /// Requests that wrote to the devices after the last phase.
    WRITE_REQUESTS = "deferred_write_requests", Count, Lower;
    /// Bytes written to the devices after the last phase.
    WRITE_BYTES = "deferred_write_bytes", Bytes, Lower;
    /// Requests that discarded blocks of the devices after the last phase.
    DISCARD_REQUESTS = "deferred_discard_requests", Count, Lower;
    /// Bytes discarded on the devices after the last phase.
    DISCARD_BYTES = "deferred_discard_bytes", Bytes, Lower;
    /// Flushes of the devices' write caches after the last phase.
    FLUSHES = "deferred_flushes", Count, Lower;
    /// Commits of the journal after the last phase.
    JOURNAL_COMMITS = "deferred_journal_commits", Count, Lower;
    /// CPU time of all kernel threads of the machine after the last phase.
    CPU_SECONDS = "deferred_cpu_seconds", Seconds, Lower;
    /// Bytes of the page cache that were still dirty or under writeback when the watch ended, on
    /// the whole machine.
    DIRTY_BYTES = "deferred_dirty_bytes", Bytes, Lower;
}
