//! Metrics of arbitrary commands.

use super::spec::metrics;
use crate::{BetterDirection, Metric, Scope, Unit};

metrics! {
    /// What the command and the processes that it waited for read from storage, as the kernel
    /// charges it to them: nothing of what was in memory.
    STORAGE_READ_BYTES = "storage_read_bytes", Bytes, Lower;
    /// What they made dirty in the page cache or wrote to storage directly, likewise.
    STORAGE_WRITTEN_BYTES = "storage_written_bytes", Bytes, Lower;
}

/// Metric of the whole trial from a command's output, with a user-defined name.
pub fn named_by_user(name: &str, value: f64, unit: Unit, better: BetterDirection) -> Metric {
    Metric::new(name, Scope::Trial, value, unit, better)
}
