//! Progress of a run for a display: counted by the workers, readable by any thread at any time.
//!
//! Each worker has a page of its own, so that counting costs a few plain stores and readers disturb
//! nobody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use treering_sys::SharedValue;

/// Counters of one worker since the trial began: calls, bytes, files. Only the worker itself writes
/// them; it may be a process of its own.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    counts: SharedValue<[AtomicU64; 3]>,
}

impl ProgressLine {
    /// Counts a step. There is a single writer, so plain atomic stores suffice.
    #[inline]
    pub(crate) fn add(&self, calls: u32, bytes: u64, files: u64) {
        let plus = |cell: &AtomicU64, more: u64| {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        let [all_calls, all_bytes, all_files] = &*self.counts;
        plus(all_calls, u64::from(calls));
        plus(all_bytes, bytes);
        plus(all_files, files);
    }
}

/// Progress counters of a run.
#[derive(Debug, Default)]
pub struct RunProgress {
    lines: Mutex<Vec<Arc<ProgressLine>>>,
}

/// Totals of all workers since the trial began, except for calls under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// Calls made.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Files worked on.
    pub files: u64,
}

impl RunProgress {
    /// Progress without workers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Current totals.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().fold(ProgressSnapshot::default(), |sum, line| ProgressSnapshot {
            calls: sum.calls + line.counts[0].load(Ordering::Relaxed),
            bytes: sum.bytes + line.counts[1].load(Ordering::Relaxed),
            files: sum.files + line.counts[2].load(Ordering::Relaxed),
        })
    }

    /// Adds the counters of a new worker.
    pub(crate) fn add_line(&self) -> Arc<ProgressLine> {
        let line = Arc::new(ProgressLine { counts: SharedValue::numbers() });
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&line));
        line
    }
}
