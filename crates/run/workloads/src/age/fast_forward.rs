//! Fast-forward: what files hold is allocated when it would be written, and written when the run is
//! over, if the file still stands.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use treering_script::{CreateHow, Dir, Errno, Expect, File, Io, Stop};

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

/// Whether the filesystem can allocate: tried with a file that is removed again.
pub(super) fn can_allocate(io: &mut dyn Io, dir: Dir, file: File) -> Result<bool, Stop> {
    io.create(dir, c"probe", CreateHow::Exclusive, file)?;
    let allocated = io.allocate(file, 0, 1, false).or_errno()?;
    io.close(file)?;
    io.unlink(dir, c"probe")?;
    Ok(!matches!(allocated, Err(Errno::OPNOTSUPP | Errno::NOSYS)))
}
