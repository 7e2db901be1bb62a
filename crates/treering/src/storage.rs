//! Which store a command uses, and where results wait when their place is under test.
//!
//! A store is never written on the filesystem under test. One that the user named there is refused;
//! the default one is written in memory during the run and moved to its place at the end, or by the
//! next command when the run was killed.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use treering_model::{Caution, CautionCode, Fingerprint, TrialId};
use treering_store::{Access, Filter, Store, StoreError, TrialState, same_filesystem};

use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::places;
use treering_script::with_causes;

/// Where the results of a run go.
pub(crate) enum Keeping {
    /// Nowhere: the user said so.
    Nowhere,
    /// Straight into their store.
    Direct(Store),
    /// Into memory first.
    Staged {
        /// The store in memory.
        store: Store,
        /// Where its trials go at the end.
        place: PathBuf,
    },
}

impl Keeping {
    /// Opens what a run on this directory needs.
    pub(crate) fn open(
        named: Option<&Path>,
        nowhere: bool,
        targets: &[&Path],
        trial: TrialId,
    ) -> Result<Self, Failure> {
        if nowhere {
            return Ok(Self::Nowhere);
        }
        let place = match named {
            Some(place) => place.to_owned(),
            None => places::default_store()?,
        };
        if let Some(named) = named {
            refuse_under_test(named, targets)?;
        }
        if !is_any(&place, targets)? {
            return Ok(Self::Direct(open_to_write(&place)?));
        }
        let store = open_to_write(&staging_file(&place, targets, trial)?)?;
        Ok(Self::Staged { store, place })
    }

    /// The store to record into.
    pub(crate) fn store(&mut self) -> Option<&mut Store> {
        match self {
            Self::Nowhere => None,
            Self::Direct(store) | Self::Staged { store, .. } => Some(store),
        }
    }

    /// The caution about a staged store: it fills memory and drops of caches do not reach it.
    pub(crate) fn caution(&self) -> Option<Caution> {
        let Self::Staged { store, place } = self else { return None };
        let message = format!(
            "{} is on the filesystem under test; results are held in {}",
            place.display(),
            store.path().display()
        );
        Some(Caution { code: CautionCode::StoreStaged, message })
    }

    /// Moves staged results to their place. Where they are now, if anywhere.
    pub(crate) fn settle(self) -> Result<Option<Store>, Failure> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Direct(store) => Ok(Some(store)),
            Self::Staged { store, place } => {
                let staged = store.path().to_owned();
                drop(store);
                let moved = open_to_write(&place).and_then(|mut store| {
                    take_over(&mut store, &staged)?;
                    Ok(Some(store))
                });
                moved.map_err(|failure| {
                    failure
                        .context(format!("the results are still held in {}", staged.display()))
                        .hint("the next command that reads the store moves them if it can")
                })
            }
        }
    }
}

/// A store to read, with what waited in memory moved into it first. `None` when there are no
/// results yet.
pub(crate) fn open_to_read(named: Option<&Path>) -> Result<Option<Store>, Failure> {
    let place = match named {
        Some(place) => place.to_owned(),
        None => {
            let place = places::default_store()?;
            take_over_waiting(&place);
            place
        }
    };
    match Store::open(&place, Access::ReadOnly) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) if named.is_none() => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// There is nothing to show yet.
pub(crate) fn no_results() -> Failure {
    Failure::new(Kind::Usage, "there are no results yet")
        .hint("`treering run compilebench --dir DIR` makes some")
}

/// A store's error as a failure.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let kind = match error {
        StoreError::NoSuchTrial { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Missing { .. } => Kind::Usage,
        _ => Kind::Environment,
    };
    Failure::of(kind, error).maybe_hint(error.hint())
}

pub(crate) fn open_to_write(place: &Path) -> Result<Store, Failure> {
    Store::open(place, Access::ReadWrite).map_err(|error| failure(&error))
}

/// A store that the user named is not on the filesystem of any of these.
pub(crate) fn refuse_under_test(named: &Path, targets: &[&Path]) -> Result<(), Failure> {
    if !is_any(named, targets)? {
        return Ok(());
    }
    let message = format!("the store {} is on the filesystem under test", named.display());
    Err(Failure::new(Kind::Environment, message).hint(
        "name a file on another filesystem, or omit --store: results are then held in memory until \
         the run is over",
    ))
}

/// Whether it is on the filesystem of any of them.
fn is_any(store: &Path, targets: &[&Path]) -> Result<bool, Failure> {
    for target in targets {
        if is_same(store, target)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_same(store: &Path, target: &Path) -> Result<bool, Failure> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    same_filesystem(&absolute(store), &absolute(target)).map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot tell where the store is: {error}"))
    })
}

fn staging_file(place: &Path, targets: &[&Path], trial: TrialId) -> Result<PathBuf, Failure> {
    for dir in places::staging_dirs() {
        if is_any(&dir, targets)? {
            continue;
        }
        if let Some(own) = own_dir(&dir) {
            return Ok(own.join(format!("{}{trial}.treering", staging_prefix(place))));
        }
    }
    let message = format!(
        "the store {} is on the filesystem under test, and there is no memory filesystem to hold \
         results",
        place.display()
    );
    Err(Failure::new(Kind::Environment, message)
        .hint("name a store on another filesystem with --store FILE, or use --no-store"))
}

/// Our own directory below a memory filesystem that others write to as well: nobody else's.
fn own_dir(below: &Path) -> Option<PathBuf> {
    let user = fs::metadata("/proc/self").ok()?.uid();
    let own = below.join(format!("treering-{user}"));
    let _there_already = fs::DirBuilder::new().mode(0o700).create(&own);
    let metadata = fs::symlink_metadata(&own).ok()?;
    (metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0).then_some(own)
}

/// Staged files of one store start alike, so that each store takes over its own.
fn staging_prefix(place: &Path) -> String {
    let absolute = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    format!("{}-", Fingerprint::of(absolute.as_os_str().as_encoded_bytes()).text())
}

/// Moves in what runs that were killed left in memory. What goes wrong is said and left for later.
fn take_over_waiting(place: &Path) {
    let prefix = staging_prefix(place);
    for dir in places::staging_dirs().iter().filter_map(|dir| own_dir(dir)) {
        let Ok(entries) = fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_store = name
                .to_str()
                .is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".treering"));
            if !is_store {
                continue;
            }
            let taken = open_to_write(place)
                .and_then(|mut store| take_over(&mut store, &entry.path()).map(drop));
            if taken.is_err() {
                say(&format!(
                    "treering: results are still held in {}: they could not be moved",
                    entry.path().display()
                ));
            }
        }
    }
}

/// Moves the trials of a staged store into their place, and removes it when none is running.
fn take_over(store: &mut Store, staged: &Path) -> Result<(), Failure> {
    store.absorb(staged).map_err(|error| failure(&error))?;
    let waiting = Store::open(staged, Access::ReadOnly).map_err(|error| failure(&error))?;
    let trials = waiting.trials(&Filter::default()).map_err(|error| failure(&error))?;
    if trials.iter().any(|trial| trial.state == TrialState::Running) {
        return Ok(());
    }
    drop(waiting);
    for suffix in ["", "-wal", "-shm"] {
        let mut path = staged.as_os_str().to_owned();
        path.push(suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let place = PathBuf::from(path);
                let message = format!("cannot remove {}: {}", place.display(), with_causes(&error));
                return Err(Failure::new(Kind::Environment, message));
            }
            _ => {}
        }
    }
    Ok(())
}
