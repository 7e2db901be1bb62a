//! Tree of a task at work: directories are opened when needed, and stay open.

use treering_script::{DirSlot, Io, Stop};

use super::names::{c_string, directory_path};
use super::shape::RunShape;
use super::tree::DirectoryNumber;

/// Slot of a directory outside of the tree's slots: the test directory, or one that is only
/// visited.
const ASIDE: DirSlot = DirSlot(1);
/// The slot of the first directory of the tree.
const FIRST: u16 = 2;
/// Maximum number of open directories.
const OPEN_MOST: u64 = 1000;

/// Tree with its open directories.
#[derive(Debug)]
pub(super) struct OpenTree<'s> {
    shape: &'s RunShape,
    test: String,
    tree: Option<u16>,
    open: Vec<Option<DirectoryNumber>>,
}

fn slot(directory: DirectoryNumber) -> usize {
    usize::try_from(directory % OPEN_MOST).unwrap_or(0)
}

impl<'s> OpenTree<'s> {
    /// Tree without open directories.
    pub(super) fn new(shape: &'s RunShape, test: String, tree: Option<u16>) -> Self {
        Self { shape, test, tree, open: Vec::new() }
    }

    /// Slot of a directory, which is opened if it is not.
    #[inline]
    pub(super) fn directory(
        &mut self,
        io: &mut dyn Io,
        directory: DirectoryNumber,
    ) -> Result<DirSlot, Stop> {
        let slot = slot(directory);
        let dir = DirSlot(FIRST + u16::try_from(slot).unwrap_or(0));
        if self.open.get(slot).copied().flatten() != Some(directory) {
            let path = directory_path(self.shape, &self.test, self.tree, directory);
            io.open_dir(DirSlot::TARGET, &path, dir)?;
            if self.open.len() <= slot {
                self.open.resize(slot + 1, None);
            }
            self.open[slot] = Some(directory);
        }
        Ok(dir)
    }

    /// Opens a second directory beside another.
    pub(super) fn beside(
        &mut self,
        io: &mut dyn Io,
        directory: DirectoryNumber,
        other: DirectoryNumber,
    ) -> Result<DirSlot, Stop> {
        if directory == other || slot(directory) != slot(other) {
            return self.directory(io, directory);
        }
        let path = directory_path(self.shape, &self.test, self.tree, directory);
        io.open_dir(DirSlot::TARGET, &path, ASIDE)?;
        Ok(ASIDE)
    }

    /// Parent of a directory; for the top of the tree, the test directory.
    pub(super) fn above(
        &mut self,
        io: &mut dyn Io,
        directory: DirectoryNumber,
    ) -> Result<DirSlot, Stop> {
        if let Some(parent) = self.shape.tree.parent(directory) {
            return self.directory(io, parent);
        }
        io.open_dir(DirSlot::TARGET, &c_string(&self.test), ASIDE)?;
        Ok(ASIDE)
    }
}
