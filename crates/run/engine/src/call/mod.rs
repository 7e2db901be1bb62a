//! Ways to do a step: by system calls one at a time (`sync`), or in memory as the oracle of tests.
//!
//! A caller only does what a step says and tells what came of it. Time, counts and the stop flag
//! are the worker's.

mod buffered;
pub(crate) mod memory;
pub(crate) mod memory_tree;
pub(crate) mod requests;
pub(crate) mod sync;

use std::fmt;
use std::io;
use std::path::PathBuf;

use treering_model::Op;
use treering_script::{Buffers, Outcome, Queue, Room, Step, Synchronous, Tolerate};
use treering_sys::Errno;

use crate::HeatBook;

/// The most bytes that one call moves; a step that asks for more takes several.
pub const LARGEST_CALL_BYTES: usize = 4 << 20;

/// Does steps. One per worker; it keeps the open directories and files of a task.
pub trait Caller: Send {
    /// Does one step.
    ///
    /// # Errors
    /// When it fails in a way that the step does not tolerate.
    fn call(&mut self, step: &Step<'_>) -> Result<Reply<'_>, Box<CallFailure>>;

    /// Says whether files that are opened from now on bypass the page cache (`O_DIRECT`), and
    /// whether they are written synchronously (`O_SYNC`, `O_DSYNC`).
    fn open_through(&mut self, direct: bool, synchronous: Synchronous);

    /// Whether reads and writes at places of their own are made by the calls that take vectors.
    fn by_vectors(&mut self, _are: bool) {}

    /// Makes what will carry out the requests of the task that begins, or none.
    ///
    /// # Errors
    /// When the kernel, or a sandbox, has none for us.
    fn open_queue(&mut self, queue: Option<Queue>) -> io::Result<()>;

    /// Has the task that begins write from these buffers and read into them, instead of the
    /// payload.
    fn use_buffers(&mut self, _buffers: Option<Buffers>) {}

    /// Closes everything that a task left open, but for the target. Requests that are under way
    /// have ended then.
    fn close_all(&mut self);

    /// What was read and written since this was asked last, where a book of it is kept.
    fn take_heat(&mut self) -> Option<HeatBook> {
        None
    }
}

/// What came of a step.
#[derive(Debug)]
pub struct Reply<'c> {
    /// For the script.
    pub outcome: Outcome<'c>,
    /// System calls of the step's kind that it took: more than one after a short write, and when
    /// the step asks for more than [`LARGEST_CALL_BYTES`].
    pub calls: u32,
}

/// A call that failed in a way that nobody expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// What was asked.
    pub op: Op,
    /// Of what.
    pub path: PathBuf,
    /// The kernel's error number.
    pub errno: i32,
    /// Calls made for the step, the failing one included.
    pub calls: u32,
    /// Bytes that were moved before it failed.
    pub bytes: u64,
}

impl CallFailure {
    /// The error in the form of the standard library.
    pub fn os_error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.op)?;
        // A name may hold anything: nothing in it may reach the terminal as a command.
        for letter in self.path.to_string_lossy().chars() {
            match letter {
                odd if odd.is_control() => write!(f, "{}", odd.escape_default())?,
                plain => fmt::Write::write_char(f, plain)?,
            }
        }
        write!(f, ": {}", self.os_error())
    }
}

impl std::error::Error for CallFailure {}

/// What a caller did, before it is told to the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    /// It was done.
    Done,
    /// Bytes were moved, in so many calls.
    Moved(u64, u32),
    /// Entries are in the caller's buffer, read in so many calls.
    Listed(u32),
    /// A file of so many bytes was found.
    Found(u64),
    /// A filesystem has this room.
    Has(Room),
    /// So many requests were taken.
    Took(u32),
    /// Requests that have ended are in the caller's list; so many calls that took.
    Reaped(u32),
}

/// How a caller failed.
#[derive(Clone, Copy, Debug)]
struct Stumble {
    errno: Errno,
    calls: u32,
    bytes: u64,
}

impl From<Errno> for Stumble {
    fn from(errno: Errno) -> Self {
        Self { errno, calls: 1, bytes: 0 }
    }
}

/// Whether a script expects a filesystem that is full, and this error says that it is.
fn is_full(tolerate: Tolerate, errno: Errno) -> bool {
    matches!(tolerate, Tolerate::Full | Tolerate::ExistingOrFull)
        && matches!(errno, Errno::NOSPC | Errno::DQUOT)
}

/// Whether a script expects this error.
fn is_tolerated(tolerate: Tolerate, errno: Errno) -> bool {
    match tolerate {
        Tolerate::Nothing | Tolerate::Full => false,
        Tolerate::Existing | Tolerate::ExistingOrFull => errno == Errno::EXIST,
        Tolerate::Missing => errno == Errno::NOENT,
        // That is told as it is.
        Tolerate::Anything => false,
    }
}

#[cfg(test)]
mod tests {
    use super::CallFailure;
    use treering_model::Op;

    #[test]
    fn a_failure_reads_like_the_systems_own_and_has_no_control_characters() {
        let mut failure = CallFailure {
            op: Op::Create,
            path: "/mnt/x/kernel-0/fs/inode.c".into(),
            errno: 28,
            calls: 1,
            bytes: 0,
        };
        let text = "create /mnt/x/kernel-0/fs/inode.c: No space left on device (os error 28)";
        assert_eq!(failure.to_string(), text);
        failure.path = "/mnt/\u{1b}[31m\nü".into();
        assert!(failure.to_string().starts_with("create /mnt/\\u{1b}[31m\\nü: "));
    }
}
