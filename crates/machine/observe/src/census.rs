//! Counts of a tree: its files by size, and its directories with their files by age. Names and
//! contents are ignored.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use treering_sys::{Confinement, FileType, identity_in, stat};

use crate::tree::{ScanError, SkipReason, TreeEntry, TreeVisitor, traverse};

/// Largest size that is counted as it is, in bytes; larger files count as of this size.
const LARGEST_BYTES: u64 = (1 << 40) - 1;
/// Largest number of different sizes that are counted one by one.
const SIZES_MAX: usize = 1 << 16;
/// Significant bits of a size among more sizes.
const SIZE_BITS: u32 = 8;
/// Files between two calls of the progress callback.
const NEWS_EVERY: u64 = 256;
/// Largest age class.
const AGE_MAX: u8 = 31;

/// Directory of a census.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CensusDirectory {
    /// Index of the directory above, which comes before; that of the top is its own.
    pub above: usize,
    /// Number of its regular files by age, youngest first: born less than a minute ago, up to 2
    /// minutes, up to 4 and so on. Files without a birth time count as born now.
    pub ages: Vec<(u8, u32)>,
}

/// Files of about one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CensusSize {
    /// Largest possible size, in bytes; in a tree of few different sizes that of all these files.
    pub most: u64,
    /// Number of the files.
    pub files: u64,
    /// Bytes of the files together.
    pub bytes: u64,
}

/// Counts of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCensus {
    /// Regular files, one per name.
    pub files: u64,
    /// Sum of the file sizes, in bytes.
    pub bytes: u64,
    /// Files by size, in ascending order. Sizes are counted one by one up to 65,536 different ones,
    /// else in steps of less than 1 %.
    pub sizes: Vec<CensusSize>,
    /// Directories, the top first.
    pub directories: Vec<CensusDirectory>,
    /// Files whose birth time is unknown.
    pub unborn: u64,
    /// Entries that could not be read.
    pub failed: u64,
}

