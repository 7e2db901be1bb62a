//! Stores held in memory while the filesystem of their final path is under test.
//!
//! Each has a manifest beside it: the name before the store is made, device and inode once it is.
//! The manifest is locked as long as the run lives. Only what a manifest lists, of that identity
//! and of this user, is ever removed.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use treering_model::{Fingerprint, TrialId};
use treering_store::{Access, Filter, Store, StoreError, TrialState};
use treering_sys::{LockError, lock_exclusive, user_id};

use crate::failure::{Failure, Kind};
use crate::stores::{failure, open_to_write};

const HEADER: &str = "treering staging 1\n";
const STORE: &str = ".treering";
const MANIFEST: &str = ".manifest";
/// Maximum size of a manifest.
const MANIFEST_BYTES_MAX: u64 = 4096;
/// SQLite's files beside a store.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A store in memory. When dropped, the store stays with its manifest for the next command.
pub(crate) struct StagedStore {
    store: Store,
    manifest: Manifest,
}

impl StagedStore {
    /// Makes a staged store for the final path `place`, in a directory of [`own_dir`]. A failed
    /// start leaves no files.
    pub(crate) fn create(dir: &Path, place: &Path, trial: TrialId) -> Result<Self, Failure> {
        let name = format!("{}{trial}{STORE}", prefix(place));
        let failed = |error: io::Error| {
            let path = dir.join(&name);
            let message = format!("cannot hold results in {}: {error}", path.display());
            Failure::new(Kind::Environment, message)
        };
        let manifest = Manifest::create(dir, &name).map_err(failed)?;
        match open_to_write(&manifest.store) {
            Ok(store) => Ok(Self { store, manifest }),
            Err(failure) => {
                let _named_by_the_next_command = manifest.remove();
                Err(failure)
            }
        }
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The store, to record into.
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Moves the trials into `target` and removes the staged store.
    pub(crate) fn move_into(self, target: &mut Store) -> Result<(), Failure> {
        let Self { store, manifest } = self;
        drop(store);
        if take_over(target, &manifest.store)? {
            manifest.remove().map_err(|error| unremoved(&manifest.store, &error))?;
        }
        Ok(())
    }
}

/// Moves in the trials that killed runs left in memory. Errors are printed, and the trials are kept
/// for a later attempt.
pub(crate) fn take_over_waiting(place: &Path, dirs: &[PathBuf]) {
    for dir in dirs.iter().filter_map(|dir| own_dir(dir, false).ok()) {
        for (name, manifest) in waiting(&dir, &prefix(place)) {
            let path = dir.join(&name);
            if let Err(failure) = take_over_one(place, &path, manifest) {
                eprintln!(
                    "treering: results are still held in {}: {}",
                    path.display(),
                    failure.message()
                );
            }
        }
    }
}

fn take_over_one(place: &Path, staged: &Path, manifest: Option<Manifest>) -> Result<(), Failure> {
    // A run that lives may just be making its store.
    let lives = manifest.as_ref().is_some_and(|manifest| manifest.lock.is_none());
    if !has_trials(staged)? {
        return match manifest {
            Some(_) if lives => Ok(()),
            Some(manifest) => manifest.remove().map_err(|error| unremoved(staged, &error)),
            None => remove_files(staged).map_err(|error| unremoved(staged, &error)),
        };
    }
    let mut store = open_to_write(place)?;
    if !take_over(&mut store, staged)? || lives {
        return Ok(());
    }
    let removed = match manifest {
        Some(manifest) => manifest.remove(),
        // An earlier version wrote no manifests; its trials are in their place now.
        None => remove_files(staged),
    };
    removed.map_err(|error| unremoved(staged, &error))
}

fn unremoved(staged: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot remove {}: {error}", staged.display());
    Failure::new(Kind::Environment, message)
}

/// True if a staged store holds at least one trial.
fn has_trials(staged: &Path) -> Result<bool, Failure> {
    match Store::open(staged, Access::ReadOnly) {
        Ok(store) => {
            let trials = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
            Ok(!trials.is_empty())
        }
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => Ok(false),
        Err(error) => Err(failure(&error)),
    }
}

/// Copies the trials of a staged store; true if every trial has ended, so that the staged store can
/// be removed.
fn take_over(store: &mut Store, staged: &Path) -> Result<bool, Failure> {
    store.absorb(staged).map_err(|error| failure(&error))?;
    let waiting = Store::open(staged, Access::ReadOnly).map_err(|error| failure(&error))?;
    let trials = waiting.trials(&Filter::default()).map_err(|error| failure(&error))?;
    Ok(!trials.iter().any(|trial| trial.state == TrialState::Running))
}

/// Directory of this user below a shared memory filesystem; the error says why the directory is
/// unusable.
pub(crate) fn own_dir(below: &Path, make: bool) -> Result<PathBuf, String> {
    let user = user_id();
    let own = below.join(format!("treering-{user}"));
    if make {
        match DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(format!("cannot make {}: {error}", own.display()));
            }
            _ => {}
        }
    }
    let metadata = fs::symlink_metadata(&own).map_err(|error| error.to_string())?;
    let why = if !metadata.is_dir() {
        "is not a directory"
    } else if metadata.uid() != user {
        "belongs to another user"
    } else if metadata.mode() & 0o077 != 0 {
        "is open to other users"
    } else {
        return Ok(own);
    };
    Err(format!("{} {why}", own.display()))
}

