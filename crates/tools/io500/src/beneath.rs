//! Wrapper that runs a script in a directory beneath the target, as if that were the target.

use std::ffi::CString;

use treering_model::Counters;
use treering_script::{
    Call, CallResult, Completion, DirEntries, DirSlot, Io, MAX_DIRS, ResourceUsage, Script, Stop,
    SyncScope, TaskUsage,
};

/// Slot of the directory: the last one, which no test uses.
const TOP: DirSlot = DirSlot(MAX_DIRS - 1);

/// Script that works in a directory.
pub(super) struct DirectoryScript {
    pub(super) directory: CString,
    pub(super) inner: Box<dyn Script>,
    /// Sync the filesystem at the end, within the time of the task.
    pub(super) syncs: bool,
}

/// Calls redirected to a directory beneath the target.
struct RedirectedIo<'i> {
    io: &'i mut dyn Io,
}

/// Directory slot in the real target that corresponds to `at`.
fn redirected_slot(at: DirSlot) -> DirSlot {
    if at == DirSlot::TARGET { TOP } else { at }
}

impl Io for RedirectedIo<'_> {
    #[inline]
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        let call = match *call {
            Call::OpenDir { at, path, into } => {
                Call::OpenDir { at: redirected_slot(at), path, into }
            }
            Call::MakeDir { at, name } => Call::MakeDir { at: redirected_slot(at), name },
            Call::MakePrivateDir { at, name } => {
                Call::MakePrivateDir { at: redirected_slot(at), name }
            }
            Call::RemoveDir { at, name } => Call::RemoveDir { at: redirected_slot(at), name },
            Call::Create { at, path, how, into } => {
                Call::Create { at: redirected_slot(at), path, how, into }
            }
            Call::Open { at, path, how, into } => {
                Call::Open { at: redirected_slot(at), path, how, into }
            }
            Call::Unlink { at, path } => Call::Unlink { at: redirected_slot(at), path },
            Call::Stat { at, name } => Call::Stat { at: redirected_slot(at), name },
            Call::Size { at, name } => Call::Size { at: redirected_slot(at), name },
            Call::ReadDir { dir } => Call::ReadDir { dir: redirected_slot(dir) },
            // Other calls refer to files by slot, or to nothing.
            other => other,
        };
        self.io.call(&call)
    }

    fn entries(&self) -> DirEntries<'_> {
        self.io.entries()
    }

    fn reaped(&self) -> &[Completion] {
        self.io.reaped()
    }

    fn timed(&self) -> Option<(u64, u64)> {
        self.io.timed()
    }

    fn began_ns(&self) -> u64 {
        self.io.began_ns()
    }

    fn spent(&self) -> TaskUsage {
        self.io.spent()
    }
}

impl Script for DirectoryScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &self.directory, TOP)?;
        self.inner.run(&mut RedirectedIo { io })?;
        if self.syncs { io.sync(SyncScope::Target) } else { Ok(()) }
    }

    fn used(&mut self, usage: ResourceUsage) {
        self.inner.used(usage);
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }
}
