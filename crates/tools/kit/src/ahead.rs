//! Preallocation mode of aging workloads: counters of a task, and the check that the filesystem can
//! preallocate.

use serde::{Deserialize, Serialize};
use treering_script::{
    CreateHow, DirSlot, Errno, ExpectedErrors, FileSlot, Io, SessionError, Stop,
};

/// Name of the phase that writes the preallocated data.
pub const WRITE: &str = "write";

/// Counters of a task of an aging run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AheadCounters {
    /// Number of operations carried out.
    pub operations: u64,
    /// True if the filesystem was full before all operations were carried out.
    pub is_full: bool,
    /// Preallocated bytes that were not written, minus earlier ones that were written now.
    #[serde(default)]
    pub ahead_bytes: i64,
    /// True if the filesystem cannot preallocate, but the run needs it: nothing was done.
    #[serde(default)]
    pub cannot_allocate: bool,
    /// Operations that found no space, after which files were deleted.
    #[serde(default)]
    pub short_of_space: u64,
    /// Files that were deleted for that.
    #[serde(default)]
    pub deleted_for_space: u64,
}

/// Tests with a temporary file whether the filesystem supports `fallocate`.
pub fn can_allocate(io: &mut dyn Io, dir: DirSlot, file: FileSlot) -> Result<bool, Stop> {
    io.create(dir, c"probe", CreateHow::Exclusive, file)?;
    let allocated = io.allocate(file, 0, 1, false).or_errno()?;
    io.close(file)?;
    io.unlink(dir, c"probe")?;
    Ok(!matches!(allocated, Err(Errno::OPNOTSUPP | Errno::NOSYS)))
}

/// Error of a run on a filesystem that cannot preallocate.
pub fn refusal() -> SessionError {
    SessionError::new(
        "the filesystem cannot allocate what is not written (fallocate); leave out \
         --fast-forward: nothing was aged",
    )
}
