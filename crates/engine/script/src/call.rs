//! Calls: what a task asks of the kernel, as plain data.
//!
//! A call names directories and files by slots that the engine fills with descriptors: no path is
//! built, nothing is allocated, and the same calls are made on a real filesystem and on one in
//! memory. All names are relative to a directory slot and stay beneath it.

use std::ffi::CStr;

use treering_model::Op;

use crate::Signal;

/// How much a sync covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// `syncfs`: the filesystem under test.
    Target,
    /// `sync`: every filesystem of the machine, as the classic tools do.
    Machine,
}

/// Slot of an open directory. Slot 0 is the target itself and always open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dir(pub u16);

/// How many directory slots a worker has.
pub const MAX_DIRS: u16 = 1024;

impl Dir {
    /// The target.
    pub const TARGET: Self = Self(0);
}

/// Slot of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File(pub u16);

/// How many file slots a worker has.
pub const MAX_FILES: u16 = 4096;

/// How a file is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// `O_RDWR | O_CREAT | O_APPEND`: what is there stays and is appended to.
    Append,
    /// `O_WRONLY | O_CREAT | O_TRUNC`: what is there goes.
    Truncate,
    /// `O_RDWR | O_CREAT | O_TRUNC`: the same, to be read as well.
    TruncateToRead,
    /// `O_WRONLY | O_CREAT | O_EXCL`: it must not be there.
    Exclusive,
    /// `O_RDWR | O_CREAT | O_EXCL`: the same, to be read as well.
    ExclusiveToRead,
    /// `O_RDWR | O_CREAT`: what is there stays.
    OrOpen,
}

/// How a file that is there is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenHow {
    /// `O_RDONLY`.
    Read,
    /// `O_WRONLY`.
    Write,
    /// `O_WRONLY | O_APPEND`.
    Append,
    /// `O_RDWR`.
    ReadWrite,
    /// `O_RDONLY | O_DIRECTORY`: a directory, in the slot of a file.
    Directory,
}

