//! Calls available to the code of a task: one method for each system call.
//!
//! A task is written against [`Io`] as plain sequential code. The engine's [`Io`] makes the calls,
//! counts and times them; the one in memory is the oracle of tests; others print or record the
//! calls. None of them decides which call comes next.

use std::ffi::CStr;

use treering_model::CpuTime;
use treering_sys::Errno;

use crate::call::{AsyncRequest, Call, Completion, CreateHow, DirSlot, FileSlot, OpenHow};
use crate::{DirEntries, StatfsSpace, SyncScope, WakeSignal};

/// Result of a successful call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// Success without a value.
    Plain,
    /// Number of bytes moved.
    Bytes(u64),
    /// Size of an existing file in bytes; 0 if the entry is not a regular file.
    Size(u64),
    /// Space of the filesystem.
    Room(StatfsSpace),
    /// Directory entries were read: [`Io::entries`].
    Entries,
    /// Number of requests accepted, counted from the first one.
    Taken(u32),
    /// Requests have ended: [`Io::reaped`].
    Reaped,
}

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The kernel's error number.
    pub errno: Errno,
    /// Number of system calls, including the failing one.
    pub calls: u32,
    /// Bytes moved before the failure.
    pub bytes: u64,
}

impl From<Errno> for CallError {
    fn from(errno: Errno) -> Self {
        Self { errno, calls: 1, bytes: 0 }
    }
}

/// Reason why the code of a task stops early; a task passes it on with `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run was requested to end.
    Asked,
    /// A call failed in a way that the task did not expect.
    Failed(CallError),
}

impl Stop {
    /// Error of the call, if its errno is one of `expected`.
    fn one_of(self, expected: &[Errno]) -> Result<CallError, Self> {
        match self {
            Self::Failed(error) if expected.contains(&error.errno) => Ok(error),
            other => Err(other),
        }
    }
}

/// Interface to make calls from a task.
pub trait Io {
    /// Makes a call. The methods of `dyn Io` are a shorter form of the same.
    ///
    /// # Errors
    /// When it fails, and when the run was asked to end.
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop>;

    /// Entries read by the last [`Call::ReadDir`]; none at the end of the directory.
    fn entries(&self) -> DirEntries<'_>;

    /// Requests completed by the last [`Call::Reap`].
    fn reaped(&self) -> &[Completion];

    /// Start and end of the last call in nanoseconds since the start of the trial, if the call was
    /// timed.
    fn timed(&self) -> Option<(u64, u64)>;

    /// Start of the task, in nanoseconds since the start of the trial.
    fn began_ns(&self) -> u64;

    /// True if calls reach the kernel, so that a task may write its own records beside them; false
    /// in memory.
    fn reaches_kernel(&self) -> bool {
        false
    }

    /// Resource usage of the task so far; zero if unknown.
    fn spent(&self) -> TaskUsage {
        TaskUsage::default()
    }
}

/// Resource usage of a task besides time and CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
    /// Page faults that needed a read from disk.
    pub major_faults: u64,
    /// Page faults that needed no read.
    pub minor_faults: u64,
}

/// CPU time and other resource usage of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskUsage {
    /// CPU time.
    pub cpu: CpuTime,
    /// Everything else.
    pub usage: ResourceUsage,
}

/// Conversion of expected call failures to values.
pub trait ExpectedErrors<T>: Sized {
    /// `None` if the name exists already (`EEXIST`).
    ///
    /// # Errors
    /// All other failures.
    fn unless_existing(self) -> Result<Option<T>, Stop>;

    /// `None` if the name does not exist (`ENOENT`).
    ///
    /// # Errors
    /// All other failures.
    fn unless_missing(self) -> Result<Option<T>, Stop>;

    /// `None` if the file does not take such a request (`EINVAL`), as with direct I/O of odd sizes.
    ///
    /// # Errors
    /// All other failures.
    fn unless_refused(self) -> Result<Option<T>, Stop>;

    /// `Err` with the bytes that fitted if the filesystem is full (`ENOSPC`, `EDQUOT`).
    ///
    /// # Errors
    /// All other failures.
    fn unless_full(self) -> Result<Result<T, u64>, Stop>;

