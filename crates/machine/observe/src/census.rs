//! File counts by size, and directory counts of a tree: input of aging profiles. Names and contents
//! are ignored.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use treering_sys::{Confinement, FileType, stat};

use crate::tree::{SkipReason, TreeEntry, TreeVisitor, WalkError, traverse};

/// Number of size classes: empty, 1 byte, 2 to 3, and so on.
const CLASSES: usize = 41;

/// Counts of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCensus {
    /// Regular files, one per name.
    pub files: u64,
    /// Sum of the file sizes, in bytes.
    pub bytes: u64,
    /// Directories, including the top.
    pub directories: u64,
    /// Directories with subdirectories.
    pub parents: u64,
    /// Files by size class: empty, 1 byte, 2 to 3, 4 to 7, and so on; the last class includes all
    /// larger files.
    pub sizes: Vec<u64>,
    /// Entries that could not be read.
    pub failed: u64,
}

/// Counts everything beneath a directory.
///
/// # Errors
/// If directories cannot be opened at all.
pub fn census(top: BorrowedFd<'_>) -> Result<TreeCensus, WalkError> {
    let census = TreeCensus {
        files: 0,
        bytes: 0,
        directories: 0,
        parents: 0,
        sizes: vec![0; CLASSES],
        failed: 0,
    };
    let mut counter = CensusVisitor { census, with_children: Vec::new() };
    traverse(Confinement::probe(top), top, &mut counter)?;
    let TreeCensus { mut sizes, .. } = counter.census;
    let used = sizes.iter().rposition(|count| *count > 0).map_or(1, |last| last + 1);
    sizes.truncate(used);
    Ok(TreeCensus { sizes, ..counter.census })
}

struct CensusVisitor {
    census: TreeCensus,
    /// Flag per directory on the current path: a subdirectory was seen.
    with_children: Vec<bool>,
}

impl TreeVisitor for CensusVisitor {
    type Halt = WalkError;

    fn enter(&mut self, _dir: BorrowedFd<'_>, _name: Option<&CStr>) -> Result<(), WalkError> {
        if let Some(above) = self.with_children.last_mut()
            && !std::mem::replace(above, true)
        {
            self.census.parents += 1;
        }
        self.census.directories += 1;
        self.with_children.push(false);
        Ok(())
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), WalkError> {
        if entry.kind != FileType::RegularFile {
            return Ok(());
        }
        let Ok(attributes) = stat(entry.dir, entry.name) else {
            self.census.failed += 1;
            return Ok(());
        };
        let class = attributes.bytes.checked_ilog2().map_or(0, |power| power as usize + 1);
        self.census.files += 1;
        self.census.bytes = self.census.bytes.saturating_add(attributes.bytes);
        self.census.sizes[class.min(CLASSES - 1)] += 1;
        Ok(())
    }

    fn leave(&mut self) -> Result<(), WalkError> {
        self.with_children.pop();
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
    use std::os::fd::AsFd;

    use treering_sys::open_top;

    use super::census;

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
        let counts = census(top.as_fd()).unwrap();
        assert_eq!((counts.files, counts.bytes, counts.failed), (4, 9004, 0));
        assert_eq!((counts.directories, counts.parents), (4, 2));
        let mut sizes = vec![1, 1, 1];
        sizes.resize(14, 0);
        sizes.push(1);
        assert_eq!(counts.sizes, sizes);
    }
}
