//! Tests on the small files: create, stat and delete, in directory order or in random order.

mod create;
mod slots;
mod visit;

pub(super) use create::CreateScript;
pub(super) use visit::{FileOperation, VisitScript};

use super::asked::{FileKind, FilesShape};
use super::dice::RandomSource;
use super::names::FileNames;
use super::shape::{CopyLocation, ExtraFsync};
use treering_script::SyncScope;

/// Context of the small-file tests of a copy.
#[derive(Clone, Debug)]
pub(super) struct TestContext {
    pub(super) home: CopyLocation,
    pub(super) files: FilesShape,
    pub(super) source: RandomSource,
    pub(super) fsync: ExtraFsync,
    pub(super) sync: SyncScope,
    pub(super) all_timed: bool,
}

impl TestContext {
    fn names(&self, random: bool) -> FileNames {
        FileNames::new(self.source.dice(if random { "random names" } else { "names" }), random)
    }

    fn syncs(&self) -> bool {
        self.fsync >= ExtraFsync::Updates
    }

    /// True if the files have content to read.
    fn has_content(&self) -> bool {
        self.files.kind == FileKind::Regular && self.files.max_bytes > 0
    }
}
