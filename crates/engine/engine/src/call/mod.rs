//! Who makes calls: the kernel, one system call at a time (`sync`), or a filesystem in memory, the
//! oracle of tests.
//!
//! A caller only does what a call says and answers what came of it. Time, counts and the stop flag
//! are the worker's.

mod buffered;
pub(crate) mod memory;
pub(crate) mod memory_tree;
pub(crate) mod requests;
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
    Buffers, Call, CallError, Completion, Done, Entries, Queue, Subject, Synchronous,
};

use crate::HeatBook;

/// The most bytes that one call moves; what asks for more takes several.
pub const LARGEST_CALL_BYTES: usize = 4 << 20;

/// Makes calls. One per worker; it keeps the open directories and files of a task.
pub trait Caller: Send {
    /// Makes a call.
    ///
    /// # Errors
    /// When it fails.
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError>;

    /// Is told before a directory of this name is made in the target, outside of its time.
    ///
    /// # Errors
    /// When that cannot be recorded; the directory is not made then.
    fn will_make(&mut self, _name: &CStr) -> Result<(), CallError> {
        Ok(())
    }

    /// Is told that it was made.
    ///
    /// # Errors
    /// When it cannot be recorded; the directory is gone then.
    fn has_made(&mut self, _name: &CStr) -> Result<(), CallError> {
        Ok(())
    }

    /// Is told that it could not be made.
    fn has_not_made(&mut self, _name: &CStr) {}

    /// Is told that a directory of this name in the target was removed.
    fn has_removed(&mut self, _name: &CStr) {}

    /// The entries that the last reading of a directory brought.
    fn entries(&self) -> Entries<'_>;

    /// The requests that the last reaping brought.
    fn reaped(&self) -> &[Completion];

    /// Where that is which a call is about.
    fn path_of(&self, subject: Subject<'_>) -> PathBuf;

    /// Says whether files that are opened from now on bypass the page cache (`O_DIRECT`), and
    /// whether they are written synchronously (`O_SYNC`, `O_DSYNC`).
    fn open_through(&mut self, direct: bool, synchronous: Synchronous);

    /// Whether reads and writes at places of their own are made by the calls that take vectors.
    fn by_vectors(&mut self, _are: bool) {}

    /// Whether the task that begins gives the kernel the whole path of each item, from where the
    /// user's own words begin, and opens no directory.
    ///
    /// # Errors
    /// When the user's words lead to another directory than the target.
    fn by_whole_paths(&mut self, _are: bool) -> io::Result<()> {
        Ok(())
    }

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

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// For the task.
    pub done: Done,
    /// System calls of its kind that it took: more than one after a short write, and when more is
    /// asked for than [`LARGEST_CALL_BYTES`].
    pub calls: u32,
}

impl Reply {
    /// What took one system call.
    pub const fn once(done: Done) -> Self {
        Self { done, calls: 1 }
    }

    /// Bytes that were moved, by so many system calls.
    pub(crate) const fn moved(bytes: u64, calls: u32) -> Self {
        Self { done: Done::Bytes(bytes), calls }
    }
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
    /// Calls made for it, the failing one included.
    pub calls: u32,
    /// Bytes that were moved before it failed.
    pub bytes: u64,
}

impl CallFailure {
    /// Names what failed.
    #[cold]
    pub(crate) fn of<C: Caller>(caller: &C, call: &Call<'_>, error: CallError) -> Self {
        Self::at(caller, call.op(), call.subject(), error)
    }

    /// The same, of a call that is known by its kind and by what it is about.
    #[cold]
    pub(crate) fn at<C: Caller>(
        caller: &C,
        op: Op,
        subject: Subject<'_>,
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
