//! What bonnie++ is asked to do: the large file, the many files, how many copies at once.

use super::test::Test;

/// The usual bytes of a call.
pub(crate) const CHUNK: u32 = 8192;
/// The usual number of seeks.
pub(crate) const SEEKS: u64 = 8192;
/// The usual number of seekers.
pub(crate) const SEEKERS: u16 = 5;

/// The large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoShape {
    /// Its bytes: whole chunks.
    pub bytes: u64,
    /// Bytes that are moved one by one; 0 leaves those tests out.
    pub char_bytes: u64,
    /// Bytes of a call.
    pub chunk: u32,
    /// Seeks of all seekers.
    pub seeks: u64,
    /// How many seek at once.
    pub seekers: u16,
}

/// What the many files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Files.
    Regular,
    /// Names of one file.
    HardLinks,
    /// Symbolic links.
    SymbolicLinks,
}

/// The many files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilesShape {
    /// How many.
    pub count: u32,
    /// The size of the largest.
    pub max_bytes: u64,
    /// The size of the smallest.
    pub min_bytes: u64,
    /// What they are.
    pub kind: FileKind,
    /// Subdirectories; with one the files are in the directory itself.
    pub dirs: u32,
    /// Bytes of a call.
    pub chunk: u32,
}

impl FilesShape {
    /// Subdirectories that are made.
    pub(crate) const fn subdirs(&self) -> u32 {
        if self.dirs > 1 { self.dirs } else { 0 }
    }

    /// The subdirectory of a file. As in the original, each takes one more than its share, and the
    /// last ones fewer.
    pub(crate) fn subdir(&self, file: u32) -> Option<u32> {
        (self.dirs > 1).then(|| file / (self.count / self.dirs + 1))
    }
}

/// What the results are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The large file, where there is one.
    pub io: Option<IoShape>,
    /// The many files, where there are any.
    pub files: Option<FilesShape>,
    /// How many run at once.
    pub copies: u16,
}

impl Asked {
    /// What a rate of this test counts, of all copies.
    pub(crate) fn work(&self, test: Test) -> u64 {
        let io = self.io.map_or(0, |io| match test {
            Test::CharWrite | Test::CharRead => io.char_bytes,
            Test::Seeks => io.seeks,
            _ => io.bytes,
        });
        let files = self.files.map_or(0, |files| u64::from(files.count));
        let one = if test.is_io() { io } else { files };
        one.saturating_mul(u64::from(self.copies))
    }
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
