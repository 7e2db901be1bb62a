//! The directory under test: opened once, with what it says of itself.

use std::ffi::CString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use treering_script::{Room, TargetFacts};
use treering_sys::{
    Confinement, EntryBuffer, Errno, FilesystemFacts, LockError, dir_again, fd_path,
    filesystem_facts, lock_exclusive, make_dir, open_top, read_entries,
};

use crate::call::sync::room;
use crate::{RemoveError, Removed, TargetError, remove_tree};

/// An open directory under test. All names of a run are beneath it, wherever it is moved.
#[derive(Debug)]
pub struct Target {
    dir: OwnedFd,
    path: PathBuf,
    given: PathBuf,
    confinement: Confinement,
}

impl Target {
    /// Opens a directory that is there; links in the user's own path are followed.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let dir = open_top(path).map_err(|errno| error("open", path, errno))?;
        let confinement = Confinement::probe(&dir);
        // Where /proc is not mounted the user's words must do.
        let given = path.to_owned();
        let path = fd_path(&dir).unwrap_or_else(|| given.clone());
        Ok(Self { dir, path, given, confinement })
    }

    /// A new directory of this name in it, as a target of its own.
    ///
    /// # Errors
    /// When it cannot be made or opened; also where the name is taken.
    pub fn beneath(&self, name: &str) -> Result<Self, TargetError> {
        let path = self.path.join(name);
        let made = CString::new(name).map_err(|_nul| Errno::INVAL);
        let made = made.and_then(|name| make_dir(self.dir(), &name));
        made.map_err(|errno| error("make", &path, errno))?;
        Self::open(&path)
    }

    /// The same target with another way to confine names: what tests and doctors ask for.
    pub fn confined_by(self, confinement: Confinement) -> Self {
        Self { confinement, ..self }
    }

    /// Who sees to it that names stay beneath.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Its path without links, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path in the words of the user.
    pub fn given(&self) -> &Path {
        &self.given
    }

    /// Its descriptor.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Locks it against a second run, for as long as this target lives.
    ///
    /// # Errors
    /// When somebody else holds it, or the filesystem cannot lock.
    pub fn lock(&self) -> Result<(), LockError> {
        lock_exclusive(&self.dir)
    }

    /// What its filesystem says of itself now.
    ///
    /// # Errors
    /// As `fstatfs`.
    pub fn filesystem(&self) -> Result<FilesystemFacts, TargetError> {
        filesystem_facts(&self.dir).map_err(|errno| error("examine", &self.path, errno))
    }

    /// The room of its filesystem now.
    ///
    /// # Errors
    /// As `fstatfs`.
    pub fn room(&self) -> Result<Room, TargetError> {
        Ok(room(&self.filesystem()?))
    }

    /// What a job may know of it now: names that are there, and room.
    ///
    /// # Errors
    /// When it cannot be listed or examined.
    pub fn facts(&self) -> Result<TargetFacts, TargetError> {
        let filesystem = self.filesystem()?;
        let existing = self.names().map_err(|errno| error("list", &self.path, errno))?;
        Ok(TargetFacts {
            existing,
            block_bytes: filesystem.block_bytes,
            capacity_bytes: filesystem.capacity_bytes,
            free_bytes: filesystem.free_bytes,
            free_inodes: filesystem.free_inodes,
        })
    }

    fn names(&self) -> Result<Vec<String>, Errno> {
        let dir = dir_again(&self.dir)?;
        let mut buffer = EntryBuffer::new(32 * 1024);
        let mut names = Vec::new();
        loop {
            let before = names.len();
            // A name that is no text is none of ours; it only has to be distinguished.
            read_entries(dir.as_fd(), &mut buffer, |name, _kind| {
                names.push(name.to_string_lossy().into_owned());
            })?;
            if names.len() == before {
                names.sort_unstable();
                return Ok(names);
            }
        }
    }

    /// Removes a tree that a run made directly in the target, as [`remove_tree`].
    ///
    /// # Errors
    /// As [`remove_tree`].
    pub fn remove_tree(
        &self,
        name: &str,
        progress: &mut dyn FnMut(&Removed) -> ControlFlow<()>,
    ) -> Result<Removed, RemoveError> {
        remove_tree(self.dir(), self.confinement, name, progress)
    }

    /// Removes what a run made directly in the target: a file, or a tree as [`remove_tree`].
    ///
    /// # Errors
    /// As [`remove_tree`].
    pub fn remove(
        &self,
        name: &str,
        progress: &mut dyn FnMut(&Removed) -> ControlFlow<()>,
    ) -> Result<Removed, RemoveError> {
        crate::places::remove::remove(self.dir(), self.confinement, name, progress)
    }
}

fn error(what: &'static str, path: &Path, errno: Errno) -> TargetError {
    TargetError { what, path: path.to_owned(), source: io::Error::from(errno) }
}
