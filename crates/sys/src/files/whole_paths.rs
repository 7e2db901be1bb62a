//! Calls by full path, resolved by the kernel from the working directory or from `/` each time,
//! like in tools that work with paths only.
//!
//! Only the last component is not followed if it is a link: the creator of the directories before
//! it ensures that they stay beneath the target.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, mkdirat, mknodat, openat, renameat, stat, statat, unlinkat,
};
use rustix::io::retry_on_intr;

use crate::files::calls::{Errno, FileAttributes, OpenHow};
use crate::files::through::IoPath;

/// Permissions requested by such tools, subject to the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o664);
const DIR_MODE: Mode = Mode::from_raw_mode(0o775);

/// Opens or creates a file.
///
/// # Errors
/// As `openat`; `ELOOP` if it is a link.
#[inline]
pub fn open_by_path(path: &CStr, how: OpenHow, through: IoPath) -> Result<OwnedFd, Errno> {
    let mode = if how.makes() { FILE_MODE } else { Mode::empty() };
    let flags = how.flags().union(through.flags());
    retry_on_intr(|| openat(CWD, path, flags, mode))
}

/// Creates a directory.
///
/// # Errors
/// As `mkdirat`.
#[inline]
pub fn make_dir_by_path(path: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| mkdirat(CWD, path, DIR_MODE))
}

/// Creates a directory for its owner alone (mode 0700).
///
/// # Errors
/// As `mkdirat`.
#[inline]
pub fn make_private_dir_by_path(path: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| mkdirat(CWD, path, Mode::RWXU))
}

/// Creates an empty file for its owner alone, who may read it (mode 0400).
///
/// # Errors
/// As `mknodat`.
#[inline]
pub fn make_node_by_path(path: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| mknodat(CWD, path, FileType::RegularFile, Mode::RUSR, 0))
}

/// Removes an empty directory.
///
/// # Errors
/// As `unlinkat(AT_REMOVEDIR)`.
#[inline]
pub fn remove_dir_by_path(path: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| unlinkat(CWD, path, AtFlags::REMOVEDIR))
}

/// Removes a file, or a link itself.
///
/// # Errors
/// As `unlinkat`.
#[inline]
pub fn unlink_by_path(path: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| unlinkat(CWD, path, AtFlags::empty()))
}

/// Attributes of a file or directory; of a link itself.
///
/// # Errors
/// As `newfstatat`.
#[inline]
pub fn stat_by_path(path: &CStr) -> Result<FileAttributes, Errno> {
    retry_on_intr(|| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)).map(FileAttributes::from)
}

/// Attributes of the target of a path given by the user, following links.
///
/// # Errors
/// As `newfstatat`.
pub fn stat_top(path: &CStr) -> Result<FileAttributes, Errno> {
    retry_on_intr(|| stat(path)).map(FileAttributes::from)
}

/// Renames an entry, possibly into another directory.
///
/// # Errors
/// As `renameat`.
#[inline]
pub fn rename_by_path(from: &CStr, to: &CStr) -> Result<(), Errno> {
    retry_on_intr(|| renameat(CWD, from, CWD, to))
}
