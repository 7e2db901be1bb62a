//! Dataset file of treering: text, zstd-compressed, one line for every path of the four states.
//!
//! `zstdcat` shows it. The first line has the version, then come the header's counts, an empty
//! line, the entries in walk order, and `end` with their number. Here are the parts that reader and
//! writer share; docs/datasets.md describes the format for people.

mod escape;
mod read;
mod write;

pub use read::{
    EntryFault, FormatError, HeaderFault, ReaderLimits, read, read_header, read_within,
};
pub use treering_model::ListCount;
pub use write::{WriteError, write};

use super::TreeState;

/// First word of every file.
const MAGIC: &str = "treering-dataset";

/// Version of written files. Older ones are read, newer ones refused.
const VERSION: u64 = 1;

/// Extension of the file name.
pub(crate) const EXTENSION: &str = "treering-dataset";

/// Longest line in bytes: a path of 4000 bytes with each escaped, four sizes, and separators.
const LINE_BYTES_MAX: usize = 20 * 1024;

/// Compression window, as a power of two; the reader needs as much memory.
const WINDOW_LOG: u32 = 23;

/// Header of a dataset file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: u64,
    /// Name of the dataset.
    pub name: String,
    /// Description of the origin; can be empty.
    pub about: String,
    /// Number of paths in any state: files, links, empty directories.
    pub entries: u64,
    /// Counts of the four lists, in the order of [`TreeState::ALL`].
    pub lists: [ListCount; 4],
    /// Number of paths that are a symbolic link in some state.
    pub links: u64,
    /// Number of paths that are an empty directory in some state.
    pub empty_directories: u64,
}

impl Header {
    /// Count of a state's list.
    pub fn list(&self, state: TreeState) -> ListCount {
        self.lists[state.index()]
    }
}

/// State of an entry in one of the trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EntryState {
    /// The path does not exist.
    #[default]
    Absent,
    /// File with its size.
    File(u64),
    /// Symbolic link.
    Link,
    /// Empty directory.
    EmptyDirectory,
}
