//! Stores kept as files on a memory filesystem while the filesystem of their final path is under
//! test.
//!
//! Each store has a manifest beside it. The manifest has the name before the store is made, and
//! device and inode afterwards. The run holds a lock on it. Only a file that a manifest lists, with
//! that identity and owned by this user, is ever removed.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_model::Fingerprint;
use treering_sys::{LockError, lock_exclusive, user_id};

const HEADER: &str = "treering staging 1\n";
/// Suffix of the names of staged stores.
pub const STAGED_STORE: &str = ".treering";
const MANIFEST: &str = ".manifest";
/// Maximum size of a manifest.
const MANIFEST_BYTES_MAX: u64 = 4096;
/// SQLite's files beside a store.
const SQLITE_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Reason why a directory cannot hold staged stores.
#[derive(Debug, Error)]
pub enum StagingError {
    /// The directory cannot be made.
    #[error("cannot make {}: {error}", path.display())]
    Unmade {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The directory cannot be examined.
    #[error("{0}")]
    Unread(io::Error),
    /// The directory is not this user's own.
    #[error("{} {why}", path.display())]
    Unfit {
        /// Path of the directory.
        path: PathBuf,
        /// Property that makes it unfit.
        why: &'static str,
    },
}

/// Directory of this user below a shared memory filesystem; the error says why the directory is
/// unusable.
///
/// # Errors
/// When the directory cannot be made or belongs to others.
pub fn own_staging_directory(below: &Path, make: bool) -> Result<PathBuf, StagingError> {
    let user = user_id();
    let directory = below.join(format!("treering-{user}"));
    if make {
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StagingError::Unmade { path: directory, error });
            }
            _ => {}
        }
    }
    let metadata = fs::symlink_metadata(&directory).map_err(StagingError::Unread)?;
    let why = if !metadata.is_dir() {
        "is not a directory"
    } else if metadata.uid() != user {
        "belongs to another user"
    } else if metadata.mode() & 0o077 != 0 {
        "is open to other users"
    } else {
        return Ok(directory);
    };
    Err(StagingError::Unfit { path: directory, why })
}

/// Name prefix of a store's staged files, by which they are found again.
pub fn staged_prefix(place: &Path) -> String {
    let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    format!("{}-", Fingerprint::from_bytes(absolute.as_os_str().as_encoded_bytes()).text())
}

/// Staged stores with this prefix in a directory, each with its manifest, if any.
pub fn staged_files(dir: &Path, prefix: &str) -> Vec<(String, Option<StagedFile>)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut files: Vec<(String, Option<StagedFile>)> = Vec::new();
    for name in names.iter().filter(|name| name.starts_with(prefix)) {
        if let Some(stem) = name.strip_suffix(MANIFEST) {
            let store = format!("{stem}{STAGED_STORE}");
            if let Some(manifest) = StagedFile::read(dir, &store) {
                files.push((store, Some(manifest)));
            }
        }
    }
    for name in names.iter().filter(|name| name.starts_with(prefix) && name.ends_with(STAGED_STORE))
    {
        let is_listed = files.iter().any(|(store, _)| store == name);
        if !is_listed && is_own_file(&dir.join(name)) {
            files.push((name.clone(), None));
        }
    }
    files
}

fn is_own_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| is_own(&metadata))
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.uid() == user_id()
}

/// Record of a staged store, read from its manifest file.
pub struct StagedFile {
    path: PathBuf,
    /// Path of the store.
    pub store: PathBuf,
    /// Device and inode of the store, once it is made.
    made: Option<(u64, u64)>,
    /// Lock on the manifest; `None` while the run that made the store is alive.
    lock: Option<File>,
}

impl StagedFile {
    /// Writes the manifest, then makes the empty store.
    ///
    /// # Errors
    /// When one of the files cannot be made; neither is then left.
    pub fn create(dir: &Path, name: &str) -> io::Result<Self> {
        let (path, store) = Self::paths(dir, name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path)?;
        // Memory filesystems support locks.
        let _locked = lock_exclusive(&file);
        let mut manifest = Self { path, store, made: None, lock: Some(file) };
        match manifest.make(&options) {
            Ok(()) => Ok(manifest),
            Err(error) => {
                let _already_failed = manifest.remove();
                Err(error)
            }
        }
    }

    fn make(&mut self, options: &OpenOptions) -> io::Result<()> {
        let Some(mut file) = self.lock.as_ref() else { return Ok(()) };
        file.write_all(HEADER.as_bytes())?;
        let metadata = options.open(&self.store)?.metadata()?;
        let (device, inode) = (metadata.dev(), metadata.ino());
        self.made = Some((device, inode));
        file.write_all(format!("made {device} {inode}\n").as_bytes())
    }

    fn paths(dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        let stem = name.strip_suffix(STAGED_STORE).unwrap_or(name);
        (dir.join(format!("{stem}{MANIFEST}")), dir.join(name))
    }

    /// Reads the manifest of a store; `None` if there is no manifest of this user.
    fn read(dir: &Path, name: &str) -> Option<Self> {
        let (path, store) = Self::paths(dir, name);
        if !is_own_file(&path) {
            return None;
        }
        let file = OpenOptions::new().read(true).open(&path).ok()?;
        let lives = lock_exclusive(&file) == Err(LockError::Held);
        let mut text = String::new();
        (&file).take(MANIFEST_BYTES_MAX).read_to_string(&mut text).ok()?;
        // A run killed before it made the store left a manifest without contents.
        let lines = text.strip_prefix(HEADER).unwrap_or_default();
        let made = lines.lines().find_map(|line| {
            let (device, inode) = line.strip_prefix("made ")?.split_once(' ')?;
            Some((device.parse().ok()?, inode.parse().ok()?))
        });
        Some(Self { path, store, made, lock: (!lives).then_some(file) })
    }

    /// True if the run that made the store is alive.
    pub fn is_in_use(&self) -> bool {
        self.lock.is_none()
    }

    /// Removes the store, then the manifest.
    ///
    /// # Errors
    /// When the path has another file, or the files cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.store) {
            Ok(there) => {
                // A store whose run was killed before recording its identity is still empty.
                let is_same_file = match self.made {
                    Some(made) => made == (there.dev(), there.ino()),
                    None => there.len() == 0,
                };
                if !is_same_file || !is_own(&there) {
                    let message = "it is another file than the one that was made";
                    return Err(io::Error::other(message));
                }
                remove_staged_files(&self.store)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Removes a staged store of this user and SQLite's files beside it, the store last.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_staged_files(store: &Path) -> io::Result<()> {
    for suffix in SQLITE_SUFFIXES.into_iter().chain([""]) {
        let mut path = store.as_os_str().to_owned();
        path.push(suffix);
        let path = PathBuf::from(path);
        if is_own_file(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
