//! The names of mdtest: of test directories, trees, and the items of a rank.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;

use super::shape::RunShape;
use super::tree::DirectoryNumber;

/// Digits of the largest number.
const DIGITS: usize = 20;

/// Name prefix of a test directory.
pub(super) const TEST_DIRECTORY: &str = "test-dir.";

/// Name of a test directory, numbered by iteration, and within it if the items of a rank are spread
/// over several.
pub(super) fn test_directory(iteration: u32, number: u64) -> String {
    format!("{TEST_DIRECTORY}{iteration}-{number}")
}

/// The name of a directory in the tree of a rank, or in that of all.
fn directory_name(tree: Option<u16>, directory: DirectoryNumber) -> String {
    match tree {
        Some(rank) => format!("mdtest_tree.{rank}.{directory}"),
        None => format!("mdtest_tree.{directory}"),
    }
}

/// C string of a generated name, which holds only letters, digits, dots and slashes.
pub(super) fn c_string(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

/// Name of a directory within its parent.
pub(super) fn bare_directory(tree: Option<u16>, directory: DirectoryNumber) -> CString {
    c_string(&directory_name(tree, directory))
}

/// The path of a directory, from the target.
pub(super) fn directory_path(
    shape: &RunShape,
    test: &str,
    tree: Option<u16>,
    directory: DirectoryNumber,
) -> CString {
    let mut chain = vec![directory];
    while let Some(parent) = chain.last().and_then(|&last| shape.tree.parent(last)) {
        chain.push(parent);
    }
    let mut path = test.to_owned();
    for &directory in chain.iter().rev() {
        // Writing to a string does not fail.
        let _ = write!(path, "/{}", directory_name(tree, directory));
    }
    c_string(&path)
}

/// The names of the items of a rank: they differ in their last digits only.
#[derive(Debug)]
pub(super) struct ItemNames {
    bytes: Vec<u8>,
    fixed: usize,
}

impl ItemNames {
    /// Names of a rank's directories or files; `None` if all ranks share the names.
    pub(super) fn new(is_directory: bool, rank: Option<u16>) -> Self {
        let kind = if is_directory { "dir" } else { "file" };
        let bytes = match rank {
            Some(rank) => format!("{kind}.mdtest.{rank}."),
            None => format!("{kind}.mdtest.shared."),
        };
        let bytes = bytes.into_bytes();
        Self { fixed: bytes.len(), bytes }
    }

    /// The name of an item.
    #[inline]
    pub(super) fn item(&mut self, item: u64) -> &CStr {
        self.write(item);
        self.closed()
    }

    /// Temporary name of the first item while the others are renamed.
    pub(super) fn aside(&mut self, item: u64) -> &CStr {
        self.write(item);
        self.bytes.extend_from_slice(b"-XX");
        self.closed()
    }

    #[inline]
    fn write(&mut self, item: u64) {
        let mut digits = [0; DIGITS];
        let (mut at, mut remaining) = (DIGITS, item);
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(remaining % 10).unwrap_or(0);
            remaining /= 10;
            if remaining == 0 {
                break;
            }
        }
        self.bytes.truncate(self.fixed);
        self.bytes.extend_from_slice(&digits[at..]);
    }

    #[inline]
    fn closed(&mut self) -> &CStr {
        self.bytes.push(0);
        CStr::from_bytes_with_nul(&self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::ItemNames;

    #[test]
    fn items_are_named_as_by_the_original() {
        let mut names = ItemNames::new(false, Some(12));
        assert_eq!(names.item(0), c"file.mdtest.12.0");
        assert_eq!(names.item(u64::MAX), c"file.mdtest.12.18446744073709551615");
        let mut names = ItemNames::new(true, Some(0));
        assert_eq!(names.aside(10), c"dir.mdtest.0.10-XX");
        assert_eq!(names.item(7), c"dir.mdtest.0.7");
        assert_eq!(ItemNames::new(false, None).item(3), c"file.mdtest.shared.3");
    }
}
