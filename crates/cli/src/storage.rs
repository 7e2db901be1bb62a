//! Selects the store of a command, and where results wait while the store is on the filesystem
//! under test.
//!
//! A store is never written on the filesystem under test. A store there that the user named is
//! rejected; the default one is kept in memory during the run and moved to its path at the end, or
//! by the next command if the run was killed.

use std::path::{Path, PathBuf};

use treering_lab::own_staging_directory;
use treering_model::{Caution, CautionCode, TrialId};
use treering_store::{Access, Store, StoreError, same_filesystem};

use crate::failure::Failure;
use crate::places;
use crate::staging::{StagedStore, take_over_waiting};
pub(crate) use crate::stores::{failure, open_to_write};

/// Destination of the results of a run.
pub(crate) enum ResultDestination {
    /// Results are discarded, as the user requested.
    Nowhere,
    /// Results are written directly to their store.
    Direct(Store),
    /// Results are written to memory first.
    Staged {
        /// The store in memory.
        staged: StagedStore,
        /// Path of the store to which the trials are moved at the end.
        place: PathBuf,
    },
}

impl ResultDestination {
    /// Opens the destination for a run in this directory.
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
        if !is_under_test(&place, targets)? {
            return Ok(Self::Direct(open_to_write(&place)?));
        }
        let staged = stage(&place, targets, trial)?;
        Ok(Self::Staged { staged, place })
    }

    /// The store to record into.
    pub(crate) fn store(&mut self) -> Option<&mut Store> {
        match self {
            Self::Nowhere => None,
            Self::Direct(store) => Some(store),
            Self::Staged { staged, .. } => Some(staged.store_mut()),
        }
    }

    /// Caution about a staged store: it occupies memory that drops of caches do not free.
    pub(crate) fn caution(&self) -> Option<Caution> {
        let Self::Staged { staged, place } = self else { return None };
        let message = format!(
            "{} is on the filesystem under test; results are held in {}",
            place.display(),
            staged.store().path().display()
        );
        Some(Caution { code: CautionCode::StoreStaged, message })
    }

    /// Moves staged results to their store; returns the store that holds the results, if any.
    pub(crate) fn finish(self) -> Result<Option<Store>, Failure> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Direct(store) => Ok(Some(store)),
            Self::Staged { staged, place } => {
                let held = staged.store().path().to_owned();
                let moved = open_to_write(&place).and_then(|mut store| {
                    staged.move_into(&mut store)?;
                    Ok(Some(store))
                });
                moved.map_err(|failure| {
                    failure
                        .context(format!("the results are still held in {}", held.display()))
                        .hint("the next command that reads the store moves them if it can")
                })
            }
        }
    }
}

/// Opens a store to read, after moving waiting results into it; `None` if there are no results yet.
pub(crate) fn open_to_read(named: Option<&Path>) -> Result<Option<Store>, Failure> {
    let place = match named {
        Some(place) => place.to_owned(),
        None => {
            let place = places::default_store()?;
            take_over_waiting(&place, &places::staging_dirs());
            place
        }
    };
    match Store::open(&place, Access::ReadOnly) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) if named.is_none() => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// Error of a command that reads results when no store exists yet.
pub(crate) fn no_results() -> Failure {
    Failure::usage("there are no results yet")
        .hint("`treering run compilebench --dir DIR` makes some")
}

/// Rejects a store that the user named, if it is on the filesystem of one of these targets.
pub(crate) fn refuse_under_test(named: &Path, targets: &[&Path]) -> Result<(), Failure> {
    if !is_under_test(named, targets)? {
        return Ok(());
    }
    let message = format!("the store {} is on the filesystem under test", named.display());
    Err(Failure::environment(message).hint(
        "name a file on another filesystem, or omit --store for the default one, which is written \
         after the run if it is on the filesystem under test",
    ))
}

/// True if the store is on the filesystem of one of the targets.
fn is_under_test(store: &Path, targets: &[&Path]) -> Result<bool, Failure> {
    for target in targets {
        if is_on_same_filesystem(store, target)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_on_same_filesystem(store: &Path, target: &Path) -> Result<bool, Failure> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    same_filesystem(&absolute(store), &absolute(target))
        .map_err(|error| Failure::environment(format!("cannot tell where the store is: {error}")))
}

/// Creates a store in the first memory filesystem that is not under test.
fn stage(place: &Path, targets: &[&Path], trial: TrialId) -> Result<StagedStore, Failure> {
    let mut unusable = Vec::new();
    for dir in places::staging_dirs() {
        if is_under_test(&dir, targets)? {
            continue;
        }
        match own_staging_directory(&dir, true) {
            Ok(own) => return StagedStore::create(&own, place, trial),
            Err(why) => unusable.push(why.to_string()),
        }
    }
    let why =
        if unusable.is_empty() { String::new() } else { format!(" ({})", unusable.join(", ")) };
    let message = format!(
        "the store {} is on the filesystem under test, and there is no memory filesystem to hold \
         results{why}",
        place.display()
    );
    Err(Failure::environment(message).hint(
        "name a store on another filesystem with --store FILE (`treering run` can also do without \
         one: --no-store)",
    ))
}
