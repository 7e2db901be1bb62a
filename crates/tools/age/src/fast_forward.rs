//! Fast-forward: file data is only allocated when it would be written, and written at the end of
//! the run if the file still exists. With a known future, only files that are deleted later are
//! allocated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files of a run in fast-forward that have real data; shared by its tasks.
///
/// A file must be written before an overwrite in place: a copy-on-write filesystem moves an
/// overwritten block, but not one that was only allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct FastForward {
    /// Files with real data, by population and number.
    written: Arc<Mutex<BTreeSet<(usize, u64)>>>,
}

impl FastForward {
    fn written(&self) -> MutexGuard<'_, BTreeSet<(usize, u64)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a file has real data.
    pub(super) fn is_written(&self, files: usize, id: u64) -> bool {
        self.written().contains(&(files, id))
    }

    /// Records that a file has real data from now on.
    pub(super) fn wrote(&self, files: usize, id: u64) {
        self.written().insert((files, id));
    }

    /// Records that a file was deleted or truncated.
    pub(super) fn emptied(&self, files: usize, id: u64) {
        self.written().remove(&(files, id));
    }
}

/// Look-ahead of a replay with a known future: only files deleted before its end are allocated.
#[derive(Debug)]
pub(super) struct ReplayLookahead {
    /// Fate of each written file, in order: true if it is deleted or replaced before the end.
    goes: Vec<bool>,
    /// Number of files written so far.
    written: usize,
    /// Existing files that are only allocated, with their sizes in bytes.
    allocated: BTreeMap<Vec<u8>, u64>,
}

impl ReplayLookahead {
    pub(super) fn new(goes: Vec<bool>) -> Self {
        Self { goes, written: 0, allocated: BTreeMap::new() }
    }

    /// True if the next file, of `bytes`, is only allocated.
    pub(super) fn allocates(&mut self, path: &[u8], bytes: u64) -> bool {
        let goes = self.goes.get(self.written).is_some_and(|goes| *goes) && bytes > 0;
        self.written += 1;
        if goes {
            self.allocated.insert(path.to_vec(), bytes);
        }
        goes
    }

    /// Records that a file was deleted.
    pub(super) fn deleted(&mut self, path: &[u8]) {
        self.allocated.remove(path);
    }

    /// True once every existing file has real data.
    pub(super) fn is_written(&self) -> bool {
        self.allocated.is_empty()
    }

    /// Takes the files to be written because the run ended before their deletion.
    pub(super) fn take(&mut self) -> BTreeMap<Vec<u8>, u64> {
        std::mem::take(&mut self.allocated)
    }
}
