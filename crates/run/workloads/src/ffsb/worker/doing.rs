//! A step without borrowed names, and the step of it.

use std::time::Duration;

use treering_script::{Call, CreateHow, Dir, OpenHow, Step};

use super::{FILE, Worker};

/// A step, without borrowed names: what fits in a register, names and places are the worker's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    OpenRoot(u16, Dir),
    /// The directory whose name is in hand.
    OpenDir(Dir, Dir),
    /// So many bytes,
    Read(u32),
    /// or so many, at the present position.
    Write(u32),
    /// To the present position.
    Seek,
    Fsync,
    Close,
    Statfs(Dir),
    /// So many microseconds.
    Pause(u32),
    Stat(Dir),
    Open(Dir, OpenHow),
    Create(Dir),
    Unlink(Dir),
    MakeDir(Dir),
    RemoveDir(Dir),
    Rename(Dir),
}

impl Worker {
    #[inline]
    pub(super) fn step(&self, doing: Doing) -> Step<'_> {
        let name = || self.name.as_c_str();
        match doing {
            Doing::OpenRoot(root, into) => Call::OpenRoot { root, into },
            Doing::OpenDir(at, into) => Call::OpenDir { at, path: name(), into },
            Doing::Read(bytes) => Call::Read { file: FILE, bytes },
            Doing::Write(bytes) => {
                Call::Write { file: FILE, bytes, position: self.present.position }
            }
            Doing::Seek => Call::Seek { file: FILE, position: self.present.position },
            Doing::Fsync => Call::Fsync { file: FILE },
            Doing::Close => Call::Close { file: FILE },
            Doing::Statfs(dir) => Call::Statfs { dir },
            Doing::Pause(us) => Call::Pause { ns: u64::from(us) * 1000 },
            Doing::Stat(at) => Call::Stat { at, name: name() },
            Doing::Open(at, how) => Call::Open { at, path: name(), how, into: FILE },
            Doing::Create(at) => {
                Call::Create { at, path: name(), how: CreateHow::TruncateToRead, into: FILE }
            }
            Doing::Unlink(at) => Call::Unlink { at, path: name() },
            Doing::MakeDir(at) => Call::MakeDir { at, name: name() },
            Doing::RemoveDir(at) => Call::RemoveDir { at, name: name() },
            Doing::Rename(at) => {
                Call::Rename { at, from: name(), to_at: at, to: self.other_name.as_c_str() }
            }
        }
        .into()
    }
}

/// A wait.
pub(super) fn pause(time: Duration) -> Doing {
    Doing::Pause(u32::try_from(time.as_micros()).unwrap_or(u32::MAX))
}
