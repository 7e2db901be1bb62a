//! Calls by the whole path of each item, for tasks that imitate tools which only know paths: the
//! kernel's path lookup is part of what these tools measure.
//!
//! A directory is not opened; only its path is kept. Before anything is done, the target must still
//! be the directory that was opened; names are restricted as in every other call; and directories
//! on the way are known not to be links, since each was created by this run or opened beneath the
//! target before.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use treering_script::{Call, CallResult, DirSlot};
use treering_sys::{
    Errno, IoPath, attributes, is_single_name, make_dir_by_path, make_node_by_path,
    make_private_dir_by_path, open_by_path, remove_dir_by_path, rename_by_path, stat_by_path,
    stat_top, unlink_by_path,
};

use crate::CallReply;
use crate::call::translated::{created, opened, size_reply};

/// Paths of open directories, and a buffer for the path of an item.
#[derive(Debug)]
pub(super) struct WholePaths {
    /// Paths by slot, each with a trailing slash unless it is empty.
    dirs: Vec<Option<Vec<u8>>>,
    path: Vec<u8>,
    other: Vec<u8>,
}

/// Outcome of a call by path.
pub(super) enum PathOutcome {
    /// The call was made.
    Done(CallReply),
    /// A file was opened for this slot.
    Opened(OwnedFd, u16),
    /// The call does not take a path.
    Other,
}

impl WholePaths {
    /// Paths beneath the target, which start with the path given by the user.
    ///
    /// # Errors
    /// `ESTALE` if another directory now has the name of the target, else as `stat`.
    pub(super) fn new(user_path: &Path, target: impl AsFd) -> Result<Self, Errno> {
        let name = CString::new(user_path.as_os_str().as_bytes()).map_err(|_nul| Errno::INVAL)?;
        let (there, here) = (stat_top(&name)?, attributes(target.as_fd())?);
        if (there.device, there.inode) != (here.device, here.inode) {
            return Err(Errno::STALE);
        }
        let mut top = name.into_bytes();
        match top.as_slice() {
            b"." => top.clear(),
            [.., b'/'] => {}
            _ => top.push(b'/'),
        }
        Ok(Self { dirs: vec![Some(top)], path: Vec::new(), other: Vec::new() })
    }

    /// Path of a directory or of an entry in it, for messages.
    pub(super) fn below(&self, at: DirSlot, name: Option<&CStr>) -> Option<Vec<u8>> {
        let mut path = self.dirs.get(usize::from(at.0)).cloned().flatten()?;
        path.extend_from_slice(name.unwrap_or(c".").to_bytes());
        Some(path)
    }

    /// Makes a call by its whole path, if it takes one.
    #[inline]
    pub(super) fn attempt(
        &mut self,
        call: &Call<'_>,
        through: IoPath,
    ) -> Result<PathOutcome, Errno> {
        let done = match *call {
            Call::Create { at, path, how, into } => {
                let file = open_by_path(self.item(at, path)?, created(how), through)?;
                return Ok(PathOutcome::Opened(file, into.0));
            }
            Call::Open { at, path, how, into } => {
                let file = open_by_path(self.item(at, path)?, opened(how), through)?;
                return Ok(PathOutcome::Opened(file, into.0));
            }
            Call::Stat { at, name } => {
                stat_by_path(self.item(at, name)?)?;
                CallReply::once(CallResult::Plain)
            }
            Call::Size { at, name } => size_reply(&stat_by_path(self.item(at, name)?)?),
            Call::Unlink { at, path } => plain(unlink_by_path(self.item(at, path)?))?,
            Call::MakeDir { at, name } => plain(make_dir_by_path(self.item(at, name)?))?,
            Call::MakePrivateDir { at, name } => {
                plain(make_private_dir_by_path(self.item(at, name)?))?
            }
            Call::MakeNode { at, name } => plain(make_node_by_path(self.item(at, name)?))?,
            Call::RemoveDir { at, name } => plain(remove_dir_by_path(self.item(at, name)?))?,
            Call::Rename { at, from, to_at, to } => {
                put(&mut self.other, &self.dirs, to_at, to)?;
                put(&mut self.path, &self.dirs, at, from)?;
                plain(rename_by_path(closed(&self.path)?, closed(&self.other)?))?
            }
            Call::OpenDir { at, path, into } => {
                self.keep(at, path, into)?;
                CallReply { done: CallResult::Plain, calls: 0 }
            }
            _ => return Ok(PathOutcome::Other),
        };
        Ok(PathOutcome::Done(done))
    }

    #[inline]
    fn item(&mut self, at: DirSlot, name: &CStr) -> Result<&CStr, Errno> {
        put(&mut self.path, &self.dirs, at, name)?;
        closed(&self.path)
    }

    fn keep(&mut self, at: DirSlot, path: &CStr, into: DirSlot) -> Result<(), Errno> {
        put(&mut self.path, &self.dirs, at, path)?;
        let slot = usize::from(into.0);
        if into == DirSlot::TARGET {
            return Err(Errno::BADF);
        }
        if self.dirs.len() <= slot {
            self.dirs.resize(slot + 1, None);
        }
        let kept = self.dirs[slot].get_or_insert_default();
        kept.clear();
        kept.extend_from_slice(&self.path);
        // Replaces the terminating NUL.
        kept.last_mut().into_iter().for_each(|last| *last = b'/');
        Ok(())
    }
}

fn plain(done: Result<(), Errno>) -> Result<CallReply, Errno> {
    done.map(|()| CallReply::once(CallResult::Plain))
}

/// Builds the path of a name, with a terminating NUL.
#[inline]
fn put(
    into: &mut Vec<u8>,
    dirs: &[Option<Vec<u8>>],
    at: DirSlot,
    name: &CStr,
) -> Result<(), Errno> {
    let dir = dirs.get(usize::from(at.0)).and_then(Option::as_ref).ok_or(Errno::BADF)?;
    let bytes = name.to_bytes();
    if !is_single_name(bytes) && !bytes.split(|&byte| byte == b'/').all(is_single_name) {
        return Err(Errno::XDEV);
    }
    into.clear();
    into.extend_from_slice(dir);
    into.extend_from_slice(name.to_bytes_with_nul());
    Ok(())
}

#[inline]
fn closed(path: &[u8]) -> Result<&CStr, Errno> {
    CStr::from_bytes_with_nul(path).map_err(|_| Errno::INVAL)
}
