//! What a run of fs_mark is made of: how many files of which size, where, and how they are synced.

use super::methods::{Policy, SyncMethod};

/// Everything that decides the operations of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Files created by each worker in an iteration.
    pub(super) files: u64,
    /// Bytes of each.
    pub(super) bytes: u64,
    /// Bytes of each write.
    pub(super) write_bytes: u32,
    /// Bytes of a name.
    pub(super) name_bytes: usize,
    /// Random ones among them.
    pub(super) random_bytes: usize,
    /// How files are synced.
    pub(super) sync: SyncMethod,
    /// Where they are made.
    pub(super) policy: Policy,
    /// Number of iterations.
    pub(super) iterations: u32,
    /// Whether it is done until the filesystem is full instead.
    pub(super) until_full: bool,
    /// Whether the files of an iteration stay.
    pub(super) keep: bool,
    /// Workers.
    pub(super) workers: u16,
    /// Roots at which they take turns.
    pub(super) roots: u16,
    /// What decides the names.
    pub(super) seed: u64,
}

impl Shape {
    /// Files of all workers in an iteration.
    pub(super) fn files_an_iteration(&self) -> u64 {
        self.files.saturating_mul(u64::from(self.workers))
    }

    /// Iterations of which files stand at the same time.
    pub(super) fn standing_iterations(&self) -> u64 {
        if self.keep { u64::from(self.iterations) } else { 1 }
    }
}