/// What a task asks of the kernel.
///
/// `path` may have several components and is confined beneath `at` by the engine; `name` is always
/// one component. Neither is ever absolute or contains `.` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// Opens the directory `path` into a slot.
    OpenDir {
        /// From where.
        at: Dir,
        /// Which.
        path: &'a CStr,
        /// The slot that receives it; an open directory in it is closed by the engine.
        into: Dir,
    },
    /// Closes a directory.
    CloseDir {
        /// Which.
        dir: Dir,
    },
    /// Reads the next batch of a directory's entries: `Done::Entries`, empty at the end.
    ReadDir {
        /// Which.
        dir: Dir,
    },
    /// Makes a directory.
    MakeDir {
        /// Where.
        at: Dir,
        /// Its name.
        name: &'a CStr,
    },
    /// Asks to make an open directory once more, by the name `.`: always refused as existing.
    MakeAgain {
        /// Which.
        dir: Dir,
    },
    /// Removes an empty directory.
    RemoveDir {
        /// Where.
        at: Dir,
        /// Its name.
        name: &'a CStr,
    },
    /// Creates a file and opens it for writing.
    Create {
        /// From where.
        at: Dir,
        /// Which.
        path: &'a CStr,
        /// How.
        how: CreateHow,
        /// The slot that receives it.
        into: File,
    },
    /// Opens an existing file.
    Open {
        /// From where.
        at: Dir,
        /// Which.
        path: &'a CStr,
        /// How.
        how: OpenHow,
        /// The slot that receives it.
        into: File,
    },
    /// Reads from the file's position: `Done::Bytes`, 0 at the end.
    Read {
        /// Which.
        file: File,
        /// At most so many.
        bytes: u32,
    },
    /// Writes at the file's position (at its end when opened to append).
    Write {
        /// Which.
        file: File,
        /// So many bytes of payload.
        bytes: u32,
        /// How many bytes of this file were written before: tells which payload comes.
        position: u64,
    },
    /// Reads at a place of its own: `Done::Bytes`, 0 at the end.
    ReadAt {
        /// Which.
        file: File,
        /// At most so many.
        bytes: u32,
        /// From there.
        position: u64,
    },
    /// Writes at a place of its own.
    WriteAt {
        /// Which.
        file: File,
        /// So many bytes of payload.
        bytes: u32,
        /// To there.
        position: u64,
    },
    /// Reads bytes one by one at the file's position, a call each: `Done::Bytes`, fewer at
    /// the end.
    ReadEach {
        /// Which.
        file: File,
        /// So many.
        bytes: u32,
    },
    /// Writes bytes one by one at the file's position, a call each.
    WriteEach {
        /// Which.
        file: File,
        /// So many bytes of payload.
        bytes: u32,
        /// How many bytes of this file were written before: tells which payload comes.
        position: u64,
    },
    /// Sets a file's position, from its start.
    Seek {
        /// Which.
        file: File,
        /// To there.
        position: u64,
    },
    /// Sets a file's position to its end: `Done::Size`, the position.
    SeekEnd {
        /// Which.
        file: File,
    },
    /// Cuts or extends a file.
    Truncate {
        /// Which.
        file: File,
        /// To this size.
        bytes: u64,
    },
    /// Waits until a file is on disk.
    Fsync {
        /// Which.
        file: File,
    },
    /// Waits until the data of a file are on disk.
    DataSync {
        /// Which.
        file: File,
    },
    /// Begins to write a part of a file back, or waits for it: `sync_file_range`.
    SyncRange {
        /// Which.
        file: File,
        /// From there.
        start: u64,
        /// So much.
        bytes: u64,
        /// The flags of the system call: 1 waits before, 2 writes, 4 waits after.
        flags: u32,
    },
    /// Says that a part of a file will not be needed: it leaves the page cache.
    Forget {
        /// Which.
        file: File,
        /// From there.
        start: u64,
        /// So much; 0 for all behind.
        bytes: u64,
    },
    /// Says how a part of a file will be read: in order, or at random places.
    Advise {
        /// Which.
        file: File,
        /// From there.
        start: u64,
        /// So much; 0 for all behind.
        bytes: u64,
        /// Whether at random places.
        random: bool,
    },
    /// Allocates a part of a file.
    Allocate {
        /// Which.
        file: File,
        /// From there.
        start: u64,
        /// So many bytes.
        bytes: u64,
        /// Whether it keeps its size, and does not reach to their end.
        keep_size: bool,
    },
    /// Gives a part of a file back to the filesystem: it reads as zeros then.
    Punch {
        /// Of which.
        file: File,
        /// From there.
        start: u64,
        /// So many bytes.
        bytes: u64,
    },
    /// Gives requests to the queue of the task: `Done::Taken`.
    Submit {
        /// Which. No two that are under way have the same tag.
        requests: &'a [Request],
    },
    /// Waits for requests to end: `Done::Reaped`.
    Reap {
        /// At least so many, as far as so many are under way.
        least: u16,
    },
    /// Maps a file into memory, until it is closed.
    Map {
        /// Which.
        file: File,
        /// So many bytes of it.
        bytes: u64,
        /// Whether it will be written.
        writes: bool,
        /// Whether the kernel is told that its pages will be wanted in no order; else it is
        /// reported that they will be wanted in theirs.
        random: bool,
    },
    /// Reads from a mapped file: `Done::Bytes`.
    ReadMapped {
        /// Which.
        file: File,
        /// So many.
        bytes: u32,
        /// From there.
        position: u64,
    },
    /// Writes to a mapped file.
    WriteMapped {
        /// Which.
        file: File,
        /// So many bytes of payload.
        bytes: u32,
        /// To there.
        position: u64,
    },
    /// Waits until a mapped file is on disk.
    SyncMapped {
        /// Which.
        file: File,
    },
    /// Waits until a directory is on disk.
    SyncDir {
        /// Which.
        dir: Dir,
        /// Whether `fdatasync` does it, and not `fsync`.
        data_only: bool,
    },
    /// Locks a part of a file for writing, or unlocks it; waits for others.
    Lock {
        /// Which.
        file: File,
        /// From there.
        start: u64,
        /// So much; 0 for all behind.
        bytes: u64,
        /// Whether it locks.
        locks: bool,
    },
    /// Closes a file.
    Close {
        /// Which.
        file: File,
    },
    /// Removes a file.
    Unlink {
        /// From where.
        at: Dir,
        /// Which.
        path: &'a CStr,
    },
    /// Gives an entry another name, perhaps in another directory.
    Rename {
        /// Where.
        at: Dir,
        /// Its name.
        from: &'a CStr,
        /// To where.
        to_at: Dir,
        /// The new name.
        to: &'a CStr,
    },
    /// Gives a file one more name.
    Link {
        /// Where.
        at: Dir,
        /// Its name.
        from: &'a CStr,
        /// To where.
        to_at: Dir,
        /// The other name.
        to: &'a CStr,
    },
    /// Makes a symbolic link.
    Symlink {
        /// Where.
        at: Dir,
        /// Its name.
        name: &'a CStr,
        /// What it says, which nothing here ever follows.
        target: &'a CStr,
    },
    /// Reads the attributes of a name without following it.
    Stat {
        /// Where.
        at: Dir,
        /// Which.
        name: &'a CStr,
    },
    /// The same, to know its size: `Done::Size`.
    Size {
        /// Where.
        at: Dir,
        /// Which.
        name: &'a CStr,
    },
    /// Reads the attributes of an open file, to know its size: `Done::Size`.
    FileStat {
        /// Which.
        file: File,
    },
    /// Sets the times of a name: of access 10 seconds ago, of change 12.
    SetTimes {
        /// Where.
        at: Dir,
        /// Which.
        name: &'a CStr,
    },
    /// Reads the extended attribute `user.DosAttrib` of a name: `Done::Bytes`.
    GetXattr {
        /// Where.
        at: Dir,
        /// Which.
        name: &'a CStr,
    },
    /// The same of an open file.
    GetFileXattr {
        /// Which.
        file: File,
    },
    /// Sets the extended attribute `user.DosAttrib` of an open file.
    SetFileXattr {
        /// Which.
        file: File,
        /// Its value: so many bytes of payload.
        bytes: u32,
        /// Which payload.
        position: u64,
    },
    /// Waits until everything is on disk.
    Sync {
        /// How much of everything.
        scope: SyncScope,
    },
    /// Opens one of the places at which the workers take turns, whosever turn it is; 0 is the
    /// first.
    OpenRoot {
        /// Which.
        root: u16,
        /// The slot that receives it.
        into: Dir,
    },
    /// Asks the filesystem of an open directory for its room: `Done::Room`.
    Statfs {
        /// Which.
        dir: Dir,
    },
    /// Waits. A script that waits long does so in pieces, since nothing ends a piece early.
    Pause {
        /// So long.
        ns: u64,
    },
    /// Waits for another thread. As with a pause nothing else ends it early.
    Await {
        /// For what it raises.
        signal: &'a Signal,
        /// Unless its count is not this any more.
        seen: u64,
        /// At most so long.
        ns: u64,
    },
}

