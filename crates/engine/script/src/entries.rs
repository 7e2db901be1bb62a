//! The entries of a directory, as a batch of them reaches a script.

use std::ffi::CStr;

/// File type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else; never followed.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// Entry name.
    pub name: &'a CStr,
    /// File type.
    pub kind: EntryKind,
}

/// A batch of directory entries, in the engine's buffer.
///
/// Format of the buffer: for each entry one byte for the kind (0 file, 1 directory, 2 other), then
/// the name with its closing NUL.
#[derive(Clone, Debug)]
pub struct DirEntries<'a> {
    packed: &'a [u8],
}

impl<'a> DirEntries<'a> {
    /// Entries packed by [`DirEntries::pack`].
    pub const fn new(packed: &'a [u8]) -> Self {
        Self { packed }
    }

    /// Appends an entry to a buffer.
    pub fn pack(buffer: &mut Vec<u8>, kind: EntryKind, name: &CStr) {
        buffer.push(kind as u8);
        buffer.extend_from_slice(name.to_bytes_with_nul());
    }

    /// True if the batch has no entries: the end of the directory.
    pub const fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The packed bytes.
    pub const fn packed(&self) -> &'a [u8] {
        self.packed
    }
}

impl<'a> Iterator for DirEntries<'a> {
    type Item = DirEntry<'a>;

    fn next(&mut self) -> Option<DirEntry<'a>> {
        let (&kind, tail) = self.packed.split_first()?;
        let name = CStr::from_bytes_until_nul(tail).ok()?;
        self.packed = &tail[name.to_bytes_with_nul().len()..];
        let kind = match kind {
            0 => EntryKind::File,
            1 => EntryKind::Directory,
            _ => EntryKind::Other,
        };
        Some(DirEntry { name, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::{DirEntries, EntryKind};

    #[test]
    fn packed_entries_round_trip() {
        let mut buffer = Vec::new();
        DirEntries::pack(&mut buffer, EntryKind::Directory, c"drivers");
        DirEntries::pack(&mut buffer, EntryKind::File, c"Makefile");
        let got: Vec<_> = DirEntries::new(&buffer).map(|entry| (entry.kind, entry.name)).collect();
        assert_eq!(got, [(EntryKind::Directory, c"drivers"), (EntryKind::File, c"Makefile")]);
        assert!(DirEntries::new(&[]).is_empty());
    }
}
