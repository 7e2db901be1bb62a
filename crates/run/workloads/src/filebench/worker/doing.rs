//! What a worker asks for, and the call that asks for it.

use treering_script::{Call, CreateHow, File, OpenHow, Step};

use super::super::land::Gate;
use super::super::names::Name;
use super::Worker;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Nothing,
    OpenAbove(usize),
    OpenRoot(usize),
    /// The directory of the file in hand, into its slot.
    OpenDir {
        fileset: usize,
        dir: u32,
    },
    /// A directory on the way to it that is missing, and then into it.
    MakeAbove {
        fileset: usize,
        dir: u32,
        level: usize,
    },
    EnterAbove {
        fileset: usize,
        dir: u32,
        level: usize,
    },
    Open,
    Create,
    NoReadahead,
    Close,
    Unlink,
    Stat,
    FileStat,
    Fsync(u8),
    MakeLeaf,
    RemoveLeaf,
    OpenList,
    List,
    CloseList,
    SeekStart,
    SeekEnd,
    Read,
    ReadAt,
    Write,
    WriteAt,
    Submit,
    Reap(u16),
    Pause(u64),
    Await {
        gate: usize,
        posted: bool,
        seen: u64,
    },
    AwaitEvent(u64),
}

impl Doing {
    /// Whether its time is that of the flowop.
    #[inline]
    pub(super) const fn belongs(self) -> bool {
        !matches!(
            self,
            Self::Nothing
                | Self::OpenAbove(_)
                | Self::OpenRoot(_)
                | Self::OpenDir { .. }
                | Self::MakeAbove { .. }
                | Self::EnterAbove { .. }
                | Self::NoReadahead
                | Self::Pause(0)
        )
    }
}

fn bytes(wanted: u64) -> u32 {
    u32::try_from(wanted).unwrap_or(u32::MAX)
}

impl Worker {
    /// The call.
    #[inline]
    pub(super) fn step(&mut self) -> Step<'_> {
        let present = self.present;
        let file = File(present.fd.into());
        let land = &self.land;
        match self.doing {
            Doing::Open => {
                let plan = &land.filesets[present.fileset].plan;
                let how = match (plan.readonly, plan.writeonly) {
                    (true, _) => OpenHow::Read,
                    (false, true) => OpenHow::Write,
                    (false, false) => OpenHow::ReadWrite,
                };
                let (at, path) = (self.slots.at, self.name.as_c_str());
                Call::Open { at, path, how, into: file }.into()
            }
            Doing::Create => {
                let (at, path) = (self.slots.at, self.name.as_c_str());
                Call::Create { at, path, how: CreateHow::OrOpen, into: file }.into()
            }
            Doing::Close => Call::Close { file }.into(),
            Doing::Read => Call::Read { file, bytes: bytes(present.piece) }.into(),
            Doing::Write => {
                let (bytes, position) = (bytes(present.piece), present.position);
                Call::Write { file, bytes, position }.into()
            }
            Doing::ReadAt => {
                let (bytes, position) = (bytes(present.piece), present.position);
                Call::ReadAt { file, bytes, position }.into()
            }
            Doing::WriteAt => {
                let (bytes, position) = (bytes(present.piece), present.position);
                Call::WriteAt { file, bytes, position }.into()
            }
            Doing::SeekStart => Call::Seek { file, position: 0 }.into(),
            Doing::SeekEnd => Call::SeekEnd { file }.into(),
            Doing::Fsync(fd) => Call::Fsync { file: File(fd.into()) }.into(),
            Doing::Unlink => Call::Unlink { at: self.slots.at, path: self.name.as_c_str() }.into(),
            Doing::Stat => Call::Stat { at: self.slots.at, name: self.name.as_c_str() }.into(),
            Doing::FileStat => Call::FileStat { file }.into(),
            _ => self.seldom_step(),
        }
    }

    fn seldom_step(&mut self) -> Step<'_> {
        let Self { present, land, name, slots, request, doing, .. } = self;
        let file = File(present.fd.into());
        match *doing {
            Doing::OpenAbove(fileset) => match land.open_above(fileset) {
                Some(call) => call.into(),
                None => Call::Pause { ns: 0 }.into(),
            },
            Doing::OpenRoot(fileset) => land.open_root(fileset).into(),
            Doing::OpenDir { fileset, dir } => {
                let (at, into) = (land.root(fileset), slots.slot(land, fileset, dir));
                let open = Call::OpenDir { at, path: path(name), into };
                if land.filesets[fileset].plan.prealloc.is_none() {
                    open.unless_missing()
                } else {
                    open.into()
                }
            }
            Doing::MakeAbove { fileset, level, .. } => {
                let at = if level == 0 { land.root(fileset) } else { land.passing() };
                Call::MakeDir { at, name: path(name) }.unless_existing()
            }
            Doing::EnterAbove { fileset, level, .. } => {
                let at = if level == 0 { land.root(fileset) } else { land.passing() };
                Call::OpenDir { at, path: path(name), into: land.passing() }.into()
            }
            Doing::NoReadahead => Call::Advise { file, start: 0, bytes: 0, random: true }.into(),
            Doing::MakeLeaf => Call::MakeDir { at: slots.at, name: path(name) }.into(),
            Doing::RemoveLeaf => Call::RemoveDir { at: slots.at, name: path(name) }.into(),
            Doing::OpenList => {
                let fileset = present.fileset;
                let into = land.passing();
                if present.entry == super::super::tree::ROOT {
                    let path = land.filesets[fileset].name.as_c_str();
                    Call::OpenDir { at: land.above(fileset), path, into }.unless_missing()
                } else {
                    let at = land.root(fileset);
                    Call::OpenDir { at, path: path(name), into }.unless_missing()
                }
            }
            Doing::List => Call::ReadDir { dir: land.passing() }.into(),
            Doing::CloseList => Call::CloseDir { dir: land.passing() }.into(),
            Doing::Submit => Call::Submit { requests: &request[..] }.into(),
            Doing::Reap(least) => Call::Reap { least }.into(),
            Doing::Pause(ns) => Call::Pause { ns }.into(),
            Doing::Await { gate, posted, seen } => {
                let Gate { was_posted, was_taken, .. } = &land.crew.gates[gate];
                let signal = if posted { was_posted } else { was_taken };
                Call::Await { signal, seen, ns: super::WAIT_NS }.into()
            }
            Doing::AwaitEvent(seen) => {
                let signal = &land.crew.event_came;
                Call::Await { signal, seen, ns: super::WAIT_NS }.into()
            }
            // All others were asked for before.
            _ => Call::Pause { ns: 0 }.into(),
        }
    }
}

fn path(name: &Name) -> &std::ffi::CStr {
    name.as_c_str()
}
