//! Through a tree: every directory, first what is in it besides directories in the order of its
//! entries, then the directories in that order, each with all that is beneath it. Nothing is
//! followed, no other mount is entered.
//!
//! No path is kept: of each directory on the way down its descriptor (of the deepest ones only) and
//! the names that are yet to be entered.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, statat};
use treering_model::filesystems::by_magic;
use treering_sys::{
    Attributes, Confinement, EntryBuffer, Errno, FileType, attributes, dir_again, filesystem_facts,
    open_above, open_subdir, read_numbered_entries, rewind_dir,
};

pub use crate::scan::{Scan, ScanError, scan};

/// Directories that are held open on the way down; those above are opened again from below.
const OPEN_LEVELS: usize = 128;
/// Names of directories that are kept of one directory; one with more is read once more.
const KEPT_NAMES: usize = 4096;

/// Something in a directory that is none itself.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'e> {
    /// The directory, as it is open.
    pub dir: BorrowedFd<'e>,
    /// The number of its filesystem or subvolume (`st_dev`).
    pub device: u64,
    /// Its name.
    pub name: &'e CStr,
    /// What it is.
    pub kind: FileType,
    /// Its number there (`st_ino`).
    pub inode: u64,
}

/// What was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Something else is mounted there.
    Mount,
    /// It was removed meanwhile.
    Vanished,
    /// It could not be opened or read.
    Unreadable,
}

/// A call failed whose failure is not one of a single file: what was to be done, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkError(pub &'static str, pub Errno);

/// Whoever is led through a tree.
pub trait Visit {
    /// Why it wants to go no further.
    type Halt: From<WalkError>;

    /// A directory: its name, none for the top.
    ///
    /// # Errors
    /// When it wants to go no further.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: Option<&CStr>) -> Result<(), Self::Halt>;

    /// Something in the directory that was entered last.
    ///
    /// # Errors
    /// When it wants to go no further.
    fn entry(&mut self, entry: &Entry<'_>) -> Result<(), Self::Halt>;

    /// That was all of it but for its directories.
    fn entries_end(&mut self) {}

    /// The directory that was entered last, of those that were not left, is left.
    ///
    /// # Errors
    /// When it wants to go no further.
    fn leave(&mut self) -> Result<(), Self::Halt> {
        Ok(())
    }

    /// So many things were passed over.
    fn passed(&mut self, what: Passed, count: u64);
}

/// Leads somebody through everything beneath a directory.
///
/// # Errors
/// What they say, or when directories cannot be opened at all.
pub fn traverse<V: Visit>(
    confinement: Confinement,
    top: BorrowedFd<'_>,
    visitor: &mut V,
) -> Result<(), V::Halt> {
    let mut buffer = EntryBuffer::new(256 << 10);
    let opened = dir_again(top).map_err(|errno| WalkError("open", errno))?;
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
                close_one_above(&mut levels);
            }
            Err(Errno::XDEV) => visitor.passed(Passed::Mount, 1),
            Err(Errno::NOENT) => visitor.passed(Passed::Vanished, 1),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                return Err(WalkError("open a directory", errno).into());
            }
            // Without permission, or not a directory any more.
            Err(_) => visitor.passed(Passed::Unreadable, 1),
        }
    }
    Ok(())
}

/// A directory on the way down.
struct Level {
    /// `None` while it is closed, being far above.
    dir: Option<OwnedFd>,
    id: Attributes,
    /// Names yet to be entered, the next one last.
    pending: Vec<CString>,
    /// Whether more of them are to be read.
    has_more: bool,
}

/// Goes up; a directory that was closed is opened again, if it still is the one below which we
/// were.
fn leave<V: Visit>(levels: &mut Vec<Level>, visitor: &mut V) -> Result<(), V::Halt> {
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
    // It was moved: what was left of it, and of those above, is out of reach.
    let lost = levels.iter().map(|level| level.pending.len() as u64).sum();
    visitor.passed(Passed::Unreadable, lost);
    while levels.pop().is_some() {
        visitor.leave()?;
    }
    Ok(())
}

/// The numbers of a file's filesystem and of the file, as `stat` tells them.
fn numbers(dir: &OwnedFd, name: &CStr) -> Option<(u64, u64)> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// Shows what is in a directory.
fn enter<V: Visit>(
    dir: OwnedFd,
    name: Option<&CStr>,
    visitor: &mut V,
    buffer: &mut EntryBuffer,
    numbers_hold: bool,
) -> Result<Level, V::Halt> {
    let id = attributes(&dir).map_err(|errno| WalkError("look at a directory", errno))?;
    visitor.enter(dir.as_fd(), name)?;
    let mut level = Level { dir: None, id, pending: Vec::new(), has_more: false };
    let mut halt = None;
    loop {
        let mut found = false;
        let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, inode| {
            found = true;
            if kind == FileType::Directory {
                level.note(name);
            } else if halt.is_none() {
                let listed = (id.device, inode);
                let (device, inode) =
                    if numbers_hold { listed } else { numbers(&dir, name).unwrap_or(listed) };
                let entry = Entry { dir: dir.as_fd(), device, name, kind, inode };
                halt = visitor.entry(&entry).err();
            }
        });
        if let Some(halt) = halt {
            return Err(halt);
        }
        match listed {
            Ok(_) if found => {}
            Ok(_) => break,
            Err(_) => {
                visitor.passed(Passed::Unreadable, 1);
                break;
            }
        }
    }
    visitor.entries_end();
    level.end_of_files(&dir);
    level.dir = Some(dir);
    Ok(level)
}

impl Level {
    /// Keeps the name of a directory, as long as there are not too many.
    fn note(&mut self, name: &CStr) {
        if self.pending.len() >= KEPT_NAMES {
            self.has_more = true;
        } else if !self.has_more {
            self.pending.push(name.to_owned());
        }
    }

    /// All files were met: names are taken from the end, or, where there are too many, read anew.
    fn end_of_files(&mut self, dir: &OwnedFd) {
        if self.has_more {
            self.pending.clear();
            // A directory that cannot be rewound is at its end.
            self.has_more = rewind_dir(dir.as_fd()).is_ok();
        }
        self.pending.reverse();
    }
}

/// The next directory to be entered.
fn next_name(level: &mut Level, buffer: &mut EntryBuffer) -> Option<CString> {
    loop {
        if let Some(name) = level.pending.pop() {
            return Some(name);
        }
        let dir = level.dir.as_ref().filter(|_| level.has_more)?;
        let (mut found, pending) = (false, &mut level.pending);
        let listed = read_numbered_entries(dir.as_fd(), buffer, |name, kind, _inode| {
            found = true;
            if kind == FileType::Directory {
                pending.push(name.to_owned());
            }
        });
        level.has_more = found && listed.is_ok();
        level.pending.reverse();
    }
}

/// Closes the lowest directory that is too far above, unless it is being read.
fn close_one_above(levels: &mut [Level]) {
    let Some(far) = levels.len().checked_sub(OPEN_LEVELS + 1) else { return };
    if let Some(level) = levels.get_mut(far)
        && !level.has_more
    {
        level.dir = None;
    }
}
