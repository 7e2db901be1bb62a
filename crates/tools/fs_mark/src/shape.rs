//! Shape of an fs_mark run: numbers and sizes of files, their directories, and the sync method.

use super::methods::{SubdirPolicy, SyncMethod};

/// Parameters that determine the operations of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunShape {
    /// Files created by each worker in an iteration.
    pub(super) files: u64,
    /// Size of each file in bytes.
    pub(super) bytes: u64,
    /// Bytes of each write.
    pub(super) write_bytes: u32,
    /// Bytes of a name.
    pub(super) name_bytes: usize,
    /// Number of random bytes in each name.
    pub(super) random_bytes: usize,
    /// Sync method.
    pub(super) sync: SyncMethod,
    /// Subdirectory policy.
    pub(super) policy: SubdirPolicy,
    /// Number of iterations.
    pub(super) iterations: u32,
    /// True repeats iterations until the filesystem is full.
    pub(super) until_full: bool,
    /// True keeps the files of an iteration.
    pub(super) keep: bool,
    /// Workers.
    pub(super) workers: u16,
    /// Number of roots; workers take turns at them.
    pub(super) roots: u16,
    /// Random seed of names and placement.
    pub(super) seed: u64,
}

impl RunShape {
    /// Files of all workers in an iteration.
    pub(super) fn files_an_iteration(&self) -> u64 {
        self.files.saturating_mul(u64::from(self.workers))
    }

    /// Number of iterations whose files exist at the same time.
    pub(super) fn standing_iterations(&self) -> u64 {
        if self.keep { u64::from(self.iterations) } else { 1 }
    }
}
