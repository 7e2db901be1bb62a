//! Contents of a tree, for tests that compare a real directory with one in memory.

use std::fs::{read_dir, symlink_metadata};
use std::io;
use std::path::{Path, PathBuf};

use treering_script::EntryKind;

/// Entries below a directory, sorted by path: relative path, kind, and size in bytes (0 except for
/// files).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSnapshot {
    /// The entries.
    pub entries: Vec<(PathBuf, EntryKind, u64)>,
}

impl TreeSnapshot {
    /// Snapshot of these entries, given in any order.
    pub fn new(mut entries: Vec<(PathBuf, EntryKind, u64)>) -> Self {
        entries.sort();
        Self { entries }
    }

    /// Contents of a real directory. Links are reported as other things and not followed.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn from_directory(top: &Path) -> io::Result<Self> {
        let mut entries = Vec::new();
        let mut pending = vec![PathBuf::new()];
        while let Some(dir) = pending.pop() {
            for entry in read_dir(top.join(&dir))? {
                let path = dir.join(entry?.file_name());
                let metadata = symlink_metadata(top.join(&path))?;
                if metadata.is_dir() {
                    entries.push((path.clone(), EntryKind::Directory, 0));
                    pending.push(path);
                } else if metadata.is_file() {
                    entries.push((path, EntryKind::File, metadata.len()));
                } else {
                    entries.push((path, EntryKind::Other, 0));
                }
            }
        }
        Ok(Self::new(entries))
    }
}
