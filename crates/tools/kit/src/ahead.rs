//! What workloads that age have in common when they allocate what files will hold: what a task
//! counts, and whether the filesystem can allocate at all.

use serde::{Deserialize, Serialize};
use treering_script::{CreateHow, Dir, Errno, Expect, File, Io, SessionError, Stop};

/// The phase in which what was only allocated is written.
pub const WRITE: &str = "write";

/// What a task of an aging run counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Operations that were carried out.
    pub operations: u64,
    /// Whether the filesystem was full before all were.
    pub is_full: bool,
    /// Bytes that were allocated instead of written, less those of them written now.
    #[serde(default)]
    pub ahead_bytes: i64,
    /// Whether the filesystem cannot allocate, where that is needed: nothing was done.
    #[serde(default)]
    pub cannot_allocate: bool,
}

/// Whether the filesystem can allocate: tried with a file that is removed again.
pub fn can_allocate(io: &mut dyn Io, dir: Dir, file: File) -> Result<bool, Stop> {
    io.create(dir, c"probe", CreateHow::Exclusive, file)?;
    let allocated = io.allocate(file, 0, 1, false).or_errno()?;
    io.close(file)?;
    io.unlink(dir, c"probe")?;
    Ok(!matches!(allocated, Err(Errno::OPNOTSUPP | Errno::NOSYS)))
}

/// The failure of a run on a filesystem that cannot.
pub fn refusal() -> SessionError {
    SessionError::new(
        "the filesystem cannot allocate what is not written (fallocate); leave out \
         --fast-forward: nothing was aged",
    )
}
