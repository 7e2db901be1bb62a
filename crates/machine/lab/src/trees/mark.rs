//! The mark of a run in its target directory: a file that its workers append to.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::process::geteuid;
use treering_engine::{FileIdentity, Target, TreeManifest};
use treering_sys::{Errno, FileType, filesystem_id, identity_in, identity_of};

use super::judgement::{RunTree, sort_out};
use super::manifest::{
    MarkContent, MarkedDirectory, directory_line, failed_line, header, made_line, removed_line,
    will_line,
};
use crate::{LabError, PlanIdentity};

/// File name of a mark.
const MARK: &CStr = c".treering-run";
/// Largest accepted mark, in bytes.
const MARK_BYTES_MAX: u64 = 64 << 20;

/// An open mark.
#[derive(Debug)]
struct MarkFile {
    file: File,
    identity: FileIdentity,
}

impl MarkFile {
    fn append(&self, line: &str) -> Result<(), Errno> {
        let written = (&self.file).write_all(line.as_bytes());
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn open(dir: BorrowedFd<'_>, flags: OFlags) -> Result<Self, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(dir, MARK, flags, Mode::from_raw_mode(0o644))?;
        let identity = identity_of(&file)?;
        Ok(Self { file: file.into(), identity })
    }
}

impl TreeManifest for MarkFile {
    fn announce(&self, name: &CStr) -> Result<(), Errno> {
        self.append(&will_line(name))
    }

    fn made(&self, name: &CStr, identity: &FileIdentity) -> Result<(), Errno> {
        self.append(&made_line(name, identity))
    }

    fn not_made(&self, name: &CStr) {
        // A remaining announcement can cause only the removal of an empty directory.
        let _still_announced = self.append(&failed_line(name));
    }

    fn removed(&self, name: &CStr) {
        // A remaining entry is harmless, since no other directory has its identity.
        let _still_listed = self.append(&removed_line(name));
    }
}

/// Mark of the current run.
#[derive(Debug)]
pub(crate) struct RunMark {
    path: PathBuf,
    /// Open file; `None` while the filesystem is unmounted.
    file: Option<Arc<MarkFile>>,
    identity: FileIdentity,
}

impl RunMark {
    /// Writes a mark into a directory; it lists the adopted trees and those made from now on.
    /// Replaces an existing mark, which the caller has found to list nothing.
    pub(crate) fn write(
        target: &mut Target,
        (trial, plan): (&str, Option<&PlanIdentity>),
        adopted: &[RunTree],
    ) -> Result<Self, LabError> {
        let path = path_in(target.path());
        if let Some((identity, _empty)) = read_mark(target)? {
            remove_mark_file(target.dir(), &identity, &path)?;
        }
        let create = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND;
        let made = MarkFile::open(target.dir(), create);
        let file = made.map_err(|errno| LabError::io("cannot make", &path)(errno.into()))?;
        let written = directory_identity(target).and_then(|directory| {
            file.append(&header(trial, plan, &directory))?;
            for tree in adopted {
                let name = CString::new(tree.name.as_str()).map_err(|_nul| Errno::INVAL)?;
                file.made(&name, &tree.made)?;
            }
            file.file.sync_all().map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
        });
        if let Err(errno) = written {
            // A remaining mark is harmless: it lists nothing.
            let _stays_and_lists_nothing = remove_mark_file(target.dir(), &file.identity, &path);
            return Err(LabError::io("cannot write", &path)(errno.into()));
        }
        let (identity, file) = (file.identity, Arc::new(file));
        target.record_in(Some(file.clone()));
        Ok(Self { path, file: Some(file), identity })
    }

    /// Closes the file, so that its filesystem can be unmounted.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Opens the file again in the target's current directory.
    pub(crate) fn reopen(&mut self, target: &mut Target) -> Result<(), LabError> {
        self.path = path_in(target.path());
        let failed = |errno: Errno| LabError::io("cannot open", &self.path)(errno.into());
        let file = MarkFile::open(target.dir(), OFlags::RDWR | OFlags::APPEND).map_err(failed)?;
        if file.identity.inode != self.identity.inode || file.identity.born != self.identity.born {
            return Err(failed(Errno::STALE));
        }
        let directory = directory_identity(target).map_err(failed)?;
        if file.identity.device != self.identity.device {
            file.append(&directory_line(&directory)).map_err(failed)?;
        }
        self.identity = file.identity;
        let file = Arc::new(file);
        target.record_in(Some(file.clone()));
        self.file = Some(file);
        Ok(())
    }

