//! Record of the directories that a run makes directly in its target: each is announced before it
//! is made, and identified afterwards. Later removals rely on this record.

use std::ffi::CStr;
use std::fmt;
use std::os::fd::BorrowedFd;

use treering_sys::{Errno, FileIdentity, identity_in, make_dir, remove_dir};

/// Manifest of the created directories. Workers of a run share it, in threads and in forked
/// processes.
pub trait TreeManifest: fmt::Debug + Send + Sync {
    /// Records that a directory of this name is about to be created.
    ///
    /// # Errors
    /// When it cannot be recorded; the directory is then not created.
    fn announce(&self, name: &CStr) -> Result<(), Errno>;

    /// Records the identity of a created directory.
    ///
    /// # Errors
    /// When it cannot be recorded; the directory is then removed again.
    fn made(&self, name: &CStr, identity: &FileIdentity) -> Result<(), Errno>;

    /// Records that an announced directory could not be created.
    fn not_made(&self, name: &CStr);

    /// Records that the run itself removed the directory.
    fn removed(&self, name: &CStr);
}

/// Announces a directory, unless its name is taken: an existing entry is not the run's.
pub(crate) fn announce(
    manifest: &dyn TreeManifest,
    dir: BorrowedFd<'_>,
    name: &CStr,
) -> Result<(), Errno> {
    match identity_in(dir, name) {
        Ok(_not_ours) => Ok(()),
        Err(_) => manifest.announce(name),
    }
}

/// Records the identity of a directory just made, which is still empty; the directory is removed if
/// it cannot be recorded.
pub(crate) fn identify(
    manifest: &dyn TreeManifest,
    dir: BorrowedFd<'_>,
    name: &CStr,
) -> Result<(), Errno> {
    let identified = identity_in(dir, name).and_then(|identity| manifest.made(name, &identity));
    if identified.is_err() && remove_dir(dir, name).is_ok() {
        manifest.not_made(name);
    }
    identified
}

/// Makes a directory, and records it if a manifest is given.
pub(crate) fn make_recorded(
    manifest: Option<&dyn TreeManifest>,
    dir: BorrowedFd<'_>,
    name: &CStr,
) -> Result<(), Errno> {
    let Some(manifest) = manifest else { return make_dir(dir, name) };
    announce(manifest, dir, name)?;
    match make_dir(dir, name) {
        Ok(()) => identify(manifest, dir, name),
        Err(errno) => {
            manifest.not_made(name);
            Err(errno)
        }
    }
}
