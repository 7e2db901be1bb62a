//! Stores held in memory while the filesystem of their final path is under test.

use std::io;
use std::path::{Path, PathBuf};

use treering_conduct::{Failure, Host};
use treering_lab::{
    STAGED_STORE, StagedFile, own_staging_directory, remove_staged_files, staged_files,
    staged_prefix,
};
use treering_model::TrialId;
use treering_store::{Access, Filter, Store, StoreError, TrialState};

use crate::store_error::{failure, open_to_write};

/// A store in memory. If this is dropped, the store and its manifest stay for the next command.
pub(crate) struct StagedStore {
    store: Store,
    manifest: StagedFile,
}

impl StagedStore {
    /// Makes a staged store for the final path `place`, in a directory of this user. A failed
    /// start leaves no files.
    pub(crate) fn create(dir: &Path, place: &Path, trial: TrialId) -> Result<Self, Failure> {
        let name = format!("{}{trial}{STAGED_STORE}", staged_prefix(place));
        let failed = |error: io::Error| {
            let path = dir.join(&name);
            let message = format!("cannot hold results in {}: {error}", path.display());
            Failure::environment(message)
        };
        let manifest = StagedFile::create(dir, &name).map_err(failed)?;
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

/// Moves trials that killed runs left in memory into their store. Errors are printed, and the
/// trials are kept for a later attempt.
pub(crate) fn take_over_waiting(place: &Path, dirs: &[PathBuf], host: &dyn Host) {
    for dir in dirs.iter().filter_map(|dir| own_staging_directory(dir, false).ok()) {
        for (name, manifest) in staged_files(&dir, &staged_prefix(place)) {
            let path = dir.join(&name);
            if let Err(failure) = take_over_one(place, &path, manifest) {
                let (path, why) = (path.display(), failure.message());
                host.say(&format!("treering: results are still held in {path}: {why}"));
            }
        }
    }
}

fn take_over_one(place: &Path, staged: &Path, manifest: Option<StagedFile>) -> Result<(), Failure> {
    // A running trial may just be creating its store.
    let lives = manifest.as_ref().is_some_and(StagedFile::is_in_use);
    if !has_trials(staged)? {
        return match manifest {
            Some(_) if lives => Ok(()),
            Some(manifest) => manifest.remove().map_err(|error| unremoved(staged, &error)),
            None => remove_staged_files(staged).map_err(|error| unremoved(staged, &error)),
        };
    }
    let mut store = open_to_write(place)?;
    if !take_over(&mut store, staged)? || lives {
        return Ok(());
    }
    let removed = match manifest {
        Some(manifest) => manifest.remove(),
        // An earlier version wrote no manifests; the trials have been moved by now.
        None => remove_staged_files(staged),
    };
    removed.map_err(|error| unremoved(staged, &error))
}

fn unremoved(staged: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot remove {}: {error}", staged.display());
    Failure::environment(message)
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
