//! Fast-forward: what files hold is allocated when it would be written, and written when the run is
//! over, if the file still stands. Where the future is known, only what goes is allocated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of the files of a run in fast-forward; shared by its tasks.
///
/// A file that is overwritten in place must be written before: a filesystem that copies on writing
/// gives an overwritten block another place, but not one that was only allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct FastForward {
    /// Files by population and number that hold data and not only room for it.
    written: Arc<Mutex<BTreeSet<(usize, u64)>>>,
}

impl FastForward {
    fn written(&self) -> MutexGuard<'_, BTreeSet<(usize, u64)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a file holds data.
    pub(super) fn is_written(&self, files: usize, id: u64) -> bool {
        self.written().contains(&(files, id))
    }

    /// From now on it holds data.
    pub(super) fn wrote(&self, files: usize, id: u64) {
        self.written().insert((files, id));
    }

    /// It goes, or what it held.
    pub(super) fn emptied(&self, files: usize, id: u64) {
        self.written().remove(&(files, id));
    }
}

/// A replay whose future is known: only files that go before its end are allocated.
#[derive(Debug)]
pub(super) struct Foreseen {
    /// Of each file that is written, in order, whether it goes before the end.
    goes: Vec<bool>,
    /// So many were.
    written: usize,
    /// Files that stand and are only allocated, with their bytes.
    allocated: BTreeMap<Vec<u8>, u64>,
}

impl Foreseen {
    pub(super) fn new(goes: Vec<bool>) -> Self {
        Self { goes, written: 0, allocated: BTreeMap::new() }
    }

    /// Whether the next file, of these bytes, is only allocated.
    pub(super) fn allocates(&mut self, path: &[u8], bytes: u64) -> bool {
        let goes = self.goes.get(self.written).is_some_and(|goes| *goes) && bytes > 0;
        self.written += 1;
        if goes {
            self.allocated.insert(path.to_vec(), bytes);
        }
        goes
    }

    /// A file is gone.
    pub(super) fn gone(&mut self, path: &[u8]) {
        self.allocated.remove(path);
    }

    /// Whether nothing that stands is only allocated.
    pub(super) fn is_written(&self) -> bool {
        self.allocated.is_empty()
    }

    /// What is to be written when the run ended before these files went.
    pub(super) fn take(&mut self) -> BTreeMap<Vec<u8>, u64> {
        std::mem::take(&mut self.allocated)
    }
}