    /// Returns every error of the filesystem as an errno. Limits on open files are not errors of
    /// the filesystem.
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE`, and when the run was asked to end.
    fn or_errno(self) -> Result<Result<T, Errno>, Stop>;
}

impl<T> ExpectedErrors<T> for Result<T, Stop> {
    fn unless_existing(self) -> Result<Option<T>, Stop> {
        self.map(Some).or_else(|stop| stop.one_of(&[Errno::EXIST]).map(|_| None))
    }

    fn unless_missing(self) -> Result<Option<T>, Stop> {
        self.map(Some).or_else(|stop| stop.one_of(&[Errno::NOENT]).map(|_| None))
    }

    fn unless_refused(self) -> Result<Option<T>, Stop> {
        self.map(Some).or_else(|stop| stop.one_of(&[Errno::INVAL]).map(|_| None))
    }

    fn unless_full(self) -> Result<Result<T, u64>, Stop> {
        let full = [Errno::NOSPC, Errno::DQUOT];
        self.map(Ok).or_else(|stop| stop.one_of(&full).map(|error| Err(error.bytes)))
    }

    fn or_errno(self) -> Result<Result<T, Errno>, Stop> {
        match self {
            Ok(value) => Ok(Ok(value)),
            Err(Stop::Failed(CallError { errno, .. }))
                if !matches!(errno, Errno::MFILE | Errno::NFILE) =>
            {
                Ok(Err(errno))
            }
            Err(stop) => Err(stop),
        }
    }
}

/// Methods for calls without a result.
macro_rules! plain {
    ($($(#[$doc:meta])* $method:ident($($name:ident: $kind:ty),*) $call:ident;)*) => {
        impl dyn Io + '_ {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// As [`Io::call`].
                #[inline]
                pub fn $method(&mut self, $($name: $kind),*) -> Result<(), Stop> {
                    self.call(&Call::$call { $($name),* }).map(|_done| ())
                }
            )*
        }
    };
}

plain! {
    /// Opens the directory `path` beneath another into a slot; a directory open in that slot is
    /// closed.
    open_dir(at: DirSlot, path: &CStr, into: DirSlot) OpenDir;
    /// Opens one of the root directories at which workers take turns; 0 is the first.
    open_root(root: u16, into: DirSlot) OpenRoot;
    /// Closes a directory.
    close_dir(dir: DirSlot) CloseDir;
    /// `mkdir`.
    make_dir(at: DirSlot, name: &CStr) MakeDir;
    /// `mkdir` with mode 0700.
    make_private_dir(at: DirSlot, name: &CStr) MakePrivateDir;
    /// `mkdir` of an open directory by the name `.`, which always exists.
    make_existing_dir(dir: DirSlot) MakeAgain;
    /// `rmdir`.
    remove_dir(at: DirSlot, name: &CStr) RemoveDir;
    /// Creates a file and opens it into a slot.
    create(at: DirSlot, path: &CStr, how: CreateHow, into: FileSlot) Create;
    /// `mknod` of an empty file with mode 0400.
    make_node(at: DirSlot, name: &CStr) MakeNode;
    /// Opens an existing file into a slot.
    open(at: DirSlot, path: &CStr, how: OpenHow, into: FileSlot) Open;
    /// `lseek` from the start.
    seek(file: FileSlot, position: u64) Seek;
    /// `ftruncate`.
    truncate(file: FileSlot, bytes: u64) Truncate;
    /// `fsync`.
    fsync(file: FileSlot) Fsync;
    /// `fdatasync`.
    data_sync(file: FileSlot) DataSync;
    /// `sync_file_range`.
    sync_range(file: FileSlot, start: u64, bytes: u64, flags: u32) SyncRange;
    /// `posix_fadvise(DONTNEED)` of a range; 0 bytes extend to the end of the file.
    forget(file: FileSlot, start: u64, bytes: u64) Forget;
    /// `posix_fadvise(RANDOM)` or `SEQUENTIAL` of a range; 0 bytes extend to the end of the file.
    advise(file: FileSlot, start: u64, bytes: u64, random: bool) Advise;
    /// `fallocate`.
    allocate(file: FileSlot, start: u64, bytes: u64, keep_size: bool) Allocate;
    /// `fallocate(PUNCH_HOLE)`.
    punch(file: FileSlot, start: u64, bytes: u64) Punch;
    /// `FICLONE`: makes `into` a copy of `from` that shares its blocks.
    reflink(from: FileSlot, into: FileSlot) Reflink;
    /// `FITRIM` of the first bytes of the filesystem.
    trim(dir: DirSlot, bytes: u64) Trim;
    /// Gives a file other blocks, in fewer extents, if there are any near the directory.
    defragment(file: FileSlot, at: DirSlot) Defragment;
    /// Writes the data of chunks of btrfs that are filled less than a percentage anew.
    balance(dir: DirSlot, percent: u64) Balance;
    /// Makes a subvolume.
    make_subvolume(at: DirSlot, name: &CStr) MakeSubvolume;
    /// Makes a snapshot of a subvolume.
    snapshot(of: DirSlot, at: DirSlot, name: &CStr) Snapshot;
    /// Destroys a subvolume with all that is in it.
    destroy_subvolume(at: DirSlot, name: &CStr) DestroySubvolume;
    /// `mmap` of a file, until it is closed.
    map(file: FileSlot, bytes: u64, writes: bool, random: bool) Map;
    /// `msync` of a mapped file.
    sync_mapped(file: FileSlot) SyncMapped;
    /// `fsync` or `fdatasync` of a directory.
    sync_dir(dir: DirSlot, data_only: bool) SyncDir;
    /// `fcntl(F_SETLKW)` for writing, or unlocking.
    lock(file: FileSlot, start: u64, bytes: u64, locks: bool) Lock;
    /// `close`.
    close(file: FileSlot) Close;
    /// `unlink`.
    unlink(at: DirSlot, path: &CStr) Unlink;
    /// `rename`.
    rename(at: DirSlot, from: &CStr, to_at: DirSlot, to: &CStr) Rename;
    /// `link`.
    link(at: DirSlot, from: &CStr, to_at: DirSlot, to: &CStr) Link;
    /// `symlink`; the link is never followed.
    symlink(at: DirSlot, name: &CStr, target: &CStr) Symlink;
    /// `lstat`.
    stat(at: DirSlot, name: &CStr) Stat;
    /// Sets the times of a name: access to 10 seconds ago, modification to 12.
    set_times(at: DirSlot, name: &CStr) SetTimes;
    /// `syncfs` of the target, or `sync` of the machine.
    sync(scope: SyncScope) Sync;
    /// Sleeps for `ns` nanoseconds. Long sleeps must be divided, since a sleep is not interrupted.
    pause(ns: u64) Pause;
    /// Waits until another thread raises the signal, for at most `ns` nanoseconds; returns at once
    /// if its count is not `seen`.
    wait_for(signal: &WakeSignal, seen: u64, ns: u64) Await;
}

/// Methods for calls that return a number of bytes.
macro_rules! moving {
    ($($(#[$doc:meta])* $method:ident($($name:ident: $kind:ty),*) $call:ident;)*) => {
        impl dyn Io + '_ {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// As [`Io::call`].
                #[inline]
                pub fn $method(&mut self, $($name: $kind),*) -> Result<u64, Stop> {
                    let done = self.call(&Call::$call { $($name),* })?;
                    Ok(match done {
                        CallResult::Bytes(bytes) | CallResult::Size(bytes) => bytes,
                        _ => 0,
                    })
                }
            )*
        }
    };
}

moving! {
    /// `read`: bytes read, 0 at the end.
    read(file: FileSlot, bytes: u32) Read;
    /// `write` of payload; `position` selects the payload.
    write(file: FileSlot, bytes: u32, position: u64) Write;
    /// `pread`: bytes read, 0 at the end.
    read_at(file: FileSlot, bytes: u32, position: u64) ReadAt;
    /// `pwrite` of payload.
    write_at(file: FileSlot, bytes: u32, position: u64) WriteAt;
    /// `bytes` reads of one byte each: returns the bytes read, fewer at the end.
    read_each(file: FileSlot, bytes: u32) ReadEach;
    /// `write` of one byte, `bytes` times.
    write_each(file: FileSlot, bytes: u32, position: u64) WriteEach;
    /// `lseek` to the end: the position.
    seek_end(file: FileSlot) SeekEnd;
    /// `pread` from a file and `pwrite` to the same place of another: bytes copied, 0 at the end.
    copy(from: FileSlot, into: FileSlot, bytes: u32, position: u64) Copy;
    /// `FIDEDUPERANGE`: bytes that the files share then, 0 if they differ.
    dedupe(from: FileSlot, into: FileSlot, start: u64, bytes: u64) Dedupe;
    /// Reads from a mapped file.
    read_mapped(file: FileSlot, bytes: u32, position: u64) ReadMapped;
    /// Writes to a mapped file.
    write_mapped(file: FileSlot, bytes: u32, position: u64) WriteMapped;
    /// `lstat` for the size of a file; 0 for other file types.
    size(at: DirSlot, name: &CStr) Size;
    /// `fstat` for the size of a file.
    file_size(file: FileSlot) FileStat;
    /// `lgetxattr` of `user.DosAttrib`; returns its length in bytes.
    get_xattr(at: DirSlot, name: &CStr) GetXattr;
    /// `fgetxattr` of `user.DosAttrib`; returns its length in bytes.
    get_file_xattr(file: FileSlot) GetFileXattr;
    /// `fsetxattr` of `user.DosAttrib` to this many bytes of payload.
    set_file_xattr(file: FileSlot, bytes: u32, position: u64) SetFileXattr;
}

impl dyn Io + '_ {
    /// `getdents`: the next batch of a directory's entries, none at the end.
    ///
    /// # Errors
    /// As [`Io::call`].
    pub fn read_dir(&mut self, dir: DirSlot) -> Result<DirEntries<'_>, Stop> {
        self.call(&Call::ReadDir { dir })?;
        Ok(self.entries())
    }

    /// `fstatfs`: space of the filesystem that contains an open directory.
    ///
    /// # Errors
    /// As [`Io::call`].
    pub fn room(&mut self, dir: DirSlot) -> Result<StatfsSpace, Stop> {
        let done = self.call(&Call::Statfs { dir })?;
        Ok(if let CallResult::Room(room) = done { room } else { StatfsSpace::default() })
    }

    /// Submits requests to the queue of the task; returns how many, from the first on, were
    /// accepted.
    ///
    /// # Errors
    /// As [`Io::call`].
    pub fn submit(&mut self, requests: &[AsyncRequest]) -> Result<u32, Stop> {
        let done = self.call(&Call::Submit { requests })?;
        Ok(if let CallResult::Taken(taken) = done { taken } else { 0 })
    }

    /// Waits for at least `least` requests to complete, capped at the number in flight.
    ///
    /// # Errors
    /// As [`Io::call`].
    pub fn reap(&mut self, least: u16) -> Result<&[Completion], Stop> {
        self.call(&Call::Reap { least })?;
        Ok(self.reaped())
    }
}