/// Counts everything beneath a directory; `now`, in seconds since 1970, gives the files their ages.
/// Without it birth times are not looked at, and all files are of age 0. `progress` gets the number
/// of files so far and can stop the count.
///
/// # Errors
/// If the callback stops the count, or directories cannot be opened at all.
pub fn census(
    top: BorrowedFd<'_>,
    now: Option<i64>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<TreeCensus, ScanError> {
    let census = TreeCensus {
        files: 0,
        bytes: 0,
        sizes: Vec::new(),
        directories: Vec::new(),
        unborn: 0,
        failed: 0,
    };
    let mut counter =
        CensusVisitor { census, sizes: SizeCounts::default(), now, path: Vec::new(), progress };
    traverse(Confinement::probe(top), top, &mut counter)?;
    let count = |(most, (files, bytes))| CensusSize { most, files, bytes };
    let sizes = counter.sizes.counts.into_iter().map(count).collect();
    Ok(TreeCensus { sizes, ..counter.census })
}

/// Numbers of files and their bytes, by size.
#[derive(Debug, Default)]
struct SizeCounts {
    counts: BTreeMap<u64, (u64, u64)>,
    /// True once there were too many different sizes.
    is_rounded: bool,
}

impl SizeCounts {
    fn add(&mut self, bytes: u64) {
        let bytes = bytes.min(LARGEST_BYTES);
        self.add_files(bytes, (1, bytes));
        if self.counts.len() > SIZES_MAX && !self.is_rounded {
            self.is_rounded = true;
            for (size, files) in std::mem::take(&mut self.counts) {
                self.add_files(size, files);
            }
        }
    }

    fn add_files(&mut self, size: u64, (files, bytes): (u64, u64)) {
        let most = if self.is_rounded { rounded(size) } else { size };
        let counted = self.counts.entry(most).or_default();
        counted.0 += files;
        counted.1 = counted.1.saturating_add(bytes);
    }
}

/// Largest size with the same first bits.
fn rounded(size: u64) -> u64 {
    let power = size.checked_ilog2().unwrap_or(0);
    size | ((1 << (power + 1).saturating_sub(SIZE_BITS)) - 1)
}

struct CensusVisitor<'p> {
    census: TreeCensus,
    sizes: SizeCounts,
    now: Option<i64>,
    /// Directories of the current path, by index, with their files by age so far.
    path: Vec<(usize, BTreeMap<u8, u32>)>,
    progress: &'p mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl CensusVisitor<'_> {
    /// Age class of a file by its birth time.
    fn age(&mut self, entry: &TreeEntry<'_>) -> u8 {
        let Some(now) = self.now else { return 0 };
        let born = identity_in(entry.dir, entry.name).ok().and_then(|identity| identity.born);
        let Some((second, _)) = born else {
            self.census.unborn += 1;
            return 0;
        };
        let minutes = now.saturating_sub(second).max(0) / 60;
        let power = minutes.checked_ilog2().and_then(|power| u8::try_from(power + 1).ok());
        power.unwrap_or(0).min(AGE_MAX)
    }
}

impl TreeVisitor for CensusVisitor<'_> {
    type Halt = ScanError;

    fn enter(&mut self, _dir: BorrowedFd<'_>, _name: Option<&CStr>) -> Result<(), ScanError> {
        let above = self.path.last().map_or(0, |(above, _)| *above);
        self.path.push((self.census.directories.len(), BTreeMap::new()));
        self.census.directories.push(CensusDirectory { above, ages: Vec::new() });
        Ok(())
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), ScanError> {
        if entry.kind != FileType::RegularFile {
            return Ok(());
        }
        if self.census.files.is_multiple_of(NEWS_EVERY)
            && (self.progress)(self.census.files).is_break()
        {
            return Err(ScanError::Stopped);
        }
        let Ok(attributes) = stat(entry.dir, entry.name) else {
            self.census.failed += 1;
            return Ok(());
        };
        self.census.files += 1;
        self.census.bytes = self.census.bytes.saturating_add(attributes.bytes);
        self.sizes.add(attributes.bytes);
        let age = self.age(entry);
        if let Some((_, ages)) = self.path.last_mut() {
            *ages.entry(age).or_default() += 1;
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), ScanError> {
        if let Some((directory, ages)) = self.path.pop() {
            self.census.directories[directory].ages = ages.into_iter().collect();
        }
        Ok(())
    }

    fn passed(&mut self, reason: SkipReason, count: u64) {
        if reason == SkipReason::Unreadable {
            self.census.failed += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;
    use std::os::fd::AsFd;

    use treering_sys::open_top;

    use super::{SIZES_MAX, ScanError, SizeCounts, census, identity_in, rounded};

    #[test]
    fn files_are_counted_by_size_and_directories_by_children() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::create_dir(path("a/c")).unwrap();
        for (name, bytes) in [("a/empty", 0), ("a/b/one", 1), ("two", 3), ("a/c/large", 9000)] {
            fs::write(path(name), vec![1; bytes]).unwrap();
        }
        std::os::unix::fs::symlink("two", path("link")).unwrap();
        let top = open_top(place.path()).unwrap();
        let born = identity_in(top.as_fd(), c"two").unwrap().born.unwrap();
        let now = born.0 + 60 * 9;
        let counts = census(top.as_fd(), Some(now), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((counts.files, counts.bytes, counts.failed), (4, 9004, 0));
        let above: Vec<usize> = counts.directories.iter().map(|dir| dir.above).collect();
        assert_eq!(above.len(), 4);
        assert_eq!(above[..2], [0, 0]);
        assert_eq!((above[2], above[3]), (1, 1));
        let files = counts.directories.iter().flat_map(|dir| &dir.ages);
        assert_eq!(files.map(|(_, count)| count).sum::<u32>(), 4);
        // Nine minutes are in the class of 8 to 15.
        assert!(counts.directories.iter().all(|dir| dir.ages.iter().all(|(age, _)| *age == 4)));
        let sizes: Vec<(u64, u64, u64)> =
            counts.sizes.iter().map(|size| (size.most, size.files, size.bytes)).collect();
        assert_eq!(sizes, [(0, 1, 0), (1, 1, 1), (3, 1, 3), (9000, 1, 9000)]);
        let stopped = census(top.as_fd(), None, &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped, Err(ScanError::Stopped));
    }

    #[test]
    fn very_many_sizes_are_counted_in_steps_of_less_than_one_percent() {
        let mut sizes = SizeCounts::default();
        let all = 0..2 * SIZES_MAX as u64;
        all.clone().for_each(|size| sizes.add(size * 7));
        sizes.add(u64::MAX);
        assert!(sizes.counts.len() < 41 << 7, "{}", sizes.counts.len());
        let (files, bytes) =
            sizes.counts.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert_eq!(files, 2 * SIZES_MAX as u64 + 1);
        assert_eq!(bytes, all.sum::<u64>() * 7 + (1 << 40) - 1);
        for size in [0, 1, 255, 256, 70_001, (1 << 40) - 1] {
            let most = rounded(size);
            assert!(most >= size && (most - size) * 100 <= size, "{size} {most}");
            assert_eq!(rounded(most), most);
        }
    }
}
