//! A step without borrowed names, and the step of it.

use std::time::Duration;

use treering_script::{Call, CreateHow, Dir, OpenHow, Step};

use super::{FILE, Worker};

/// A step, without borrowed names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    OpenRoot(u16, Dir),
    /// The directory whose name is in hand.
    OpenDir(Dir, Dir),
    Plain(Call<'static>),
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
        let name = self.name.as_c_str();
        match doing {
            Doing::OpenRoot(root, into) => Call::OpenRoot { root, into },
            Doing::OpenDir(at, into) => Call::OpenDir { at, path: name, into },
            Doing::Plain(call) => call,
            Doing::Stat(at) => Call::Stat { at, name },
            Doing::Open(at, how) => Call::Open { at, path: name, how, into: FILE },
            Doing::Create(at) => {
                Call::Create { at, path: name, how: CreateHow::TruncateToRead, into: FILE }
            }
            Doing::Unlink(at) => Call::Unlink { at, path: name },
            Doing::MakeDir(at) => Call::MakeDir { at, name },
            Doing::RemoveDir(at) => Call::RemoveDir { at, name },
            Doing::Rename(at) => Call::Rename { at, from: name, to: self.other_name.as_c_str() },
        }
        .into()
    }
}

/// A wait.
pub(super) fn pause(time: Duration) -> Doing {
    Doing::Plain(Call::Pause { ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) })
}
