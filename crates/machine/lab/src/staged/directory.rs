//! Directories with known files, which are removed after use, even if the process was killed.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use treering_model::TrialId;
use treering_sys::{lock_exclusive, user_id};

/// Name of the lock file in each directory.
const LOCK: &str = "lock";
/// Age from which a directory without a lock counts as abandoned; a younger one may be in the
/// making.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// Error of making a directory.
#[derive(Debug, Error)]
#[error("{}: {error}", path.display())]
pub struct HeldDirectoryError {
    /// Path of the directory.
    pub path: PathBuf,
    /// Error of the system.
    pub error: io::Error,
}

/// Directory with these files in it; both are removed on drop.
#[derive(Debug)]
pub struct HeldDirectory {
    path: PathBuf,
    files: &'static [&'static str],
    /// Lock held while the directory is used; the kernel releases it if the process is killed.
    _lock: File,
}

impl HeldDirectory {
    /// Makes a directory with a new name that begins with `prefix`, and removes similar directories
    /// that killed processes left beside it.
    ///
    /// # Errors
    /// When the directory or its lock file cannot be made.
    pub fn make(
        parent: &Path,
        prefix: &str,
        files: &'static [&'static str],
    ) -> Result<Self, HeldDirectoryError> {
        remove_abandoned(parent, prefix, files);
        let path = parent.join(format!("{prefix}{}", TrialId::new().text()));
        let failed = |error| HeldDirectoryError { path: path.clone(), error };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(failed)?;
        let lock = File::create(path.join(LOCK)).map_err(failed)?;
        // Without lock support, the remains of a killed process are not removed.
        let _unsupported = lock_exclusive(&lock);
        Ok(Self { path, files, _lock: lock })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        remove(&self.path, self.files);
    }
}

/// Removes the remains of this user's killed processes: unlocked directories that contain only
/// these files.
fn remove_abandoned(parent: &Path, prefix: &str, files: &[&str]) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_named_so = entry.file_name().to_string_lossy().starts_with(prefix);
        // Uses the metadata of the entry itself, without following links.
        let is_own_dir = |metadata: fs::Metadata| metadata.is_dir() && metadata.uid() == user_id();
        if !is_named_so || !entry.metadata().is_ok_and(is_own_dir) {
            continue;
        }
        let dir = entry.path();
        let is_abandoned = match File::open(dir.join(LOCK)) {
            Ok(lock) => lock_exclusive(&lock).is_ok(),
            Err(_) => {
                let made = entry.metadata().and_then(|metadata| metadata.modified());
                made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > ABANDONED_AGE))
            }
        };
        if is_abandoned {
            remove(&dir, files);
        }
    }
}

/// Removes the files and their directory, unless it contains other files.
fn remove(dir: &Path, files: &[&str]) {
    for name in files.iter().chain([&LOCK]) {
        let _not_made = fs::remove_file(dir.join(name));
    }
    let _left_behind = fs::remove_dir(dir);
}
