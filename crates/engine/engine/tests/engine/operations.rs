//! Calls with owned names, for generated tests, and tasks of them.

use std::ffi::CString;

use treering_engine::StopFlag;
use treering_script::{
    Call, CreateHow, DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop, SyncScope,
};

/// Call with owned names; numbers are slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnedCall {
    OpenDir(u16, CString, u16),
    CloseDir(u16),
    ReadDir(u16),
    MakeDir(u16, CString),
    MakeAgain(u16),
    RemoveDir(u16, CString),
    Create(u16, CString, CreateHow, u16),
    Open(u16, CString, u16),
    OpenTo(OpenHow, u16, CString, u16),
    Read(u16, u32),
    Write(u16, u32, u64),
    ReadAt(u16, u32, u64),
    WriteAt(u16, u32, u64),
    ReadEach(u16, u32),
    WriteEach(u16, u32),
    FileStat(u16),
    SyncDir(u16, bool),
    SetTimes(u16, CString),
    MakeNode(u16, CString),
    Symlink(u16, CString),
    Link(u16, CString, u16, CString),
    Seek(u16, u64),
    Truncate(u16, u64),
    Fsync(u16),
    Close(u16),
    Unlink(u16, CString),
    Rename(u16, CString, u16, CString),
    Stat(u16, CString),
    Size(u16, CString),
    Sync,
}

impl OwnedCall {
    pub(crate) fn call(&self) -> Call<'_> {
        match self {
            Self::OpenDir(at, path, into) => {
                Call::OpenDir { at: DirSlot(*at), path, into: DirSlot(*into) }
            }
            Self::CloseDir(dir) => Call::CloseDir { dir: DirSlot(*dir) },
            Self::ReadDir(dir) => Call::ReadDir { dir: DirSlot(*dir) },
            Self::MakeDir(at, name) => Call::MakeDir { at: DirSlot(*at), name },
            Self::MakeAgain(dir) => Call::MakeAgain { dir: DirSlot(*dir) },
            Self::RemoveDir(at, name) => Call::RemoveDir { at: DirSlot(*at), name },
            Self::Create(at, path, how, into) => {
                Call::Create { at: DirSlot(*at), path, how: *how, into: FileSlot(*into) }
            }
            Self::Open(at, path, into) => {
                Call::Open { at: DirSlot(*at), path, how: OpenHow::Read, into: FileSlot(*into) }
            }
            Self::OpenTo(how, at, path, into) => {
                Call::Open { at: DirSlot(*at), path, how: *how, into: FileSlot(*into) }
            }
            Self::Read(file, bytes) => Call::Read { file: FileSlot(*file), bytes: *bytes },
            Self::Write(file, bytes, position) => {
                Call::Write { file: FileSlot(*file), bytes: *bytes, position: *position }
            }
            Self::Seek(file, position) => Call::Seek { file: FileSlot(*file), position: *position },
            Self::Truncate(file, bytes) => Call::Truncate { file: FileSlot(*file), bytes: *bytes },
            Self::Fsync(file) => Call::Fsync { file: FileSlot(*file) },
            Self::Close(file) => Call::Close { file: FileSlot(*file) },
            Self::Unlink(at, path) => Call::Unlink { at: DirSlot(*at), path },
            Self::Rename(at, from, to_at, to) => {
                Call::Rename { at: DirSlot(*at), from, to_at: DirSlot(*to_at), to }
            }
            Self::Link(at, from, to_at, to) => {
                Call::Link { at: DirSlot(*at), from, to_at: DirSlot(*to_at), to }
            }
            Self::MakeNode(at, name) => Call::MakeNode { at: DirSlot(*at), name },
            Self::Symlink(at, name) => Call::Symlink { at: DirSlot(*at), name, target: c"a/b" },
            Self::SetTimes(at, name) => Call::SetTimes { at: DirSlot(*at), name },
            Self::SyncDir(dir, data_only) => {
                Call::SyncDir { dir: DirSlot(*dir), data_only: *data_only }
            }
            Self::FileStat(file) => Call::FileStat { file: FileSlot(*file) },
            Self::ReadAt(file, bytes, position) => {
                Call::ReadAt { file: FileSlot(*file), bytes: *bytes, position: *position }
            }
            Self::WriteAt(file, bytes, position) => {
                Call::WriteAt { file: FileSlot(*file), bytes: *bytes, position: *position }
            }
            Self::ReadEach(file, bytes) => Call::ReadEach { file: FileSlot(*file), bytes: *bytes },
            Self::WriteEach(file, bytes) => {
                Call::WriteEach { file: FileSlot(*file), bytes: *bytes, position: 0 }
            }
            Self::Size(at, name) => Call::Size { at: DirSlot(*at), name },
            Self::Stat(at, name) => Call::Stat { at: DirSlot(*at), name },
            Self::Sync => Call::Sync { scope: SyncScope::Target },
        }
    }
}

/// A name, for operations.
pub(crate) fn name(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// Steps that make a directory with `files` files of `bytes` bytes, and sync.
pub(crate) fn make_tree(tree: &str, files: u32, bytes: u32) -> Vec<OwnedCall> {
    let mut operations =
        vec![OwnedCall::MakeDir(0, name(tree)), OwnedCall::OpenDir(0, name(tree), 1)];
    for number in 0..files {
        operations.push(OwnedCall::Create(
            1,
            name(&format!("file-{number}")),
            CreateHow::Exclusive,
            0,
        ));
        operations.push(OwnedCall::Write(0, bytes, 0));
        operations.push(OwnedCall::Close(0));
    }
    operations.extend([OwnedCall::CloseDir(1), OwnedCall::Sync]);
    operations
}

/// Script that runs operations repeatedly.
pub(crate) struct OperationScript {
    operations: Vec<OwnedCall>,
    rounds: usize,
}

impl OperationScript {
    pub(crate) fn new(operations: Vec<OwnedCall>, rounds: usize) -> Self {
        Self { operations, rounds }
    }
}

impl Script for OperationScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for _round in 0..self.rounds {
            for operation in &self.operations {
                io.call(&operation.call())?;
            }
        }
        Ok(())
    }
}

/// Endless script that raises a flag before its hundredth call, as a signal would; that call must
/// not be made.
pub(crate) struct FlagRaisingScript {
    pub(crate) stop: StopFlag,
    pub(crate) signal: i32,
    pub(crate) calls: u32,
}

impl Script for FlagRaisingScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        loop {
            self.calls += 1;
            if self.calls == 100 {
                self.stop.raise(self.signal);
            }
            io.stat(DirSlot::TARGET, c"nothing").unless_missing()?;
        }
    }
}

/// Script that panics before its first call.
pub(crate) struct PanickingScript;

impl Script for PanickingScript {
    fn run(&mut self, _io: &mut dyn Io) -> Result<(), Stop> {
        panic!("a defect, for the test")
    }
}
