//! Callers: the kernel, one system call at a time (`sync`), or a filesystem in memory, the oracle
//! of tests.
//!
//! A caller carries out a call and returns its result. Time, counts and the stop flag belong to the
//! worker.

mod buffered;
mod maintenance;
pub(crate) mod memory;
pub(crate) mod memory_tree;
pub(crate) mod requests;
mod retired;
pub(crate) mod sync;
mod translated;
mod whole;
mod whole_paths;

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::path::PathBuf;

use treering_model::Op;
use treering_script::{
    Buffers, Call, CallError, CallResult, CallSubject, Completion, DirEntries, IoQueue,
    RequestFlags, SyncMode,
};

use crate::HeatBook;

/// Maximum bytes moved by one system call; larger requests take several.
pub const LARGEST_CALL_BYTES: usize = 4 << 20;

/// Caller of a worker: carries out calls, and keeps the open directories and files of a task.
pub trait Caller: Send {
    /// Carries out a call.
    ///
    /// # Errors
    /// When it fails.
    fn call(&mut self, call: &Call<'_>) -> Result<CallReply, CallError>;

    /// Called before a directory of this name is made in the target; not part of the call's time.
    ///
    /// # Errors
    /// When that cannot be recorded; the directory is not made then.
    fn will_make(&mut self, _name: &CStr) -> Result<(), CallError> {
        Ok(())
    }

    /// Called after the directory was made.
    ///
    /// # Errors
    /// When it cannot be recorded; the directory is gone then.
    fn has_made(&mut self, _name: &CStr) -> Result<(), CallError> {
        Ok(())
    }

    /// Called after making the directory has failed.
    fn has_not_made(&mut self, _name: &CStr) {}

    /// Called after a directory of this name in the target was removed.
    fn has_removed(&mut self, _name: &CStr) {}

    /// True if the calls reach the kernel.
    fn reaches_kernel(&self) -> bool {
        true
    }

    /// Entries returned by the last directory read.
    fn entries(&self) -> DirEntries<'_>;

    /// Requests completed by the last reap.
    fn reaped(&self) -> &[Completion];

    /// Path that a call refers to, for messages.
    fn path_of(&self, subject: CallSubject<'_>) -> PathBuf;

    /// Selects whether files opened from now on bypass the page cache (`O_DIRECT`), and whether
    /// they are written synchronously (`O_SYNC`, `O_DSYNC`).
    fn open_through(&mut self, direct: bool, synchronous: SyncMode);

    /// Selects the vector calls (`readv`, `pwritev`, …) for the reads and writes of the next task.
    fn by_vectors(&mut self, _vectored: Option<RequestFlags>) {}

    /// Selects whole paths for the next task: the kernel gets the full path of each item, starting
    /// with the user's own, and no directory is opened.
    ///
    /// # Errors
    /// When the path given by the user leads to another directory than the target.
    fn by_whole_paths(&mut self, _are: bool) -> io::Result<()> {
        Ok(())
    }

    /// Creates the request queue of the task that begins, or none.
    ///
    /// # Errors
    /// When the kernel or a sandbox denies a queue.
    fn open_queue(&mut self, queue: Option<IoQueue>) -> io::Result<()>;

    /// Selects buffers for the next task, which replace the payload for writing and reading.
    fn use_buffers(&mut self, _buffers: Option<Buffers>) {}

    /// Closes everything that a task left open, except the target. No request may be in flight.
    fn close_all(&mut self);

    /// Takes the heat recorded since the last call, if it is recorded.
    fn take_heat(&mut self) -> Option<HeatBook> {
        None
    }
}

/// Result of a call, and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallReply {
    /// Result for the task.
    pub done: CallResult,
    /// Number of system calls of this kind: more than one after a short write, and for requests
    /// above [`LARGEST_CALL_BYTES`].
    pub calls: u32,
}

impl CallReply {
    /// Result of one system call.
    pub const fn once(done: CallResult) -> Self {
        Self { done, calls: 1 }
    }

    /// Result of a call that moved `bytes` in `calls` system calls.
    pub(crate) const fn moved(bytes: u64, calls: u32) -> Self {
        Self { done: CallResult::Bytes(bytes), calls }
    }
}

/// Unexpected failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// Kind of the call.
    pub op: Op,
    /// Path the call is about.
    pub path: PathBuf,
    /// The kernel's error number.
    pub errno: i32,
    /// Number of system calls, including the failing one.
    pub calls: u32,
    /// Bytes moved before the failure.
    pub bytes: u64,
}

impl CallFailure {
    /// Failure of `call`, with its path.
    #[cold]
    pub(crate) fn new<C: Caller>(caller: &C, call: &Call<'_>, error: CallError) -> Self {
        Self::for_subject(caller, call.op(), call.subject(), error)
    }

    /// Failure of a call, from its kind and subject.
    #[cold]
    pub(crate) fn for_subject<C: Caller>(
        caller: &C,
        op: Op,
        subject: CallSubject<'_>,
        error: CallError,
    ) -> Self {
        let CallError { errno, calls, bytes } = error;
        let path = caller.path_of(subject);
        Self { op, path, errno: errno.raw_os_error(), calls, bytes }
    }

    /// The error in the form of the standard library.
    pub(crate) fn os_error(&self) -> io::Error {
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

#[cfg(test)]
mod tests {
    use super::CallFailure;
    use treering_model::Op;

    #[test]
    fn call_failures_read_like_system_errors_without_control_characters() {
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
