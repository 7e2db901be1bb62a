//! Steps: intended system calls, and what came of them.
//!
//! A step names directories and files by slots that the engine fills with descriptors, so that it
//! is plain data: no path is built, nothing is allocated, and the same steps run on a real
//! filesystem and on one in memory. All names are relative to a directory slot and stay beneath it.

use std::ffi::CStr;

use treering_model::Op;

use crate::Room;

/// Slot of an open directory. Slot 0 is the target itself and always open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dir(pub u16);

/// How many directory slots a worker has.
pub const MAX_DIRS: u16 = 1024;

impl Dir {
    /// The target.
    pub const TARGET: Self = Self(0);
}

/// Slot of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct File(pub u8);

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

/// What the step asks of the kernel.
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
    /// Reads the next batch of a directory's entries: [`Outcome::Entries`], empty at the end.
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
    /// Reads from the file's position: [`Outcome::Bytes`], 0 at the end.
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
    /// Reads at a place of its own: [`Outcome::Bytes`], 0 at the end.
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
    /// Reads bytes one by one at the file's position, a call each: [`Outcome::Bytes`], fewer at
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
    /// The same, to know its size: [`Outcome::Size`].
    Size {
        /// Where.
        at: Dir,
        /// Which.
        name: &'a CStr,
    },
    /// Reads the attributes of an open file, to know its size: [`Outcome::Size`].
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
    /// Reads the extended attribute `user.DosAttrib` of a name: [`Outcome::Bytes`].
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
        scope: super::SyncScope,
    },
    /// Opens one of the places at which the workers take turns, whosever turn it is; 0 is the
    /// first.
    OpenRoot {
        /// Which.
        root: u16,
        /// The slot that receives it.
        into: Dir,
    },
    /// Asks the filesystem of an open directory for its room: [`Outcome::Room`].
    Statfs {
        /// Which.
        dir: Dir,
    },
    /// Waits. A script that waits long does so in pieces, since nothing ends a piece early.
    Pause {
        /// So long.
        ns: u64,
    },
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
            Self::Sync { .. } | Self::OpenRoot { .. } | Self::Pause { .. } => {
                Subject::Directory(Dir::TARGET)
            }
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
            | Self::Seek { file, .. }
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
            Self::Read { .. } | Self::ReadAt { .. } | Self::ReadEach { .. } => Op::Read,
            Self::Write { .. } | Self::WriteAt { .. } | Self::WriteEach { .. } => Op::Write,
            Self::Truncate { .. } => Op::Truncate,
            Self::Close { .. } => Op::Close,
            Self::Unlink { .. } => Op::Unlink,
            Self::Stat { .. } | Self::Size { .. } | Self::FileStat { .. } => Op::Stat,
            Self::Sync { .. } => Op::Sync,
            Self::Fsync { .. } | Self::SyncDir { .. } => Op::Fsync,
            Self::Seek { .. } => Op::Seek,
            Self::Rename { .. } => Op::Rename,
            Self::Statfs { .. } => Op::Statfs,
            Self::Pause { .. } => Op::Pause,
            Self::Link { .. } => Op::Link,
            Self::Symlink { .. } => Op::Symlink,
            Self::SetTimes { .. } => Op::SetTimes,
            Self::Lock { .. } => Op::Lock,
            Self::GetXattr { .. } | Self::GetFileXattr { .. } => Op::GetXattr,
            Self::SetFileXattr { .. } => Op::SetXattr,
        }
    }
}

/// Which failures are expected and are told to the script instead of ending the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerate {
    /// None.
    Nothing,
    /// `EEXIST`: it is there already.
    Existing,
    /// `ENOENT`: it is not there.
    Missing,
    /// `ENOSPC` and `EDQUOT`: there is no room left.
    Full,
    /// `EEXIST`, and no room left.
    ExistingOrFull,
    /// Any, told as it is.
    Anything,
}

/// One intended operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is asked.
    pub call: Call<'a>,
    /// Which failure the script expects.
    pub tolerate: Tolerate,
}

impl<'a> From<Call<'a>> for Step<'a> {
    fn from(call: Call<'a>) -> Self {
        Self { call, tolerate: Tolerate::Nothing }
    }
}

impl<'a> Call<'a> {
    /// This call, with `EEXIST` told to the script.
    pub const fn unless_existing(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Existing }
    }

    /// This call, with a full filesystem told to the script.
    pub const fn unless_full(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Full }
    }

    /// This call, with `ENOENT` told to the script.
    pub const fn unless_missing(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Missing }
    }

    /// This call, with every failure told to the script.
    pub const fn whatever_happens(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Anything }
    }
}

/// What came of the step before.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// There was no step before.
    Start,
    /// It was done.
    Done,
    /// So many bytes were moved.
    Bytes(u64),
    /// It is there, and a file of so many bytes; 0 when it is none.
    Size(u64),
    /// The filesystem has this room.
    Room(Room),
    /// Directory entries, in the order of the filesystem, without `.` and `..`; empty at the end.
    Entries(Entries<'a>),
    /// It failed in the way the script said it would tolerate.
    Refused,
    /// It failed with this error number, and the script said that it would hear of any.
    Failed(i32),
    /// There was no room for it, which the script said it would tolerate; so many bytes were moved
    /// before.
    Full(u64),
}

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else; never followed.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// What it is.
    pub kind: EntryKind,
}

/// A batch of directory entries, in the engine's buffer.
///
/// The form of the buffer: for each entry one byte for the kind (0 file, 1 directory, 2 other),
/// then the name with its closing NUL.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    packed: &'a [u8],
}

impl<'a> Entries<'a> {
    /// Entries packed by [`Entries::pack`].
    pub const fn new(packed: &'a [u8]) -> Self {
        Self { packed }
    }

    /// Appends an entry to a buffer.
    pub fn pack(buffer: &mut Vec<u8>, kind: EntryKind, name: &CStr) {
        buffer.push(kind as u8);
        buffer.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Whether the directory has no more entries.
    pub const fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The packed bytes.
    pub const fn packed(&self) -> &'a [u8] {
        self.packed
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (&kind, rest) = self.packed.split_first()?;
        let name = CStr::from_bytes_until_nul(rest).ok()?;
        self.packed = &rest[name.to_bytes_with_nul().len()..];
        let kind = match kind {
            0 => EntryKind::File,
            1 => EntryKind::Directory,
            _ => EntryKind::Other,
        };
        Some(Entry { name, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, EntryKind};

    #[test]
    fn entries_are_unpacked_as_packed() {
        let mut buffer = Vec::new();
        Entries::pack(&mut buffer, EntryKind::Directory, c"drivers");
        Entries::pack(&mut buffer, EntryKind::File, c"Makefile");
        let got: Vec<_> = Entries::new(&buffer).map(|entry| (entry.kind, entry.name)).collect();
        assert_eq!(got, [(EntryKind::Directory, c"drivers"), (EntryKind::File, c"Makefile")]);
        assert!(Entries::new(&[]).is_empty());
    }
}
