//! Directory under test: opened once, with facts about its filesystem.

use std::ffi::CString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_model::filesystems::{by_magic, name_of};
use treering_script::{StatfsSpace, TargetFacts};
use treering_sys::{
    Confinement, EntryBuffer, Errno, FileIdentity, FileType, FilesystemFacts, LockError, fd_path,
    filesystem_facts, identity_in, lock_exclusive, lock_shared, open_subdir, open_top,
    read_entries, reopen_dir,
};

use crate::call::sync::room;
use crate::places::manifest::{TreeManifest, make_recorded};
use crate::places::remove::remove_file;
use crate::{RemovalCounts, RemoveError, TargetError, remove_tree};

/// Open directory under test. All names of a run are beneath it, even if the directory is moved.
#[derive(Debug)]
pub struct Target {
    dir: OwnedFd,
    path: PathBuf,
    user_path: PathBuf,
    confinement: Confinement,
    manifest: Option<Arc<dyn TreeManifest>>,
}

impl Target {
    /// Opens an existing directory; links in the user's own path are followed.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let dir = open_top(path).map_err(|errno| error("open", path, errno))?;
        let confinement = Confinement::probe(&dir);
        // Without /proc the path given by the user must do.
        let user_path = path.to_owned();
        let path = fd_path(&dir).unwrap_or_else(|| user_path.clone());
        Ok(Self { dir, path, user_path, confinement, manifest: None })
    }

    /// Sets the manifest that records entries made directly in the target from now on.
    pub fn record_in(&mut self, manifest: Option<Arc<dyn TreeManifest>>) {
        self.manifest = manifest;
    }

    /// Record of entries that runs make directly in the target.
    pub(crate) fn manifest(&self) -> Option<Arc<dyn TreeManifest>> {
        self.manifest.clone()
    }

    /// Makes a directory of this name in the target, and records it if a record is kept.
    ///
    /// # Errors
    /// When it cannot be made or recorded; also where the name is taken.
    pub fn make_tree(&self, name: &str) -> Result<(), TargetError> {
        let c_name = CString::new(name).map_err(|_nul| Errno::INVAL);
        let made =
            c_name.and_then(|name| make_recorded(self.manifest.as_deref(), self.dir(), &name));
        made.map_err(|errno| error("make", &self.path.join(name), errno))
    }

    /// Identity of the entry of this name in the target.
    ///
    /// # Errors
    /// When there is nothing, or the name is not a plain one.
    pub fn identity(&self, name: &str) -> Result<FileIdentity, TargetError> {
        let c_name = CString::new(name).map_err(|_nul| Errno::INVAL);
        let identity = c_name.and_then(|name| identity_in(self.dir(), &name));
        identity.map_err(|errno| error("examine", &self.path.join(name), errno))
    }

    /// Subdirectory of this name as a target of its own.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn beneath(&self, name: &str) -> Result<Self, TargetError> {
        let path = self.path.join(name);
        let failed = |errno| error("open", &path, errno);
        let c_name = CString::new(name).map_err(|_nul| failed(Errno::INVAL))?;
        let dir = open_subdir(self.confinement, self.dir(), &c_name).map_err(failed)?;
        let (confinement, user_path) = (self.confinement, self.user_path.join(name));
        Ok(Self { dir, path, user_path, confinement, manifest: None })
    }

    /// Sets the confinement method; for tests and `doctor`.
    pub fn confined_by(self, confinement: Confinement) -> Self {
        Self { confinement, ..self }
    }

    /// Confinement method that keeps names beneath the target.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Resolved path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path as given by the user.
    pub fn user_path(&self) -> &Path {
        &self.user_path
    }

    /// Descriptor of the directory.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Locks the directory against a second run, for as long as this target lives.
    ///
    /// # Errors
    /// When another process holds the lock, or the filesystem cannot lock.
    pub fn lock(&self) -> Result<(), LockError> {
        lock_exclusive(&self.dir)
    }

    /// Locks the directory against runs that want it alone, for as long as this target lives.
    ///
    /// # Errors
    /// When a process has it alone, or the filesystem cannot lock.
    pub fn lock_shared(&self) -> Result<(), LockError> {
        lock_shared(&self.dir)
    }

    /// Current `statfs` data of the filesystem.
    ///
    /// # Errors
    /// As `fstatfs`.
    pub fn filesystem(&self) -> Result<FilesystemFacts, TargetError> {
        filesystem_facts(&self.dir).map_err(|errno| error("examine", &self.path, errno))
    }

    /// Current space of the filesystem.
    ///
    /// # Errors
    /// As `fstatfs`.
    pub fn room(&self) -> Result<StatfsSpace, TargetError> {
        Ok(room(&self.filesystem()?))
    }

    /// Current facts for a job: existing names, and space.
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
            has_inode_tables: by_magic(filesystem.type_magic)
                .is_some_and(|kind| kind.has_inode_tables),
            filesystem: name_of(filesystem.type_magic).map(str::to_owned),
        })
    }

    fn names(&self) -> Result<Vec<String>, Errno> {
        let dir = reopen_dir(&self.dir)?;
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
        made: &FileIdentity,
        progress: &mut dyn FnMut(&RemovalCounts) -> ControlFlow<()>,
    ) -> Result<RemovalCounts, RemoveError> {
        remove_tree(self.dir(), self.confinement, (name, made), progress)
    }

    /// Removes a file that a run made directly in the target, or a tree as [`remove_tree`].
    ///
    /// # Errors
    /// As [`remove_tree`].
    pub fn remove(&self, name: &str, made: &FileIdentity) -> Result<(), RemoveError> {
        if made.kind == FileType::Directory {
            return self.remove_tree(name, made, &mut |_| ControlFlow::Continue(())).map(|_| ());
        }
        remove_file(self.dir(), self.confinement, name)
    }
}

fn error(operation: &'static str, path: &Path, errno: Errno) -> TargetError {
    TargetError { operation, path: path.to_owned(), source: io::Error::from(errno) }
}
