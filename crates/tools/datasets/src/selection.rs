//! Part of a tree, selected by path prefixes: the value of `dataset record --only`.

use thiserror::Error;
use treering_script::{NameError, path_components};

/// Paths of a tree to record.
///
/// A prefix `fs/ext4` selects that file or everything below that directory, `fs/.` the files
/// directly in `fs` without its subdirectories, and `.` the files in the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSelection {
    prefixes: Vec<PathPrefix>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathPrefix {
    path: Vec<u8>,
    reach: PrefixReach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixReach {
    /// Path itself and everything below.
    All,
    /// Files directly in the path.
    Files,
}

/// Error of a prefix that cannot be a path of a tree.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{prefix}' is no path inside a tree; use DIRECTORY, FILE, 'DIRECTORY/.' or '.'")]
pub struct SelectionError {
    /// Prefix as the user wrote it.
    pub prefix: String,
    /// Error in the path.
    #[source]
    source: NameError,
}

impl PathSelection {
    /// Selects the paths below any of the prefixes; all paths without prefixes.
    ///
    /// # Errors
    /// When a prefix is absolute or leads out of the tree.
    pub fn from_prefixes<P: AsRef<[u8]>>(
        prefixes: impl IntoIterator<Item = P>,
    ) -> Result<Self, SelectionError> {
        let prefixes = prefixes.into_iter().map(|prefix| PathPrefix::parse(prefix.as_ref()));
        Ok(Self { prefixes: prefixes.collect::<Result<_, _>>()? })
    }

    /// True if a file, link or empty directory with this path is selected.
    pub fn covers(&self, path: &[u8]) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| prefix.covers(path))
    }

    /// True if anything below the directory may be selected.
    pub(super) fn reaches_into(&self, directory: &[u8]) -> bool {
        let is_selected = self.prefixes.is_empty() || directory.is_empty();
        is_selected || self.prefixes.iter().any(|prefix| prefix.reaches_into(directory))
    }

    /// Prefixes that cover none of these paths, as the user wrote them.
    pub(super) fn without_match(&self, mut is_covered: impl FnMut(&Self) -> bool) -> Vec<String> {
        let alone = |prefix: &PathPrefix| Self { prefixes: vec![prefix.clone()] };
        let lost = self.prefixes.iter().filter(|prefix| !is_covered(&alone(prefix)));
        lost.map(PathPrefix::text).collect()
    }
}

impl PathPrefix {
    fn parse(text: &[u8]) -> Result<Self, SelectionError> {
        let error = |source| SelectionError { prefix: text.escape_ascii().to_string(), source };
        let inner = text.strip_prefix(b"./").unwrap_or(text);
        let (path, reach) = match inner {
            b"." => (b"".as_slice(), PrefixReach::Files),
            _ => match inner.strip_suffix(b"/.") {
                Some(path) => (path, PrefixReach::Files),
                None => (inner.strip_suffix(b"/").unwrap_or(inner), PrefixReach::All),
            },
        };
        if inner != b"." {
            let _ = path_components(path).map_err(error)?;
        }
        Ok(Self { path: path.to_owned(), reach })
    }

    fn covers(&self, path: &[u8]) -> bool {
        match self.reach {
            PrefixReach::All => path == self.path || is_below(path, &self.path),
            PrefixReach::Files => {
                let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                path[..slash] == self.path
            }
        }
    }

    fn reaches_into(&self, directory: &[u8]) -> bool {
        let inside = self.reach == PrefixReach::All && is_below(directory, &self.path);
        inside || directory == self.path || is_below(&self.path, directory)
    }

    fn text(&self) -> String {
        let path = self.path.escape_ascii();
        match self.reach {
            PrefixReach::All => path.to_string(),
            PrefixReach::Files if self.path.is_empty() => ".".to_owned(),
            PrefixReach::Files => format!("{path}/."),
        }
    }
}

/// True if the path is below the directory, at any depth.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|tail| tail.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::PathSelection;

    fn covered(prefixes: &[&str], path: &str) -> bool {
        PathSelection::from_prefixes(prefixes).unwrap().covers(path.as_bytes())
    }

    #[test]
    fn prefixes_end_at_slashes() {
        for (prefix, path, expected) in [
            ("fs/ext4", "fs/ext4/inode.c", true),
            ("fs/ext4/", "fs/ext4/a/b", true),
            ("./fs", "fs/x", true),
            ("fs/ext4", "fs/ext42/inode.c", false),
            ("fs/ext4", "fs/ext4", true),
            ("fs/ext4", "fs", false),
            ("fs/.", "fs/inode.c", true),
            ("fs/.", "fs/ext4/inode.c", false),
            ("fs/.", "inode.c", false),
            (".", "Makefile", true),
            (".", "fs/Makefile", false),
        ] {
            assert_eq!(covered(&[prefix], path), expected, "{prefix} {path}");
        }
        assert!(covered(&[], "anything/at/all"));
        assert!(covered(&["mm", "fs"], "fs/a") && !covered(&["mm", "fs"], "net/a"));
    }

    #[test]
    fn parent_directories_of_prefixes_are_entered() {
        let selection = PathSelection::from_prefixes(["fs/ext4", "arch/x86/."]).unwrap();
        for (directory, expected) in [
            ("", true),
            ("fs", true),
            ("fs/ext4", true),
            ("fs/ext4/sub", true),
            ("fs/xfs", false),
            ("arch/x86", true),
            ("arch/x86/mm", false),
        ] {
            assert_eq!(selection.reaches_into(directory.as_bytes()), expected, "{directory}");
        }
    }

    #[test]
    fn prefixes_outside_the_tree_are_refused() {
        for bad in ["", "/", "/fs", "../x", "a/../b", "a//b", "..", "./."] {
            let error = PathSelection::from_prefixes([bad]);
            assert_eq!(error.is_err(), bad != "./.", "{bad}: {error:?}");
        }
    }

    #[test]
    fn prefixes_without_a_match_are_named() {
        let selection = PathSelection::from_prefixes(["fs", "nowhere/.", "."]).unwrap();
        let lost = selection.without_match(|prefix| prefix.covers(b"fs/a") || prefix.covers(b"b"));
        assert_eq!(lost, ["nowhere/."]);
    }
}
