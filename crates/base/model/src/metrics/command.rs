//! Metrics of commands of which nothing else is known.

use super::spec::metrics;

metrics! {
    /// What the command and the processes that it waited for read from storage, as the kernel
    /// charges it to them: nothing of what was in memory.
    STORAGE_READ_BYTES = "storage_read_bytes", Bytes, Lower;
    /// What they made dirty in the page cache or wrote to storage directly, likewise.
    STORAGE_WRITTEN_BYTES = "storage_written_bytes", Bytes, Lower;
}
