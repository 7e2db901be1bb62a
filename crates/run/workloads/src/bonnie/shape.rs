//! What is asked for, however it was asked.

use std::ffi::CString;

use treering_script::{Dir, Identity, Io, Stop, SyncScope};

use super::dice::Source;
use super::test::Test;

/// The large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoShape {
    /// Its bytes: whole chunks.
    pub(super) bytes: u64,
    /// Bytes that are moved one by one; 0 leaves those tests out.
    pub(super) char_bytes: u64,
    /// Bytes of a call.
    pub(super) chunk: u32,
    pub(super) seeks: u64,
    pub(super) seekers: u16,
}

/// What the many files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Regular,
    /// Names of one file.
    HardLinks,
    SymbolicLinks,
}

/// The many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilesShape {
    pub(super) count: u32,
    /// Maximum file size and at least.
    pub(super) max_bytes: u64,
    pub(super) min_bytes: u64,
    pub(super) kind: FileKind,
    /// Subdirectories; with one the files are in the directory itself.
    pub(super) dirs: u32,
    /// Bytes of a call.
    pub(super) chunk: u32,
}

impl FilesShape {
    /// Subdirectories that are made.
    pub(super) const fn subdirs(&self) -> u32 {
        if self.dirs > 1 { self.dirs } else { 0 }
    }

    /// The subdirectory of a file. As in the original, each takes one more than its share, and the
    /// last ones fewer.
    pub(super) fn subdir(&self, file: u32) -> Option<u32> {
        (self.dirs > 1).then(|| file / (self.count / self.dirs + 1))
    }
}

/// What is fsynced beyond the ends of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fsync {
    /// Nothing.
    Never,
    /// As with `-b` of the original: updates of the seeks, files that are made and their
    /// directories, directories of unlinks.
    Updates,
    /// These, and every write to the large file.
    Each,
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) io: Option<IoShape>,
    pub(super) files: Option<FilesShape>,
    /// The tests in their order.
    pub(super) tests: Vec<Test>,
    /// How often they are run.
    pub(super) runs: u32,
    /// How many run at once.
    pub(super) copies: u16,
    pub(super) source: Source,
    pub(super) fsync: Fsync,
    pub(super) direct: bool,
    /// What the sync after creates and deletes covers.
    pub(super) sync: SyncScope,
    /// Whether caches are dropped before each test.
    pub(super) drop_caches: bool,
    pub(super) identity: Option<Identity>,
}

impl Shape {
    /// What a rate of this test counts, of all copies.
    pub(super) fn work(&self, test: Test) -> u64 {
        let io = self.io.map_or(0, |io| match test {
            Test::CharWrite | Test::CharRead => io.char_bytes,
            Test::Seeks => io.seeks,
            _ => io.bytes,
        });
        let files = self.files.map_or(0, |files| u64::from(files.count));
        let one = if test.is_io() { io } else { files };
        one.saturating_mul(u64::from(self.copies))
    }

    /// Tasks of a test.
    pub(super) fn tasks(&self, test: Test) -> u32 {
        let seekers = self.io.filter(|_| test == Test::Seeks).map_or(1, |io| io.seekers);
        u32::from(self.copies).saturating_mul(u32::from(seekers.max(1)))
    }
}

/// The tests that there is something for, in their order.
pub(super) fn possible_tests(io: Option<IoShape>, files: Option<FilesShape>) -> Vec<Test> {
    let possible = |test: &Test| match io {
        _ if !test.is_io() => files.is_some(),
        Some(io) if test.is_per_char() => io.char_bytes > 0,
        Some(io) if *test == Test::Seeks => io.seeks > 0,
        io => io.is_some(),
    };
    Test::ALL.into_iter().filter(possible).collect()
}

/// The slot of a copy's own directory.
const ROOT: Dir = Dir(1);
/// The slot of the directory of the many files.
pub(super) const TOP: Dir = Dir(2);

/// Where a copy works.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// Its own directory, where it has one.
    pub(super) root: Option<CString>,
    /// The name of the large file, and of the directory of the many files.
    pub(super) name: CString,
}

impl Home {
    /// That of a classic copy: the user's own directory.
    pub(super) fn classic(process: u32, copy: u16) -> Self {
        let name = match copy {
            0 => format!("Bonnie.{process}"),
            later => format!("Bonnie.{process}.{later}"),
        };
        Self { root: None, name: CString::new(name).unwrap_or_default() }
    }

    /// That of a native copy: a directory of its own.
    pub(super) fn native(copy: u16) -> Self {
        let root = CString::new(root_name(copy)).unwrap_or_default();
        Self { root: Some(root), name: c"Bonnie".to_owned() }
    }

    /// The slot in which the file and the directory are.
    pub(super) const fn dir(&self) -> Dir {
        if self.root.is_some() { ROOT } else { Dir::TARGET }
    }

    /// Opens the copy's own directory, where it has one.
    pub(super) fn enter(&self, io: &mut dyn Io) -> Result<(), Stop> {
        self.root.as_deref().map_or(Ok(()), |root| io.open_dir(Dir::TARGET, root, ROOT))
    }

    /// Opens the directory of the many files.
    pub(super) fn open_top(&self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(self.dir(), &self.name, TOP)
    }
}

/// The name of a native copy's directory.
pub(super) fn root_name(copy: u16) -> String {
    format!("bonnie-{copy}")
}

#[cfg(test)]
mod tests {
    use super::{FileKind, FilesShape};

    #[test]
    fn each_subdirectory_takes_one_more_than_its_share() {
        let shape = |count, dirs| FilesShape {
            count,
            max_bytes: 0,
            min_bytes: 0,
            kind: FileKind::Regular,
            dirs,
            chunk: 8192,
        };
        let counts = |shape: FilesShape| {
            let mut counts = vec![0; shape.dirs as usize];
            (0..shape.count).for_each(|file| counts[shape.subdir(file).unwrap() as usize] += 1);
            counts
        };
        let ten = counts(shape(1024, 10));
        assert_eq!((ten[0], ten[8], ten[9]), (103, 103, 97));
        assert_eq!(counts(shape(1024, 3)), [342, 342, 340]);
        assert_eq!(counts(shape(1024, 1024))[..3], [2, 2, 2]);
        assert_eq!(shape(1024, 1).subdir(1000), None);
        assert_eq!(shape(3, 99_999).subdir(2), Some(2), "more of them than files");
    }
}
