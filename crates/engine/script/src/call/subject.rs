//! Object and kind of each call.

use std::ffi::CStr;

use treering_model::Op;

use super::{AsyncRequest, Call, DirSlot, FileSlot};

/// Object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSubject<'a> {
    /// A path or name beneath an open directory.
    Below(DirSlot, &'a CStr),
    /// An open directory.
    Directory(DirSlot),
    /// An open file.
    File(FileSlot),
}

impl<'a> Call<'a> {
    /// Object of the call, named in error messages; the target if the call has no other.
    pub const fn subject(&self) -> CallSubject<'a> {
        match *self {
            Self::OpenDir { at, path, .. }
            | Self::Create { at, path, .. }
            | Self::Open { at, path, .. }
            | Self::Unlink { at, path } => CallSubject::Below(at, path),
            Self::MakeDir { at, name }
            | Self::MakePrivateDir { at, name }
            | Self::MakeNode { at, name }
            | Self::RemoveDir { at, name }
            | Self::Rename { at, from: name, .. }
            | Self::Link { at, from: name, .. }
            | Self::Symlink { at, name, .. }
            | Self::SetTimes { at, name }
            | Self::GetXattr { at, name }
            | Self::MakeSubvolume { at, name }
            | Self::Snapshot { at, name, .. }
            | Self::DestroySubvolume { at, name }
            | Self::Size { at, name }
            | Self::Stat { at, name } => CallSubject::Below(at, name),
            Self::CloseDir { dir }
            | Self::ReadDir { dir }
            | Self::MakeAgain { dir }
            | Self::SyncDir { dir, .. }
            | Self::Trim { dir, .. }
            | Self::Balance { dir, .. }
            | Self::Statfs { dir } => CallSubject::Directory(dir),
            Self::Sync { .. }
            | Self::OpenRoot { .. }
            | Self::Pause { .. }
            | Self::Await { .. }
            | Self::Reap { .. }
            | Self::Submit { requests: &[] } => CallSubject::Directory(DirSlot::TARGET),
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
            | Self::Defragment { file, .. }
            | Self::Reflink { into: file, .. }
            | Self::Copy { into: file, .. }
            | Self::Dedupe { into: file, .. }
            | Self::Map { file, .. }
            | Self::ReadMapped { file, .. }
            | Self::WriteMapped { file, .. }
            | Self::SyncMapped { file }
            | Self::Submit { requests: &[AsyncRequest { file, .. }, ..] }
            | Self::Seek { file, .. }
            | Self::SeekEnd { file }
            | Self::Truncate { file, .. }
            | Self::Fsync { file }
            | Self::Close { file } => CallSubject::File(file),
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
            Self::MakeDir { .. } | Self::MakePrivateDir { .. } | Self::MakeAgain { .. } => {
                Op::MakeDir
            }
            Self::RemoveDir { .. } => Op::RemoveDir,
            Self::Create { .. } | Self::MakeNode { .. } => Op::Create,
            Self::Open { .. } => Op::Open,
            Self::Read { .. }
            | Self::ReadAt { .. }
            | Self::ReadEach { .. }
            | Self::ReadMapped { .. } => Op::Read,
            Self::Write { .. }
            | Self::WriteAt { .. }
            | Self::WriteEach { .. }
            | Self::Copy { .. }
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
            Self::Trim { .. } => Op::Trim,
            Self::Balance { .. } => Op::Balance,
            Self::Reflink { .. } => Op::Reflink,
            Self::Dedupe { .. } => Op::Dedupe,
            Self::Defragment { .. } => Op::Defragment,
            Self::MakeSubvolume { .. } | Self::Snapshot { .. } | Self::DestroySubvolume { .. } => {
                Op::Snapshot
            }
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
