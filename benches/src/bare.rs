//! Bare loops: a tree made by nothing but the system calls it takes, as lean as we can write them.
//!
//! No check, no count, no record; one buffer for all files. What treering costs is reported against
//! these. Paths are confined by nothing here: the names come from our own data sets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::{Errno, write};

use crate::flat::{FlatTree, Move};

const FILE_FLAGS: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
const DIR_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIR_MODE: Mode = Mode::from_raw_mode(0o777);

/// Makes a tree named `top` in `at`, every name relative to its open directory.
///
/// # Errors
/// The first call that fails.
pub fn by_directory(
    at: BorrowedFd<'_>,
    top: &str,
    tree: &FlatTree,
    buffer: &[u8],
) -> Result<(), Errno> {
    mkdirat(at, top, DIR_MODE)?;
    let mut above: Vec<OwnedFd> = Vec::with_capacity(64);
    let mut dir = openat(at, top, DIR_FLAGS, Mode::empty())?;
    for step in &tree.moves {
        match *step {
            Move::File(name, size) => {
                let file = openat(&dir, tree.name(name), FILE_FLAGS, FILE_MODE)?;
                fill(file.as_fd(), size, buffer)?;
            }
            Move::Enter(name) => {
                let name = tree.name(name);
                mkdirat(&dir, name, DIR_MODE)?;
                let below = openat(&dir, name, DIR_FLAGS, Mode::empty())?;
                above.push(std::mem::replace(&mut dir, below));
            }
            Move::Leave => dir = above.pop().expect("moves leave what they entered"),
        }
    }
    Ok(())
}

/// Makes a tree in `at` by full paths: a [`FlatTree::below`] its top's name.
///
/// # Errors
/// The first call that fails.
pub fn by_path(at: BorrowedFd<'_>, top: &str, tree: &FlatTree, buffer: &[u8]) -> Result<(), Errno> {
    mkdirat(at, top, DIR_MODE)?;
    for step in &tree.moves {
        match *step {
            Move::File(name, size) => {
                let file = openat(at, tree.path(name), FILE_FLAGS, FILE_MODE)?;
                fill(file.as_fd(), size, buffer)?;
            }
            Move::Enter(name) => mkdirat(at, tree.path(name), DIR_MODE)?,
            Move::Leave => {}
        }
    }
    Ok(())
}

#[inline]
fn fill(file: BorrowedFd<'_>, size: u64, buffer: &[u8]) -> Result<(), Errno> {
    let mut left = size;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        left -= write(file, &buffer[..wanted])? as u64;
    }
    Ok(())
}