/// A read or write that a queue carries out while the script goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of which file.
    pub file: File,
    /// Whether it writes.
    pub writes: bool,
    /// So many bytes.
    pub bytes: u32,
    /// At this place.
    pub position: u64,
    /// By what it is known again, below the depth of the queue.
    pub tag: u16,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which.
    pub tag: u16,
    /// The bytes it moved, or the number of the error it failed with.
    pub result: Result<u32, i32>,
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A path or name beneath an open directory.
    Below(Dir, &'a CStr),
    /// An open directory.
    Directory(Dir),
    /// An open file.
    File(File),
}

impl<'a> Call<'a> {
    /// What it is about, to be named when it fails; the target where it is about nothing else.
    pub const fn subject(&self) -> Subject<'a> {
        match *self {
            Self::OpenDir { at, path, .. }
            | Self::Create { at, path, .. }
            | Self::Open { at, path, .. }
            | Self::Unlink { at, path } => Subject::Below(at, path),
            Self::MakeDir { at, name }
            | Self::RemoveDir { at, name }
            | Self::Rename { at, from: name, .. }
            | Self::Link { at, from: name, .. }
            | Self::Symlink { at, name, .. }
            | Self::SetTimes { at, name }
            | Self::GetXattr { at, name }
            | Self::Size { at, name }
            | Self::Stat { at, name } => Subject::Below(at, name),
            Self::CloseDir { dir }
            | Self::ReadDir { dir }
            | Self::MakeAgain { dir }
            | Self::SyncDir { dir, .. }
            | Self::Statfs { dir } => Subject::Directory(dir),
            Self::Sync { .. }
            | Self::OpenRoot { .. }
            | Self::Pause { .. }
            | Self::Await { .. }
            | Self::Reap { .. }
            | Self::Submit { requests: &[] } => Subject::Directory(Dir::TARGET),
            Self::Read { file, .. }
            | Self::Write { file, .. }
            | Self::ReadAt { file, .. }
            | Self::WriteAt { file, .. }
            | Self::ReadEach { file, .. }
            | Self::WriteEach { file, .. }
            | Self::FileStat { file }
            | Self::Lock { file, .. }
            | Self::GetFileXattr { file }
            | Self::SetFileXattr { file, .. }
            | Self::DataSync { file }
            | Self::SyncRange { file, .. }
            | Self::Forget { file, .. }
            | Self::Advise { file, .. }
            | Self::Allocate { file, .. }
            | Self::Punch { file, .. }
            | Self::Map { file, .. }
            | Self::ReadMapped { file, .. }
            | Self::WriteMapped { file, .. }
            | Self::SyncMapped { file }
            | Self::Submit { requests: &[Request { file, .. }, ..] }
            | Self::Seek { file, .. }
            | Self::SeekEnd { file }
            | Self::Truncate { file, .. }
            | Self::Fsync { file }
            | Self::Close { file } => Subject::File(file),
        }
    }
}