/// Name prefix of the staged files of a store, by which a store finds its own.
fn prefix(place: &Path) -> String {
    let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    format!("{}-", Fingerprint::from_bytes(absolute.as_os_str().as_encoded_bytes()).text())
}

/// Staged stores of a store path in a directory, each with its manifest, if any.
fn waiting(dir: &Path, prefix: &str) -> Vec<(String, Option<Manifest>)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut found: Vec<(String, Option<Manifest>)> = Vec::new();
    for name in names.iter().filter(|name| name.starts_with(prefix)) {
        if let Some(stem) = name.strip_suffix(MANIFEST) {
            let store = format!("{stem}{STORE}");
            if let Some(manifest) = Manifest::read(dir, &store) {
                found.push((store, Some(manifest)));
            }
        }
    }
    for name in names.iter().filter(|name| name.starts_with(prefix) && name.ends_with(STORE)) {
        let is_listed = found.iter().any(|(store, _)| store == name);
        if !is_listed && is_own_file(&dir.join(name)) {
            found.push((name.clone(), None));
        }
    }
    found
}

fn is_own_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| is_own(&metadata))
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.uid() == user_id()
}

/// Record of a staged store, read from its manifest file.
struct Manifest {
    path: PathBuf,
    store: PathBuf,
    /// Device and inode of the store, once made.
    made: Option<(u64, u64)>,
    /// Lock on the manifest; `None` while the run that made the store is alive.
    lock: Option<File>,
}

impl Manifest {
    /// Writes the manifest, then makes the empty store.
    fn create(dir: &Path, name: &str) -> io::Result<Self> {
        let (path, store) = Self::paths(dir, name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path)?;
        // Memory filesystems have locks.
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
        let stem = name.strip_suffix(STORE).unwrap_or(name);
        (dir.join(format!("{stem}{MANIFEST}")), dir.join(name))
    }

    /// Reads the manifest of a store; `None` if there is none that belongs to this user.
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

    /// Removes the store, then the manifest.
    fn remove(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.store) {
            Ok(there) => {
                // Killed before its identity was known, it was empty.
                let is_it = match self.made {
                    Some(made) => made == (there.dev(), there.ino()),
                    None => there.len() == 0,
                };
                if !is_it || !is_own(&there) {
                    let message = "it is another file than the one that was made";
                    return Err(io::Error::other(message));
                }
                remove_files(&self.store)?;
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
fn remove_files(store: &Path) -> io::Result<()> {
    for suffix in BESIDE.into_iter().chain([""]) {
        let mut path = store.as_os_str().to_owned();
        path.push(suffix);
        let path = PathBuf::from(path);
        if is_own_file(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