    /// Text of the mark so far; empty if it is no text.
    pub(crate) fn text(&self) -> Result<String, LabError> {
        let failed = LabError::io("cannot read", &self.path);
        let Some(mark) = &self.file else { return Err(failed(Errno::STALE.into())) };
        Ok(read_whole(&mark.file).map_err(failed)?.unwrap_or_default())
    }

    /// Existing trees that the mark lists so far.
    pub(crate) fn made_trees(&self, target: &Target) -> Result<Vec<RunTree>, LabError> {
        let manifest = MarkContent::parse(&self.text()?).unwrap_or_default();
        Ok(if manifest.trees.is_empty() { Vec::new() } else { sort_out(target, &manifest)?.trees })
    }

    /// Removes the mark through the open directory, since the path may now lead elsewhere, as after
    /// `umount -l`.
    pub(crate) fn remove(self, target: &mut Target) -> Result<(), LabError> {
        target.record_in(None);
        remove_mark_file(target.dir(), &self.identity, &self.path)
    }
}

fn path_in(dir: &Path) -> PathBuf {
    dir.join(MARK.to_string_lossy().as_ref())
}

/// Identity of the target directory, as recorded in a mark.
pub(super) fn directory_identity(target: &Target) -> Result<MarkedDirectory, Errno> {
    let identity = identity_of(target.dir())?;
    Ok(MarkedDirectory { identity, filesystem: filesystem_id(target.dir()).unwrap_or(0) })
}

/// Removes the mark that was read in a directory.
pub(super) fn remove_read(target: &Target, mark: &FileIdentity) -> Result<(), LabError> {
    remove_mark_file(target.dir(), mark, &path_in(target.path()))
}

/// Reads the mark in a directory; `None` if there is no mark, or the file of this name is not a
/// mark.
///
/// # Errors
/// When the mark cannot be read, belongs to another user, or was written for another directory.
pub(super) fn read_mark(target: &Target) -> Result<Option<(FileIdentity, MarkContent)>, LabError> {
    let path = path_in(target.path());
    let failed = |errno: Errno| LabError::io("cannot read", &path)(errno.into());
    match identity_in(target.dir(), MARK) {
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(failed(errno)),
        Ok(identity) if identity.kind != FileType::RegularFile => return Ok(None),
        Ok(identity) if identity.user != geteuid().as_raw() => {
            return Err(LabError::MarkOfOther { path, user: identity.user });
        }
        Ok(_ours) => {}
    }
    let mark = MarkFile::open(target.dir(), OFlags::RDONLY).map_err(failed)?;
    if mark.identity.user != geteuid().as_raw() {
        return Err(LabError::MarkOfOther { path, user: mark.identity.user });
    }
    let text = read_whole(&mark.file).map_err(LabError::io("cannot read", &path))?;
    let Some(manifest) = text.and_then(|text| MarkContent::parse(&text)) else { return Ok(None) };
    refuse_mark_from_elsewhere(target, &manifest)?;
    Ok(Some((mark.identity, manifest)))
}

/// Refuses the content of a mark that was written for another directory.
pub(super) fn refuse_mark_from_elsewhere(
    target: &Target,
    manifest: &MarkContent,
) -> Result<(), LabError> {
    let path = path_in(target.path());
    let failed = |errno: Errno| LabError::io("cannot examine", &path)(errno.into());
    let current = directory_identity(target).map_err(failed)?;
    if manifest.directory.is_some_and(|directory| !directory.is_same_directory(&current)) {
        return Err(LabError::MarkFromElsewhere { path });
    }
    Ok(())
}

/// Text of a file; `None` if it is not UTF-8, or longer than any mark.
fn read_whole(file: &File) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    FromStart { file, at: 0 }.take(MARK_BYTES_MAX).read_to_end(&mut bytes)?;
    let is_whole = (bytes.len() as u64) < MARK_BYTES_MAX;
    Ok(String::from_utf8(bytes).ok().filter(|_| is_whole))
}

/// Reader of a file from its start, independent of the file offset.
struct FromStart<'f> {
    file: &'f File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Removes the mark only if the file still has this identity.
pub(super) fn remove_mark_file(
    dir: BorrowedFd<'_>,
    mark: &FileIdentity,
    path: &Path,
) -> Result<(), LabError> {
    let is_same_file = identity_in(dir.as_fd(), MARK).map(|identity| identity.is_same_file(mark));
    let removed = match is_same_file {
        Ok(true) => unlinkat(dir, MARK, AtFlags::empty()),
        Ok(false) => Err(Errno::STALE),
        Err(errno) => Err(errno),
    };
    removed.map_err(|errno| LabError::io("cannot remove", path)(errno.into()))
}
