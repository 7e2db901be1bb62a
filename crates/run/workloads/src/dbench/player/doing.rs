//! A step without borrowed names, and the step of it.

use treering_script::{Call, CreateHow, Dir, File, OpenHow, Step};

use super::Player;
use super::places::DirId;

/// A step: names are those of the present operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    /// The directory under test, anew.
    OpenTop(Dir),
    OpenDir(DirId, Dir),
    /// A name as a directory.
    OpenSpot(Dir, usize, Dir),
    /// The entry in hand as a directory.
    OpenEntry(Dir, Dir),
    CloseDir(Dir),
    ReadDir(Dir),
    SyncDir(Dir),
    Stat(Dir, usize),
    StatEntry(Dir),
    GetXattr(Dir, usize),
    MakeDir(Dir, usize),
    RemoveDir(Dir, usize),
    Unlink(Dir, usize),
    UnlinkEntry(Dir),
    Rename(Dir, Dir),
    SetTimes(Dir, usize),
    Open(Dir, OpenHow, File),
    Create(Dir, CreateHow, File),
    Close(File),
    Read(File, u32, u64),
    Write(File, u32, u64),
    Truncate(File, u64),
    Fsync(File),
    FileStat(File),
    Lock(File, u32, u32, bool),
    GetFileXattr(File),
    /// The second is what tells the value.
    SetFileXattr(File, u64),
    Statfs(Dir),
    Pause(u64),
}

/// Bytes of the attribute.
const XATTR_BYTES: u32 = 44;

impl Player {
    #[inline]
    pub(super) fn step(&self, doing: Doing) -> Step<'_> {
        let places = &self.clients[self.present].places;
        let name = |which: usize| places.spot(self.named[which]).name.as_c_str();
        let entry = || self.deltree.entry.as_c_str();
        let at_target = |dir: DirId| (Dir::TARGET, places.dir_path(dir).as_c_str());
        match doing {
            Doing::OpenTop(into) => Call::OpenRoot { root: 0, into },
            Doing::OpenDir(dir, into) => {
                let (at, path) = at_target(dir);
                Call::OpenDir { at, path, into }
            }
            Doing::OpenSpot(at, which, into) => Call::OpenDir { at, path: name(which), into },
            Doing::OpenEntry(at, into) => Call::OpenDir { at, path: entry(), into },
            Doing::CloseDir(dir) => Call::CloseDir { dir },
            Doing::ReadDir(dir) => Call::ReadDir { dir },
            Doing::SyncDir(dir) => Call::SyncDir { dir, data_only: true },
            Doing::Stat(at, which) => Call::Stat { at, name: name(which) },
            Doing::StatEntry(at) => Call::Stat { at, name: entry() },
            Doing::GetXattr(at, which) => Call::GetXattr { at, name: name(which) },
            Doing::MakeDir(at, which) => Call::MakeDir { at, name: name(which) },
            Doing::RemoveDir(at, which) => Call::RemoveDir { at, name: name(which) },
            Doing::Unlink(at, which) => Call::Unlink { at, path: name(which) },
            Doing::UnlinkEntry(at) => Call::Unlink { at, path: entry() },
            Doing::Rename(at, to_at) => Call::Rename { at, from: name(0), to_at, to: name(1) },
            Doing::SetTimes(at, which) => Call::SetTimes { at, name: name(which) },
            Doing::Open(at, how, into) => Call::Open { at, path: name(0), how, into },
            Doing::Create(at, how, into) => Call::Create { at, path: name(0), how, into },
            Doing::Close(file) => Call::Close { file },
            Doing::Read(file, bytes, position) => Call::ReadAt { file, bytes, position },
            Doing::Write(file, bytes, position) => Call::WriteAt { file, bytes, position },
            Doing::Truncate(file, bytes) => Call::Truncate { file, bytes },
            Doing::Fsync(file) => Call::Fsync { file },
            Doing::FileStat(file) => Call::FileStat { file },
            Doing::Lock(file, start, bytes, locks) => {
                Call::Lock { file, start: start.into(), bytes: bytes.into(), locks }
            }
            Doing::GetFileXattr(file) => Call::GetFileXattr { file },
            Doing::SetFileXattr(file, position) => {
                Call::SetFileXattr { file, bytes: XATTR_BYTES, position }
            }
            Doing::Statfs(dir) => Call::Statfs { dir },
            Doing::Pause(ns) => Call::Pause { ns },
        }
        .whatever_happens()
    }
}
