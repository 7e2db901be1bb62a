//! Tree traversal: for every directory first its files in directory order, then its subdirectories
//! in that order, recursively. Links are not followed, other mounts are not entered.
//!
//! Paths are not stored: each directory on the current path keeps its descriptor (for the deepest
//! ones only) and the names of pending subdirectories.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, statat};
use treering_model::filesystems::by_magic;
use treering_sys::{
    Confinement, EntryBuffer, Errno, FileAttributes, FileType, attributes, filesystem_facts,
    open_above, open_subdir, read_numbered_entries, reopen_dir, rewind_dir,
};

pub use crate::scan::{ScanError, ScanResult, scan};

/// Limit of open directories on the current path; those above are reopened through `..`.
const OPEN_LEVELS: usize = 128;
/// Limit of stored subdirectory names per directory; larger directories are read again.
const KEPT_NAMES: usize = 4096;

/// Directory entry other than a directory.
#[derive(Clone, Copy, Debug)]
pub struct TreeEntry<'e> {
    /// Open parent directory.
    pub dir: BorrowedFd<'e>,
    /// Device number of the filesystem or subvolume (`st_dev`).
    pub device: u64,
    /// Name in the directory.
    pub name: &'e CStr,
    /// File type.
    pub kind: FileType,
    /// Inode number (`st_ino`).
    pub inode: u64,
}

/// Reason for skipping an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Mount point of another filesystem.
    Mount,
    /// Removed during the walk.
    Vanished,
    /// Could not be opened or read.
    Unreadable,
}

/// Failed action and errno of a call whose error does not concern a single file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkError(pub &'static str, pub Errno);

/// Visitor of a traversal.
pub trait TreeVisitor {
    /// Reason to stop the traversal.
    type Halt: From<WalkError>;

    /// Enters a directory; `name` is `None` for the top.
    ///
    /// # Errors
    /// Stops the traversal.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), Self::Halt>;

    /// Visits an entry of the current directory.
    ///
    /// # Errors
    /// Stops the traversal.
    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<(), Self::Halt>;

    /// Marks the end of the current directory's entries, before its subdirectories.
    fn entries_end(&mut self) {}

    /// Leaves the current directory.
    ///
    /// # Errors
    /// Stops the traversal.
    fn leave(&mut self) -> Result<(), Self::Halt> {
        Ok(())
    }

    /// Counts skipped entries.
    fn passed(&mut self, reason: SkipReason, count: u64);
}

/// Traverses everything beneath a directory.
///
/// # Errors
/// Errors of the visitor, or if directories cannot be opened at all.
pub fn traverse<V: TreeVisitor>(
    confinement: Confinement,
    top: BorrowedFd<'_>,
    visitor: &mut V,
) -> Result<(), V::Halt> {
    let mut buffer = EntryBuffer::new(256 << 10);
    let opened = reopen_dir(top).map_err(|errno| WalkError("open", errno))?;
    let facts = filesystem_facts(&opened).ok();
    let filesystem = facts.and_then(|facts| by_magic(facts.type_magic));
    let numbers_hold = filesystem.is_some_and(|filesystem| filesystem.lists_inodes);
    let mut levels = vec![enter(opened, None, visitor, &mut buffer, numbers_hold)?];
    while let Some(level) = levels.last_mut() {
        let Some(name) = next_name(level, &mut buffer) else {
            visitor.leave()?;
            leave(&mut levels, visitor)?;
            continue;
        };
        let Some(dir) = &level.dir else {
            visitor.leave()?;
            levels.pop();
            continue;
        };
        match open_subdir(confinement, dir.as_fd(), &name) {
            Ok(below) => {
                let below = enter(below, Some(&name), visitor, &mut buffer, numbers_hold)?;
                levels.push(below);
                close_ancestor(&mut levels);
            }
            Err(Errno::XDEV) => visitor.passed(SkipReason::Mount, 1),
            Err(Errno::NOENT) => visitor.passed(SkipReason::Vanished, 1),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                return Err(WalkError("open a directory", errno).into());
            }
            // No permission, or not a directory any more.
            Err(_) => visitor.passed(SkipReason::Unreadable, 1),
        }
    }
    Ok(())
}

/// Directory on the current path.
struct OpenDirectory {
    /// `None` while closed, far above the current directory.
    dir: Option<OwnedFd>,
    id: FileAttributes,
    /// Pending subdirectory names, the next one last.
    pending: Vec<CString>,
    /// True if more names have to be read.
    has_more: bool,
}

