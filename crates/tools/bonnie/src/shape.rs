//! Shape of a run, from either command line.

use std::ffi::CString;

use treering_script::{Credentials, DirSlot, Io, Stop, SyncScope};

use super::asked::{FilesShape, IoShape, RunParameters};
use super::dice::RandomSource;
use super::test::Test;

/// Fsync calls beyond the ends of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExtraFsync {
    /// No further fsync.
    Never,
    /// Fsync as with `-b` of the original: updates of the seeks, created files and their
    /// directories, directories of unlinks.
    Updates,
    /// Fsync as `Updates`, and after every write to the large file.
    Each,
}

/// Parameters of a run.
#[derive(Clone, Debug)]
pub(super) struct RunShape {
    pub(super) io: Option<IoShape>,
    pub(super) files: Option<FilesShape>,
    /// Tests in their order.
    pub(super) tests: Vec<Test>,
    /// Number of runs.
    pub(super) runs: u32,
    /// Number of concurrent copies.
    pub(super) copies: u16,
    pub(super) source: RandomSource,
    pub(super) fsync: ExtraFsync,
    pub(super) direct: bool,
    /// Scope of the sync after creates and deletes.
    pub(super) sync: SyncScope,
    /// True if caches are dropped before each test.
    pub(super) drop_caches: bool,
    pub(super) identity: Option<Credentials>,
}

impl RunShape {
    /// Parameters that the results are computed from.
    pub(super) fn parameters(&self) -> RunParameters {
        RunParameters { io: self.io, files: self.files, copies: self.copies }
    }

    /// Work of a test over all copies: bytes, seeks or files.
    pub(super) fn work(&self, test: Test) -> u64 {
        self.parameters().work(test)
    }

    /// Number of tasks of a test.
    pub(super) fn tasks(&self, test: Test) -> u32 {
        let seekers = self.io.filter(|_| test == Test::Seeks).map_or(1, |io| io.seekers);
        u32::from(self.copies).saturating_mul(u32::from(seekers.max(1)))
    }
}

/// Tests that have work to do, in their order.
pub(super) fn possible_tests(io: Option<IoShape>, files: Option<FilesShape>) -> Vec<Test> {
    let possible = |test: &Test| match io {
        _ if !test.is_io() => files.is_some(),
        Some(io) if test.is_per_char() => io.char_bytes > 0,
        Some(io) if *test == Test::Seeks => io.seeks > 0,
        io => io.is_some(),
    };
    Test::ALL.into_iter().filter(possible).collect()
}

/// Slot of a copy's own directory.
const ROOT: DirSlot = DirSlot(1);
/// Slot of the directory of the small files.
pub(super) const TOP: DirSlot = DirSlot(2);

/// Location of a copy's files.
#[derive(Clone, Debug)]
pub(super) struct CopyLocation {
    /// Directory of the copy, if it has one.
    pub(super) root: Option<CString>,
    /// Name of the large file, and of the directory of the small files.
    pub(super) name: CString,
}

impl CopyLocation {
    /// Location of a classic copy: directly in the user's directory.
    pub(super) fn classic(process: u32, copy: u16) -> Self {
        let name = match copy {
            0 => format!("Bonnie.{process}"),
            later => format!("Bonnie.{process}.{later}"),
        };
        Self { root: None, name: CString::new(name).unwrap_or_default() }
    }

    /// Location of a native copy: a directory of its own.
    pub(super) fn native(copy: u16) -> Self {
        let root = CString::new(root_name(copy)).unwrap_or_default();
        Self { root: Some(root), name: c"Bonnie".to_owned() }
    }

    /// Slot of the directory that holds the file and the directory.
    pub(super) const fn dir(&self) -> DirSlot {
        if self.root.is_some() { ROOT } else { DirSlot::TARGET }
    }

    /// Opens the directory of the copy, if it has one.
    pub(super) fn enter(&self, io: &mut dyn Io) -> Result<(), Stop> {
        self.root.as_deref().map_or(Ok(()), |root| io.open_dir(DirSlot::TARGET, root, ROOT))
    }

    /// Opens the directory of the small files.
    pub(super) fn open_top(&self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(self.dir(), &self.name, TOP)
    }
}

/// Name of a native copy's directory.
pub(super) fn root_name(copy: u16) -> String {
    format!("bonnie-{copy}")
}