impl Call<'_> {
    /// The kind of operation this is.
    pub const fn op(&self) -> Op {
        match self {
            Self::OpenDir { .. } | Self::OpenRoot { .. } => Op::OpenDir,
            Self::CloseDir { .. } => Op::CloseDir,
            Self::ReadDir { .. } => Op::ReadDir,
            Self::MakeDir { .. } | Self::MakeAgain { .. } => Op::MakeDir,
            Self::RemoveDir { .. } => Op::RemoveDir,
            Self::Create { .. } => Op::Create,
            Self::Open { .. } => Op::Open,
            Self::Read { .. }
            | Self::ReadAt { .. }
            | Self::ReadEach { .. }
            | Self::ReadMapped { .. } => Op::Read,
            Self::Write { .. }
            | Self::WriteAt { .. }
            | Self::WriteEach { .. }
            | Self::WriteMapped { .. } => Op::Write,
            Self::Truncate { .. } => Op::Truncate,
            Self::Close { .. } => Op::Close,
            Self::Unlink { .. } => Op::Unlink,
            Self::Stat { .. } | Self::Size { .. } | Self::FileStat { .. } => Op::Stat,
            Self::Sync { .. } => Op::Sync,
            Self::Fsync { .. }
            | Self::DataSync { .. }
            | Self::SyncRange { .. }
            | Self::SyncMapped { .. }
            | Self::SyncDir { .. } => Op::Fsync,
            Self::Forget { .. } | Self::Advise { .. } => Op::Advise,
            Self::Allocate { .. } | Self::Punch { .. } => Op::Allocate,
            Self::Submit { .. } => Op::Submit,
            Self::Reap { .. } => Op::Reap,
            Self::Map { .. } => Op::Map,
            Self::Seek { .. } | Self::SeekEnd { .. } => Op::Seek,
            Self::Rename { .. } => Op::Rename,
            Self::Statfs { .. } => Op::Statfs,
            Self::Pause { .. } | Self::Await { .. } => Op::Pause,
            Self::Link { .. } => Op::Link,
            Self::Symlink { .. } => Op::Symlink,
            Self::SetTimes { .. } => Op::SetTimes,
            Self::Lock { .. } => Op::Lock,
            Self::GetXattr { .. } | Self::GetFileXattr { .. } => Op::GetXattr,
            Self::SetFileXattr { .. } => Op::SetXattr,
        }
    }
}
