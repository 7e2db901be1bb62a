//! Record of the directories that a run makes directly in its target: each is announced before it
//! is made, and identified afterwards. Later removals rely on this record.

use std::ffi::CStr;
use std::fmt;
use std::os::fd::BorrowedFd;

use treering_sys::{Errno, FileIdentity, identity_in, make_dir, remove_dir};

/// Keeps the record. Workers of a run share it, in threads and in forked processes.
pub trait TreeManifest: fmt::Debug + Send + Sync {
    /// Notes that a directory of this name is going to be made.
    ///
    /// # Errors
    /// When that cannot be kept; the directory is not made then.
    fn announce(&self, name: &CStr) -> Result<(), Errno>;

    /// Notes which directory was made.
    ///
    /// # Errors
    /// When that cannot be kept; the directory is removed again then.
    fn made(&self, name: &CStr, identity: &FileIdentity) -> Result<(), Errno>;

    /// Notes that the directory that was announced could not be made.
    fn not_made(&self, name: &CStr);

    /// Notes that the run removed the directory itself.
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
