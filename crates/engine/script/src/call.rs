//! Calls: requests of a task to the kernel, as plain data.
//!
//! A call names directories and files by slots that the engine fills with descriptors: no path is
//! built, nothing is allocated, and the same calls are made on a real filesystem and on one in
//! memory. All names are relative to a directory slot and stay beneath it.

use std::ffi::CStr;

use crate::WakeSignal;

mod subject;

pub use subject::CallSubject;

/// Scope of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// `syncfs`: the filesystem under test.
    Target,
    /// `sync`: every filesystem of the machine, as the classic tools do.
    Machine,
}

/// Slot of an open directory. Slot 0 is the target itself and always open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DirSlot(pub u16);

/// Number of directory slots of a worker.
pub const MAX_DIRS: u16 = 1024;

impl DirSlot {
    /// The target.
    pub const TARGET: Self = Self(0);
    /// No directory: files that are opened there, and their sizes, are those of block devices by
    /// whole paths. Nothing is ever made there.
    pub const DEVICES: Self = Self(u16::MAX);
}

/// Slot of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileSlot(pub u16);

/// Number of file slots of a worker.
pub const MAX_FILES: u16 = 16_384;

/// Flags for creating a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// `O_RDWR | O_CREAT | O_APPEND`: keeps existing content and appends to it.
    Append,
    /// `O_WRONLY | O_CREAT | O_TRUNC`: discards existing content.
    Truncate,
    /// `O_RDWR | O_CREAT | O_TRUNC`: as `Truncate`, also for reading.
    TruncateToRead,
    /// `O_WRONLY | O_CREAT | O_EXCL`: fails if the file exists.
    Exclusive,
    /// `O_RDWR | O_CREAT | O_EXCL`: as `Exclusive`, also for reading.
    ExclusiveToRead,
    /// `O_RDWR | O_CREAT`: keeps existing content.
    OrOpen,
}

/// Flags for opening an existing file.
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

