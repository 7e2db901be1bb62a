//! The tests on many files: they are made, looked at and removed, in the order of the directory or
//! in a random one.

mod create;
mod slots;
mod visit;

pub(super) use create::Create;
pub(super) use visit::{Operation, Visit};

use super::asked::{FileKind, FilesShape};
use super::dice::Source;
use super::names::FileNames;
use super::shape::{Fsync, Home};
use treering_script::SyncScope;

/// What the tests of a copy have in common.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) home: Home,
    pub(super) files: FilesShape,
    pub(super) source: Source,
    pub(super) fsync: Fsync,
    pub(super) sync: SyncScope,
    pub(super) all_timed: bool,
}

impl Ground {
    fn names(&self, random: bool) -> FileNames {
        FileNames::new(self.source.dice(if random { "random names" } else { "names" }), random)
    }

    fn syncs(&self) -> bool {
        self.fsync >= Fsync::Updates
    }

    /// Whether files have content that is read.
    fn has_content(&self) -> bool {
        self.files.kind == FileKind::Regular && self.files.max_bytes > 0
    }
}
