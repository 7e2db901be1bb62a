//! Copies a whole tree into another directory, in the order of a walk.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use thiserror::Error;
use treering_model::CopiedTree;
use treering_observe::tree::{SkipReason, TreeEntry, TreeVisitor, WalkError, traverse};
use treering_sys::{Confinement, Errno, StopFlag};

use super::{CopyError, ImageCopier};

/// Error of a copy of a tree.
#[derive(Debug, Error)]
pub enum TreeCopyError {
    /// A signal stopped the copy.
    #[error("interrupted")]
    Stopped,
    /// A call failed while walking the tree: action and errno.
    #[error("cannot {0}: {1}")]
    Walk(&'static str, Errno),
    /// An entry cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

/// Copies everything beneath `from` into the directory `to`: names, content with holes, links,
/// modes, owners and times. What cannot be read is counted.
///
/// # Errors
/// When the tree cannot be walked, the copy cannot be written, or the flag is raised.
pub fn copy_tree(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    stop: &StopFlag,
) -> Result<CopiedTree, TreeCopyError> {
    let mut copying = WholeCopy { copier: ImageCopier::new(from, to.as_fd())?, stop };
    traverse(Confinement::probe(from), from, &mut copying)?;
    Ok(copying.copier.copied())
}

/// Visitor of a walk that copies each entry.
struct WholeCopy<'s> {
    copier: ImageCopier,
    stop: &'s StopFlag,
}

impl From<WalkError> for TreeCopyError {
    fn from(WalkError(action, errno): WalkError) -> Self {
        Self::Walk(action, errno)
    }
}

impl TreeVisitor for WholeCopy<'_> {
    type Halt = TreeCopyError;

    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), TreeCopyError> {
        Ok(name.map_or(Ok(()), |name| self.copier.enter(dir, name))?)
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), TreeCopyError> {
        if self.stop.is_raised() {
            return Err(TreeCopyError::Stopped);
        }
        Ok(self.copier.entry(entry.dir, entry.name, entry.kind)?)
    }

    fn leave(&mut self) -> Result<(), TreeCopyError> {
        Ok(self.copier.leave()?)
    }

    fn passed(&mut self, what: SkipReason, count: u64) {
        if what != SkipReason::Mount {
            self.copier.failed(count);
        }
    }
}
