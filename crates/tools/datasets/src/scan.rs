//! Scan of a directory tree: names, kinds and sizes, in an order that does not depend on the disk.
//!
//! Links are never followed and other filesystems never entered. `record` decides which trees are
//! scanned.

use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use treering_script::{NameId, NamesBuilder, NodeKind};

use crate::record_error::RecordError;
use crate::{FileList, PathSelection};

/// Entries that a scan left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OmittedEntries {
    /// Mount point of another filesystem, or root of a subvolume.
    OtherFilesystem(PathBuf),
    /// Device files, sockets and named pipes below a directory.
    SpecialFiles {
        /// Root of the scan.
        root: PathBuf,
        /// Number of these entries.
        count: u64,
    },
}

/// Result of a scan: directories by name, the files of a directory by name.
#[derive(Debug, Default)]
pub(super) struct ScannedTree {
    pub(super) files: FileList,
    pub(super) links: Vec<NameId>,
    pub(super) empty_directories: Vec<NameId>,
    pub(super) counters: Vec<OmittedEntries>,
}

/// Scans a tree into the names that all states share.
pub(super) fn scan(
    root: &Path,
    selection: &PathSelection,
    names: &mut NamesBuilder,
) -> Result<ScannedTree, RecordError> {
    let unreadable = |source| RecordError::Scan { path: root.to_owned(), source };
    let top = root.metadata().map_err(unreadable)?;
    let mut scan = TreeScan {
        root,
        device: top.dev(),
        selection,
        names,
        found: ScannedTree::default(),
        special_files: 0,
        pending: vec![Vec::new()],
    };
    while let Some(directory) = scan.pending.pop() {
        scan.directory(&directory)?;
    }
    let (mut scanned, count) = (scan.found, scan.special_files);
    if count > 0 {
        scanned.counters.push(OmittedEntries::SpecialFiles { root: root.to_owned(), count });
    }
    Ok(scanned)
}

struct TreeScan<'a> {
    root: &'a Path,
    device: u64,
    selection: &'a PathSelection,
    names: &'a mut NamesBuilder,
    found: ScannedTree,
    special_files: u64,
    /// Stack of directories to be read, as paths in the tree.
    pending: Vec<Vec<u8>>,
}

/// Entries of one directory; the names share one buffer, since there can be millions.
#[derive(Default)]
struct DirListing {
    bytes: Vec<u8>,
    entries: Vec<ListingEntry>,
}

struct ListingEntry {
    start: usize,
    length: usize,
    what: EntryKind,
}

/// Kind of an entry.
#[derive(Clone, Copy)]
enum EntryKind {
    File(u64),
    Link,
    Directory,
}

impl DirListing {
    fn push(&mut self, name: &[u8], kind: EntryKind) {
        self.entries.push(ListingEntry { start: self.bytes.len(), length: name.len(), what: kind });
        self.bytes.extend_from_slice(name);
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let name = |entry: &ListingEntry| &bytes[entry.start..entry.start + entry.length];
        self.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], EntryKind)> {
        let name = |entry: &ListingEntry| &self.bytes[entry.start..entry.start + entry.length];
        self.entries.iter().map(move |entry| (name(entry), entry.what))
    }
}

impl TreeScan<'_> {
    fn directory(&mut self, path: &[u8]) -> Result<(), RecordError> {
        let listing = self.read(path)?;
        let mut inside = path.to_owned();
        if !inside.is_empty() {
            inside.push(b'/');
        }
        let stem = inside.len();
        let first = self.pending.len();
        for (name, kind) in listing.iter() {
            inside.truncate(stem);
            inside.extend_from_slice(name);
            match kind {
                EntryKind::Directory => self.pending.push(inside.clone()),
                EntryKind::File(size) if self.selection.covers(&inside) => {
                    let id = self.add(&inside, NodeKind::File)?;
                    self.found.files.try_push(id, size).map_err(|source| {
                        RecordError::TooManyBytes { root: self.root.to_owned(), source }
                    })?;
                }
                EntryKind::Link if self.selection.covers(&inside) => {
                    let id = self.add(&inside, NodeKind::File)?;
                    self.found.links.push(id);
                }
                EntryKind::File(_) | EntryKind::Link => {}
            }
        }
        self.pending[first..].reverse();
        let is_empty = listing.entries.is_empty();
        if is_empty && !path.is_empty() && self.selection.covers(path) {
            let id = self.add(path, NodeKind::Directory)?;
            self.found.empty_directories.push(id);
        }
        Ok(())
    }

    /// Reads the entries of a directory that a dataset can have, sorted.
    fn read(&mut self, path: &[u8]) -> Result<DirListing, RecordError> {
        let place = self.place(path);
        let unreadable = |source: io::Error| RecordError::Scan { path: place.clone(), source };
        let mut listing = DirListing::default();
        for entry in place.read_dir().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if let Some(kind) = self.entry_kind(path, &entry)? {
                listing.push(entry.file_name().as_bytes(), kind);
            }
        }
        listing.sort();
        Ok(listing)
    }

    fn entry_kind(
        &mut self,
        directory: &[u8],
        entry: &DirEntry,
    ) -> Result<Option<EntryKind>, RecordError> {
        let facts = |source: io::Error| RecordError::Scan { path: entry.path(), source };
        let kind = entry.file_type().map_err(facts)?;
        if kind.is_symlink() {
            return Ok(Some(EntryKind::Link));
        }
        if !kind.is_dir() && !kind.is_file() {
            self.special_files += 1;
            return Ok(None);
        }
        if kind.is_dir() && !self.is_wanted(directory, entry) {
            return Ok(None);
        }
        // The call does not follow a link either, should the entry have become one.
        let facts: Metadata = entry.metadata().map_err(facts)?;
        if kind.is_file() {
            return Ok(Some(EntryKind::File(facts.len())));
        }
        if facts.dev() != self.device {
            self.found.counters.push(OmittedEntries::OtherFilesystem(entry.path()));
            return Ok(None);
        }
        Ok(Some(EntryKind::Directory))
    }

    fn is_wanted(&self, directory: &[u8], entry: &DirEntry) -> bool {
        let name = entry.file_name();
        let path = match directory {
            b"" => name.into_vec(),
            _ => [directory, b"/", name.as_bytes()].concat(),
        };
        self.selection.reaches_into(&path)
    }

    fn add(&mut self, path: &[u8], kind: NodeKind) -> Result<NameId, RecordError> {
        self.names
            .add(path, kind)
            .map_err(|source| RecordError::Name { path: self.place(path), source })
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        self.root.join(std::ffi::OsStr::from_bytes(path))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use treering_script::NamesBuilder;

    use super::{OmittedEntries, PathSelection, scan};

    #[test]
    fn other_filesystems_are_left_out() {
        let only = PathSelection::from_prefixes(["proc"]).unwrap();
        let mut names = NamesBuilder::default();
        let scanned = scan(Path::new("/"), &only, &mut names).unwrap();
        assert_eq!(scanned.counters, [OmittedEntries::OtherFilesystem(PathBuf::from("/proc"))]);
        assert!(scanned.files.is_empty() && names.is_empty());
    }
}