/// Request of a task to the kernel.
///
/// `path` may have several components and is confined beneath `at` by the engine; `name` is always
/// one component. Neither is ever absolute or contains `.` or `..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// Opens the directory `path` into a slot.
    OpenDir {
        /// Directory that `path` is relative to.
        at: DirSlot,
        /// Path relative to `at`.
        path: &'a CStr,
        /// Slot that receives the descriptor; the engine closes a directory that is open in it.
        into: DirSlot,
    },
    /// Closes a directory.
    CloseDir {
        /// Slot of the open directory.
        dir: DirSlot,
    },
    /// Reads the next batch of a directory's entries: `Done::Entries`, empty at the end.
    ReadDir {
        /// Slot of the open directory.
        dir: DirSlot,
    },
    /// Makes a directory.
    MakeDir {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Makes a directory for its owner alone (mode 0700).
    MakePrivateDir {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Calls `mkdir` with the name `.` in an open directory, which always fails as existing.
    MakeAgain {
        /// Slot of the open directory.
        dir: DirSlot,
    },
    /// Removes an empty directory.
    RemoveDir {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Creates a file and opens it for writing.
    Create {
        /// Directory that `path` is relative to.
        at: DirSlot,
        /// Path relative to `at`.
        path: &'a CStr,
        /// Open flags.
        how: CreateHow,
        /// Slot that receives the descriptor.
        into: FileSlot,
    },
    /// Opens an existing file.
    Open {
        /// Directory that `path` is relative to.
        at: DirSlot,
        /// Path relative to `at`.
        path: &'a CStr,
        /// Open flags.
        how: OpenHow,
        /// Slot that receives the descriptor.
        into: FileSlot,
    },
    /// Reads from the file's position: `Done::Bytes`, 0 at the end.
    Read {
        /// Slot of the open file.
        file: FileSlot,
        /// Maximum number of bytes.
        bytes: u32,
    },
    /// Writes at the file's position (at its end when opened to append).
    Write {
        /// Slot of the open file.
        file: FileSlot,
        /// Bytes of payload to write.
        bytes: u32,
        /// Bytes written to this file so far; selects the payload.
        position: u64,
    },
    /// Reads at a given offset: `Done::Bytes`, 0 at the end.
    ReadAt {
        /// Slot of the open file.
        file: FileSlot,
        /// Maximum number of bytes.
        bytes: u32,
        /// Offset in the file.
        position: u64,
    },
    /// Writes at a given offset.
    WriteAt {
        /// Slot of the open file.
        file: FileSlot,
        /// Bytes of payload to write.
        bytes: u32,
        /// Offset in the file.
        position: u64,
    },
    /// Reads bytes one by one at the file's position, a call each: `Done::Bytes`, fewer at
    /// the end.
    ReadEach {
        /// Slot of the open file.
        file: FileSlot,
        /// Number of bytes.
        bytes: u32,
    },
    /// Writes bytes one by one at the file's position, a call each.
    WriteEach {
        /// Slot of the open file.
        file: FileSlot,
        /// Bytes of payload to write.
        bytes: u32,
        /// Bytes written to this file so far; selects the payload.
        position: u64,
    },
    /// Sets a file's position, from its start.
    Seek {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset in the file.
        position: u64,
    },
    /// Sets a file's position to its end: `Done::Size`, the position.
    SeekEnd {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Cuts or extends a file.
    Truncate {
        /// Slot of the open file.
        file: FileSlot,
        /// New size in bytes.
        bytes: u64,
    },
    /// Waits until a file is on disk.
    Fsync {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Waits until the data of a file are on disk.
    DataSync {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Starts or awaits the writeback of a range of a file: `sync_file_range`.
    SyncRange {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
        /// Flags of the system call: 1 waits before, 2 writes, 4 waits after.
        flags: u32,
    },
    /// Drops a range of a file from the page cache.
    Forget {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range; 0 extends to the end of the file.
        bytes: u64,
    },
    /// Advises the kernel how a range of a file will be read: in order, or at random offsets.
    Advise {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range; 0 extends to the end of the file.
        bytes: u64,
        /// True for random access, false for sequential.
        random: bool,
    },
    /// Allocates a part of a file.
    Allocate {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
        /// True keeps the file size; false extends the file to the end of the range.
        keep_size: bool,
    },
    /// Deallocates a range of a file, which then reads as zeros.
    Punch {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
    },
    /// Discards the free space in the first bytes of the filesystem.
    Trim {
        /// An open directory of the filesystem.
        dir: DirSlot,
        /// Length of the range from the beginning of the filesystem.
        bytes: u64,
    },
    /// Makes a file a copy of another that shares its blocks.
    Reflink {
        /// Slot of the original.
        from: FileSlot,
        /// Slot of the copy, open for writing.
        into: FileSlot,
    },
    /// Copies a piece of a file to the same place of another: `Done::Bytes`, 0 at the end.
    Copy {
        /// Slot of the original.
        from: FileSlot,
        /// Slot of the copy, open for writing.
        into: FileSlot,
        /// Maximum number of bytes.
        bytes: u32,
        /// Offset in both files.
        position: u64,
    },
    /// Lets two files share the blocks of a range if it is equal in both: `Done::Bytes`, 0 if it is
    /// not.
    Dedupe {
        /// Slot of the file whose blocks stay.
        from: FileSlot,
        /// Slot of the other file, open for writing.
        into: FileSlot,
        /// Offset of the range in both files.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
    },
    /// Gives a file other blocks, in fewer extents, if there are any.
    Defragment {
        /// Slot of the file, open for reading and writing.
        file: FileSlot,
        /// Directory near which new blocks are looked for.
        at: DirSlot,
    },
    /// Writes the data of chunks of btrfs anew.
    Balance {
        /// An open directory of the filesystem.
        dir: DirSlot,
        /// Chunks that are filled less than this percentage; 100 for all.
        percent: u64,
    },
    /// Makes a subvolume.
    MakeSubvolume {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Makes a snapshot of a subvolume.
    Snapshot {
        /// Slot of the subvolume.
        of: DirSlot,
        /// Parent directory of the snapshot.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Destroys a subvolume with all that is in it.
    DestroySubvolume {
        /// Parent directory.
        at: DirSlot,
        /// Name of the entry.
        name: &'a CStr,
    },
    /// Gives requests to the queue of the task: `Done::Taken`.
    Submit {
        /// Requests; no two in flight may have the same tag.
        requests: &'a [AsyncRequest],
    },
    /// Waits for requests to end: `Done::Reaped`.
    Reap {
        /// Minimum completions to wait for, capped at the number in flight.
        least: u16,
    },
    /// Maps a file into memory, until it is closed.
    Map {
        /// Slot of the open file.
        file: FileSlot,
        /// Length of the mapping in bytes.
        bytes: u64,
        /// True maps the file writable.
        writes: bool,
        /// True advises the kernel of random access, false of sequential access.
        random: bool,
    },
    /// Reads from a mapped file: `Done::Bytes`.
    ReadMapped {
        /// Slot of the open file.
        file: FileSlot,
        /// Number of bytes.
        bytes: u32,
        /// Offset in the file.
        position: u64,
    },
    /// Writes to a mapped file.
    WriteMapped {
        /// Slot of the open file.
        file: FileSlot,
        /// Bytes of payload to write.
        bytes: u32,
        /// Offset in the file.
        position: u64,
    },
    /// Waits until a mapped file is on disk.
    SyncMapped {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Waits until a directory is on disk.
    SyncDir {
        /// Slot of the open directory.
        dir: DirSlot,
        /// True calls `fdatasync` instead of `fsync`.
        data_only: bool,
    },
    /// Locks a part of a file for writing, or unlocks it; waits for others.
    Lock {
        /// Slot of the open file.
        file: FileSlot,
        /// Offset of the range.
        start: u64,
        /// Length of the range; 0 extends to the end of the file.
        bytes: u64,
        /// True locks the range, false unlocks it.
        locks: bool,
    },
    /// Closes a file.
    Close {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Removes a file.
    Unlink {
        /// Directory that `path` is relative to.
        at: DirSlot,
        /// Path relative to `at`.
        path: &'a CStr,
    },
    /// Gives an entry another name, perhaps in another directory.
    Rename {
        /// Parent directory.
        at: DirSlot,
        /// Current name.
        from: &'a CStr,
        /// Parent directory of the new name.
        to_at: DirSlot,
        /// New name.
        to: &'a CStr,
    },
    /// Creates a hard link.
    Link {
        /// Parent directory.
        at: DirSlot,
        /// Current name.
        from: &'a CStr,
        /// Parent directory of the new name.
        to_at: DirSlot,
        /// Additional name.
        to: &'a CStr,
    },
    /// Makes an empty file that only its owner may read (mode 0400), without opening it.
    MakeNode {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
    },
    /// Makes a symbolic link.
    Symlink {
        /// Parent directory.
        at: DirSlot,
        /// Name of the new entry.
        name: &'a CStr,
        /// Text of the link; it is never followed.
        target: &'a CStr,
    },
    /// Reads the attributes of a name without following it.
    Stat {
        /// Parent directory.
        at: DirSlot,
        /// Name of the entry.
        name: &'a CStr,
    },
    /// Reads the size of a file by its name: `Done::Size`.
    Size {
        /// Parent directory.
        at: DirSlot,
        /// Name of the entry.
        name: &'a CStr,
    },
    /// Reads the attributes of an open file, to know its size: `Done::Size`.
    FileStat {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Sets the times of a name: access to 10 seconds ago, modification to 12.
    SetTimes {
        /// Parent directory.
        at: DirSlot,
        /// Name of the entry.
        name: &'a CStr,
    },
    /// Reads the extended attribute `user.DosAttrib` of a name: `Done::Bytes`.
    GetXattr {
        /// Parent directory.
        at: DirSlot,
        /// Name of the entry.
        name: &'a CStr,
    },
    /// Reads the extended attribute `user.DosAttrib` of an open file: `Done::Bytes`.
    GetFileXattr {
        /// Slot of the open file.
        file: FileSlot,
    },
    /// Sets the extended attribute `user.DosAttrib` of an open file.
    SetFileXattr {
        /// Slot of the open file.
        file: FileSlot,
        /// Length of the value in bytes of payload.
        bytes: u32,
        /// Selects the payload.
        position: u64,
    },
    /// Waits until everything is on disk.
    Sync {
        /// Filesystems to sync.
        scope: SyncScope,
    },
    /// Opens one of the root directories at which workers take turns; 0 is the first.
    OpenRoot {
        /// Number of the root directory.
        root: u16,
        /// Slot that receives the descriptor.
        into: DirSlot,
    },
    /// Queries the space of an open directory's filesystem: `Done::Room`.
    Statfs {
        /// Slot of the open directory.
        dir: DirSlot,
    },
    /// Waits. A script that waits long does so in pieces, since nothing ends a piece early.
    Pause {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// Waits for another thread. As with a pause nothing else ends it early.
    Await {
        /// Signal that the other thread raises.
        signal: &'a WakeSignal,
        /// Last count seen; the wait ends when the count differs.
        seen: u64,
        /// Timeout in nanoseconds.
        ns: u64,
    },
}

/// A read or write that a queue carries out while the script goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncRequest {
    /// Slot of the open file.
    pub file: FileSlot,
    /// True writes, false reads.
    pub writes: bool,
    /// Length of the range in bytes.
    pub bytes: u32,
    /// Offset in the file.
    pub position: u64,
    /// Tag that identifies the request, below the depth of the queue.
    pub tag: u16,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Tag of the request.
    pub tag: u16,
    /// Bytes moved, or the errno of a failed request.
    pub result: Result<u32, i32>,
}
