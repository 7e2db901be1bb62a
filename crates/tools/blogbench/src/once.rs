//! Single calls before and after the benchmark.

use std::ffi::CString;

use treering_script::{DirSlot, Io, Script, Stop, SyncScope};

/// A task of one call.
#[derive(Debug)]
pub(super) enum SingleCallScript {
    /// Makes a directory below the target.
    MakeDir(CString),
    /// Syncs the filesystem or the machine.
    Sync(SyncScope),
}

impl Script for SingleCallScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        match self {
            Self::MakeDir(name) => io.make_dir(DirSlot::TARGET, name),
            Self::Sync(scope) => io.sync(*scope),
        }
    }
}
