//! Datasets: the names and sizes of a tree in four states.
//!
//! This module has the types; `classic` reads the original's four text files, `format` is
//! treering's own file, and `order` is the order of its entries.

pub mod classic;
pub mod format;
mod lines;
pub(crate) mod order;
mod title;

use std::sync::Arc;

use thiserror::Error;
use treering_script::{NameId, NameTree};

pub use title::{TitleError, check_title};

/// Upper bound of the sum of all sizes of a list: 2^63, as for the kernel's own file sizes.
pub(crate) const BYTES_END: u64 = 1 << 63;

treering_model::named_enum! {
    /// State of a tree.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum TreeState {
        /// Clean tree.
        Unpatched = "unpatched",
        /// Clean tree of the later version.
        Patched = "patched",
        /// Clean tree after a build.
        UnpatchedCompiled = "unpatched compiled",
        /// Later tree after a build.
        PatchedCompiled = "patched compiled",
    }
}

impl TreeState {
    /// Name in files and tables, the same as the option of `dataset record`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unpatched => "clean",
            Self::Patched => "patched",
            Self::UnpatchedCompiled => "compiled",
            Self::PatchedCompiled => "patched-compiled",
        }
    }

    /// True if the tree has build products.
    pub const fn is_compiled(self) -> bool {
        matches!(self, Self::UnpatchedCompiled | Self::PatchedCompiled)
    }

    /// Index into an array by state.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateSet(u8);

impl StateSet {
    /// Adds a state.
    pub const fn with(self, state: TreeState) -> Self {
        Self(self.0 | 1 << state.index())
    }

    /// True if the state is included.
    pub const fn contains(self, state: TreeState) -> bool {
        self.0 & 1 << state.index() != 0
    }

    /// True if no state is included.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Files with their sizes, in a fixed order. Sizes are per list: one name can differ between lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    names: Vec<NameId>,
    sizes: Vec<u64>,
    bytes: u64,
}

/// Error of a list whose sizes sum up to 2^63 or more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the sizes sum up to more than 9223372036854775807 bytes")]
pub struct TooManyBytes;

impl FileList {
    /// Adds a file. The sum of all sizes must stay below 2^63; readers check that.
    pub fn push(&mut self, name: NameId, size: u64) {
        self.names.push(name);
        self.sizes.push(size);
        self.bytes += size;
    }

    /// Adds a file unless the sum of all sizes would reach 2^63.
    pub(crate) fn try_push(&mut self, name: NameId, size: u64) -> Result<(), TooManyBytes> {
        match self.bytes.checked_add(size) {
            Some(sum) if sum < BYTES_END => self.push(name, size),
            _ => return Err(TooManyBytes),
        }
        Ok(())
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if the list has no files.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Sum of all sizes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// File at an index of the list.
    pub fn get(&self, place: usize) -> Option<(NameId, u64)> {
        Some((*self.names.get(place)?, self.sizes[place]))
    }

    /// Iterates over all files in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NameId, u64)> + '_ {
        self.names.iter().copied().zip(self.sizes.iter().copied())
    }

    /// Frees unused capacity.
    fn shrink(&mut self) {
        self.names.shrink_to_fit();
        self.sizes.shrink_to_fit();
    }
}

/// States of a tree that a dataset records.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Name of the dataset.
    pub name: String,
    /// Description of the origin, by whoever recorded it; can be empty.
    pub about: String,
    /// Names of all four states. A symbolic link is a file here that no list mentions.
    pub names: Arc<NameTree>,
    /// Files of the clean tree.
    pub unpatched: FileList,
    /// Files of the clean tree of the later version, complete.
    pub patched: FileList,
    /// Files of the clean tree after a build: sources and products.
    pub unpatched_compiled: FileList,
    /// Files of the later tree after a build: sources and products.
    pub patched_compiled: FileList,
    /// Symbolic links and the states that have them. Their targets are not recorded.
    pub links: Vec<(NameId, StateSet)>,
    /// Empty directories, and the states in which they are empty.
    pub empty_directories: Vec<(NameId, StateSet)>,
}

impl Dataset {
    /// Files of a state.
    pub fn list(&self, state: TreeState) -> &FileList {
        match state {
            TreeState::Unpatched => &self.unpatched,
            TreeState::Patched => &self.patched,
            TreeState::UnpatchedCompiled => &self.unpatched_compiled,
            TreeState::PatchedCompiled => &self.patched_compiled,
        }
    }

    /// Builds a dataset from names and the four lists in the order of [`TreeState::ALL`].
    pub(crate) fn from_lists(name: &str, names: NameTree, lists: [FileList; 4]) -> Self {
        let [unpatched, patched, unpatched_compiled, patched_compiled] = lists.map(|mut list| {
            list.shrink();
            list
        });
        Self {
            name: name.to_owned(),
            about: String::new(),
            names: Arc::new(names),
            unpatched,
            patched,
            unpatched_compiled,
            patched_compiled,
            links: Vec::new(),
            empty_directories: Vec::new(),
        }
    }
}