/// Leaves a directory. A closed parent is reopened, if it still is the same directory.
fn leave<V: TreeVisitor>(levels: &mut Vec<OpenDirectory>, visitor: &mut V) -> Result<(), V::Halt> {
    let Some(left) = levels.pop() else { return Ok(()) };
    let Some(above) = levels.last_mut() else { return Ok(()) };
    if above.dir.is_some() {
        return Ok(());
    }
    let again = left.dir.as_ref().and_then(|dir| open_above(dir.as_fd()).ok());
    let is_it = |dir: &OwnedFd| {
        attributes(dir).is_ok_and(|id| (id.device, id.inode) == (above.id.device, above.id.inode))
    };
    if let Some(dir) = again.filter(is_it) {
        above.dir = Some(dir);
        return Ok(());
    }
    // The directory was moved: the rest of it and of its parents is out of reach.
    let lost = levels.iter().map(|level| level.pending.len() as u64).sum();
    visitor.passed(SkipReason::Unreadable, lost);
    while levels.pop().is_some() {
        visitor.leave()?;
    }
    Ok(())
}

/// Device and inode number of an entry by `stat`.
fn numbers(dir: &OwnedFd, name: &CStr) -> Option<(u64, u64)> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Enters a directory and visits its entries.
fn enter<V: TreeVisitor>(
    dir: OwnedFd,
    name: Option<&CStr>,
    visitor: &mut V,
    buffer: &mut EntryBuffer,
    numbers_hold: bool,
) -> Result<OpenDirectory, V::Halt> {
    let id = attributes(&dir).map_err(|errno| WalkError("look at a directory", errno))?;
    visitor.enter(dir.as_fd(), name)?;
    let mut level = OpenDirectory { dir: None, id, pending: Vec::new(), has_more: false };
    let mut halt = None;
    loop {
        let mut is_filled = false;
        let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, inode| {
            is_filled = true;
            if kind == FileType::Directory {
                level.note(name);
            } else if halt.is_none() {
                let listed = (id.device, inode);
                let (device, inode) =
                    if numbers_hold { listed } else { numbers(&dir, name).unwrap_or(listed) };
                let entry = TreeEntry { dir: dir.as_fd(), device, name, kind, inode };
                halt = visitor.entry(&entry).err();
            }
        });
        if let Some(halt) = halt {
            return Err(halt);
        }
        match listed {
            Ok(_) if is_filled => {}
            Ok(_) => break,
            Err(_) => {
                visitor.passed(SkipReason::Unreadable, 1);
                break;
            }
        }
    }
    visitor.entries_end();
    level.end_of_files(&dir);
    level.dir = Some(dir);
    Ok(level)
}

impl OpenDirectory {
    /// Stores the name of a subdirectory, up to the limit.
    fn note(&mut self, name: &CStr) {
        if self.pending.len() >= KEPT_NAMES {
            self.has_more = true;
        } else if !self.has_more {
            self.pending.push(name.to_owned());
        }
    }

    /// Ends the first pass: pending names are taken from the end, or read again if there are too
    /// many.
    fn end_of_files(&mut self, dir: &OwnedFd) {
        if self.has_more {
            self.pending.clear();
            // A directory that cannot be rewound has no further names.
            self.has_more = rewind_dir(dir.as_fd()).is_ok();
        }
        self.pending.reverse();
    }
}

/// Next subdirectory to enter.
fn next_name(level: &mut OpenDirectory, buffer: &mut EntryBuffer) -> Option<CString> {
    loop {
        if let Some(name) = level.pending.pop() {
            return Some(name);
        }
        let dir = level.dir.as_ref().filter(|_| level.has_more)?;
        let (mut is_filled, pending) = (false, &mut level.pending);
        let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, _inode| {
            is_filled = true;
            if kind == FileType::Directory {
                pending.push(name.to_owned());
            }
        });
        level.has_more = is_filled && listed.is_ok();
        level.pending.reverse();
    }
}

/// Closes the directory that is now too far above, unless it is still being read.
fn close_ancestor(levels: &mut [OpenDirectory]) {
    let Some(far) = levels.len().checked_sub(OPEN_LEVELS + 1) else { return };
    if let Some(level) = levels.get_mut(far)
        && !level.has_more
    {
        level.dir = None;
    }
}
