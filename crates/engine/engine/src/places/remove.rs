//! Removal of a tree that a run created, and of nothing else.
//!
//! Only entries beneath one directory are removed: links are removed and never followed, and a
//! mount inside the tree stops the removal. There is no recursion: each level costs a descriptor,
//! not stack.

use std::ffi::{CStr, CString};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use thiserror::Error;
use treering_sys::{
    Confinement, EntryBuffer, Errno, FileIdentity, FileType, fd_path, identity_of, is_single_name,
    open_subdir, read_entries, remove_dir, rewind_dir, unlink,
};

/// Numbers of removed entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovalCounts {
    /// Number of files, and of other entries that are no directories.
    pub files: u64,
    /// Directories.
    pub dirs: u64,
}

/// Reason why a tree, or a part of it, was not removed.
#[derive(Debug, Error)]
pub enum RemoveError {
    /// The name is not that of an entry directly in the directory.
    #[error("{name:?} is not a plain name; only a tree directly in the target is removed")]
    NotPlain {
        /// The given name.
        name: String,
    },
    /// A different directory now has the name of the tree.
    #[error("{} is not the directory that was made; it stays", path.display())]
    NotTheSame {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Another filesystem is mounted inside.
    #[error("{} is on another mount; unmount it first", path.display())]
    OtherMount {
        /// Path of the mount point.
        path: PathBuf,
    },
    /// A call failed.
    #[error("{operation} {}: {source}", path.display())]
    Call {
        /// Failed operation: `open`, `list` or `remove`.
        operation: &'static str,
        /// Path the operation was about.
        path: PathBuf,
        /// System error.
        #[source]
        source: io::Error,
    },
    /// The `progress` callback requested a stop.
    #[error("stopped after {} files and {} directories", .0.files, .0.dirs)]
    Stopped(RemovalCounts),
}

/// Directory that is being emptied.
struct DirLevel {
    name: CString,
    dir: OwnedFd,
    /// Subdirectories still to be removed.
    pending: Vec<CString>,
    /// True if an entry was removed since the last listing.
    progressed: bool,
}

/// Removes the directory of this name and identity in `dir` with all its contents. `progress` is
/// called after each batch of entries and may stop the removal.
///
/// # Errors
/// When the name is not a plain one, another directory has it, something is mounted inside, a call
/// fails, or `progress` says stop. What was removed stays removed.
pub fn remove_tree(
    dir: BorrowedFd<'_>,
    confinement: Confinement,
    (name, made): (&str, &FileIdentity),
    progress: &mut dyn FnMut(&RemovalCounts) -> ControlFlow<()>,
) -> Result<RemovalCounts, RemoveError> {
    let plain = CString::new(name).ok().filter(|name| is_single_name(name.to_bytes()));
    let plain = plain.ok_or_else(|| RemoveError::NotPlain { name: name.to_owned() })?;
    let mut removal = TreeRemoval {
        confinement,
        buffer: EntryBuffer::new(32 * 1024),
        removed: RemovalCounts::default(),
        progress,
    };
    let mut top = removal.open(dir, plain)?;
    let opened = identity_of(&top.dir).map_err(|errno| failed("open", dir, Some(&top.name), errno));
    if !opened?.is_same_file(made) {
        return Err(RemoveError::NotTheSame { path: path_of(dir, Some(&top.name)) });
    }
    removal.empty(&mut top)?;
    let mut levels = vec![top];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.pending.pop() {
            let mut below = removal.open(level.dir.as_fd(), name)?;
            removal.empty(&mut below)?;
            levels.push(below);
            continue;
        }
        let Some(level) = levels.pop() else { break };
        let parent = levels.last().map_or(dir, |above| above.dir.as_fd());
        match removal.leave(parent, level)? {
            Some(again) => levels.push(again),
            None => {
                if let Some(above) = levels.last_mut() {
                    above.progressed = true;
                }
            }
        }
    }
    Ok(removal.removed)
}

/// Removes the file `name` in `dir`; a missing file is not an error.
///
/// # Errors
/// When the name is not a plain one, or is that of a directory, or the call fails.
pub(crate) fn remove_file(
    dir: BorrowedFd<'_>,
    confinement: Confinement,
    name: &str,
) -> Result<(), RemoveError> {
    let plain = CString::new(name).ok().filter(|name| is_single_name(name.to_bytes()));
    let plain = plain.ok_or_else(|| RemoveError::NotPlain { name: name.to_owned() })?;
    match unlink(confinement, dir, &plain) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("remove", dir, Some(&plain), errno)),
    }
}

struct TreeRemoval<'p> {
    confinement: Confinement,
    buffer: EntryBuffer,
    removed: RemovalCounts,
    progress: &'p mut dyn FnMut(&RemovalCounts) -> ControlFlow<()>,
}

impl TreeRemoval<'_> {
    /// Opens a directory.
    fn open(&self, parent: BorrowedFd<'_>, name: CString) -> Result<DirLevel, RemoveError> {
        let dir = open_subdir(self.confinement, parent, &name).map_err(|errno| match errno {
            Errno::XDEV => RemoveError::OtherMount { path: path_of(parent, Some(&name)) },
            errno => failed("open", parent, Some(&name), errno),
        })?;
        Ok(DirLevel { name, dir, pending: Vec::new(), progressed: false })
    }

    /// Removes the files of a directory and collects its subdirectories.
    fn empty(&mut self, level: &mut DirLevel) -> Result<(), RemoveError> {
        let dir = level.dir.as_fd();
        loop {
            let mut names = Vec::new();
            let listed = read_entries(dir, &mut self.buffer, |name, kind| {
                names.push((name.to_owned(), kind == FileType::Directory));
            });
            listed.map_err(|errno| failed("list", dir, None, errno))?;
            if names.is_empty() {
                return Ok(());
            }
            for (name, is_dir) in names {
                if is_dir {
                    level.pending.push(name);
                    continue;
                }
                match unlink(self.confinement, dir, &name) {
                    Ok(()) => self.removed.files += 1,
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(failed("remove", dir, Some(&name), errno)),
                }
                level.progressed = true;
            }
            if (self.progress)(&self.removed).is_break() {
                return Err(RemoveError::Stopped(self.removed));
            }
        }
    }

    /// Removes an emptied directory. Returns it if it was not empty after all: some filesystems
    /// leave entries out of a listing while others are removed.
    fn leave(
        &mut self,
        parent: BorrowedFd<'_>,
        mut level: DirLevel,
    ) -> Result<Option<DirLevel>, RemoveError> {
        match remove_dir(parent, &level.name) {
            Ok(()) => {
                self.removed.dirs += 1;
                Ok(None)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTEMPTY) if level.progressed => {
                level.progressed = false;
                let dir = level.dir.as_fd();
                rewind_dir(dir).map_err(|errno| failed("list", dir, None, errno))?;
                self.empty(&mut level)?;
                Ok(Some(level))
            }
            Err(errno) => Err(failed("remove", parent, Some(&level.name), errno)),
        }
    }
}

fn path_of(dir: BorrowedFd<'_>, name: Option<&CStr>) -> PathBuf {
    let dir = fd_path(dir).unwrap_or_default();
    match name {
        None => dir,
        Some(name) => dir.join(name.to_string_lossy().as_ref()),
    }
}

fn failed(
    operation: &'static str,
    dir: BorrowedFd<'_>,
    name: Option<&CStr>,
    errno: Errno,
) -> RemoveError {
    RemoveError::Call { operation, path: path_of(dir, name), source: errno.into() }
}
