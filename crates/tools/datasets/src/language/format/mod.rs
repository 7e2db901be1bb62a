//! treering's own dataset file: text, zstd-compressed, one line for every path of the four states.
//!
//! `zstdcat` shows it. The first line has the version, then come the header's counts, an empty
//! line, the entries in walk order, and `end` with their number. Here are the parts that reader and
//! writer share; docs/datasets.md describes the format for people.

mod escape;
mod read;
mod write;

pub use read::{EntryFault, FormatError, HeaderFault, Limits, read, read_header, read_within};
pub use write::{WriteError, write};

use super::State;

/// The first word of every file.
const MAGIC: &str = "treering-dataset";

/// The version that is written. Older ones are read, newer ones refused.
const VERSION: u64 = 1;

/// The end of the file's name.
pub(crate) const EXTENSION: &str = "treering-dataset";

/// The longest line: a path of 4000 bytes with each escaped, four sizes, and what is between.
const LINE_BYTES_MAX: usize = 20 * 1024;

/// How far back compressed data may refer, as a power of two; the reader needs as much memory.
const WINDOW_LOG: u32 = 23;

/// How many files a list has, and how many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCount {
    /// Files.
    pub files: u64,
    /// The sum of their sizes.
    pub bytes: u64,
}

impl ListCount {
    /// One more file of this size.
    pub fn add(&mut self, size: u64) {
        self.files += 1;
        self.bytes += size;
    }
}

/// What a file says about itself before the first entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The format's version.
    pub version: u64,
    /// The dataset's name.
    pub name: String,
    /// Where it comes from; can be empty.
    pub about: String,
    /// Paths in any state: files, links, empty directories.
    pub entries: u64,
    /// The four lists, in the order of [`State::ALL`].
    pub lists: [ListCount; 4],
    /// Paths that are a symbolic link in some state.
    pub links: u64,
    /// Paths that are an empty directory in some state.
    pub empty_directories: u64,
}

impl Header {
    /// The count of a state's list.
    pub fn list(&self, state: State) -> ListCount {
        self.lists[state.index()]
    }
}

/// What an entry is in one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Being {
    /// Not there.
    #[default]
    Absent,
    /// A file with its size.
    File(u64),
    /// A symbolic link.
    Link,
    /// A directory with nothing in it.
    EmptyDirectory,
}
