//! Parameters of the results: the large file, the small files, the number of copies.

use super::test::Test;

/// Default chunk size, in bytes.
pub(crate) const CHUNK: u32 = 8192;
/// Default number of seeks.
pub(crate) const SEEKS: u64 = 8192;
/// Default number of seekers.
pub(crate) const SEEKERS: u16 = 5;

/// Parameters of the large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoShape {
    /// Size: a multiple of the chunk.
    pub bytes: u64,
    /// Bytes transferred one by one; 0 leaves those tests out.
    pub char_bytes: u64,
    /// Bytes per call.
    pub chunk: u32,
    /// Number of seeks of all seekers.
    pub seeks: u64,
    /// Number of concurrent seekers.
    pub seekers: u16,
}

/// Kind of the small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Regular files.
    Regular,
    /// Hard links to one file.
    HardLinks,
    /// Symbolic links to one file.
    SymbolicLinks,
}

/// Parameters of the small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilesShape {
    /// Number of files.
    pub count: u32,
    /// Largest size.
    pub max_bytes: u64,
    /// Minimum size.
    pub min_bytes: u64,
    /// Files or links.
    pub kind: FileKind,
    /// Number of subdirectories; with 1 the files are in the directory itself.
    pub dirs: u32,
    /// Bytes per call.
    pub chunk: u32,
}

impl FilesShape {
    /// Number of subdirectories to make.
    pub(crate) const fn subdirs(&self) -> u32 {
        if self.dirs > 1 { self.dirs } else { 0 }
    }

    /// Subdirectory of a file. As in the original, each subdirectory takes one file more than its
    /// share, and the last ones take fewer.
    pub(crate) fn subdir(&self, file: u32) -> Option<u32> {
        (self.dirs > 1).then(|| file / (self.count / self.dirs + 1))
    }
}

/// Parameters from which the results are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunParameters {
    /// Large file, if any.
    pub io: Option<IoShape>,
    /// Small files, if any.
    pub files: Option<FilesShape>,
    /// Number of concurrent copies.
    pub copies: u16,
}

impl RunParameters {
    /// Work of a test over all copies: bytes, seeks or files.
    pub(crate) fn work(&self, test: Test) -> u64 {
        let io = self.io.map_or(0, |io| match test {
            Test::CharWrite | Test::CharRead => io.char_bytes,
            Test::Seeks => io.seeks,
            _ => io.bytes,
        });
        let files = self.files.map_or(0, |files| u64::from(files.count));
        let work_per_copy = if test.is_io() { io } else { files };
        work_per_copy.saturating_mul(u64::from(self.copies))
    }
}

#[cfg(test)]
mod tests {
    use super::{FileKind, FilesShape};

    #[test]
    fn each_subdirectory_has_one_file_more_than_its_share() {
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
