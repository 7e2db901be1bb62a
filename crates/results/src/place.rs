//! Selects the store of a command, and where results wait while the store is on the filesystem
//! under test.
//!
//! A store is never written on the filesystem under test. A store there that the user named is
//! rejected; the default one is kept in memory during the run and moved to its path at the end, or
//! by the next command if the run was killed.

use std::path::{Path, PathBuf};

use treering_conduct::{Failure, Host};
use treering_lab::own_staging_directory;
use treering_model::{Caution, CautionCode, Trial, TrialId};
use treering_registry::{PhaseRows, events_of};
use treering_store::{Access, Filter, Store, StoreError, same_filesystem};

use crate::staged::{StagedStore, take_over_waiting};
use crate::store_error::{failure, open_to_write};

/// Program that uses a store: it knows the paths of its user.
pub trait StoreHost: Host {
    /// Path of the store that is used if none is named.
    ///
    /// # Errors
    /// When the user has no directory for data.
    fn default_store(&self) -> Result<PathBuf, Failure>;

    /// Memory filesystems in which results can wait, best first.
    fn staging_dirs(&self) -> Vec<PathBuf>;
}

/// Location of a store: the file that the user named, or the default one.
#[derive(Clone, Copy)]
pub struct StorePlace<'a> {
    pub(crate) named: Option<&'a Path>,
    pub(crate) host: &'a dyn StoreHost,
}

impl<'a> StorePlace<'a> {
    /// Location of the named store, or of the default one.
    pub fn new(named: Option<&'a Path>, host: &'a dyn StoreHost) -> Self {
        Self { named, host }
    }

    /// Path of the store.
    ///
    /// # Errors
    /// When no store is named, and the user has no directory for data.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        self.named.map_or_else(|| self.host.default_store(), |named| Ok(named.to_owned()))
    }

    /// Opens the store to record into, creating it if missing.
    ///
    /// # Errors
    /// When the file cannot be made or opened, or is no store of this version.
    pub fn open_to_write(&self) -> Result<Store, Failure> {
        open_to_write(&self.path()?)
    }

    /// Opens the store to read, after moving waiting results into it; `None` if there are no
    /// results yet.
    ///
    /// # Errors
    /// When the named store is missing, or a store cannot be read.
    pub fn open_to_read(&self) -> Result<Option<Store>, Failure> {
        let path = self.path()?;
        if self.named.is_none() {
            take_over_waiting(&path, &self.host.staging_dirs(), self.host);
        }
        match Store::open(&path, Access::ReadOnly) {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { .. } | StoreError::Empty { .. }) if self.named.is_none() => {
                Ok(None)
            }
            Err(error) => Err(failure(&error)),
        }
    }

    /// Start time of the newest trial in ms since 1970; `None` without results. A missing store
    /// that is named is made by the first run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn newest_unix_ms(&self) -> Result<Option<i64>, Failure> {
        if self.named.is_some_and(|named| !named.exists()) {
            return Ok(None);
        }
        let Some(store) = self.open_to_read()? else { return Ok(None) };
        let newest = Filter { limit: Some(1), ..Filter::default() };
        let trials = store.trials(&newest).map_err(|error| failure(&error))?;
        Ok(trials.first().map(|trial| trial.started_unix_ms))
    }

    /// Opens the destination of the results of a run in these directories.
    ///
    /// # Errors
    /// When the named store is on the filesystem of one of these directories, or the store cannot
    /// be opened, or no memory filesystem can hold its results.
    pub fn destination(
        &self,
        targets: &[&Path],
        trial: TrialId,
    ) -> Result<ResultDestination, Failure> {
        let place = self.path()?;
        if let Some(named) = self.named {
            refuse_under_test(named, targets)?;
        }
        if !is_under_test(&place, targets)? {
            return Ok(ResultDestination(Destination::Direct(open_to_write(&place)?)));
        }
        let staged = stage(&place, (targets, &self.host.staging_dirs()), trial)?;
        Ok(ResultDestination(Destination::Staged { staged, place }))
    }
}

/// Destination of the results of a run.
pub struct ResultDestination(Destination);

enum Destination {
    /// Results are discarded, as the user requested.
    Nowhere,
    /// Results are written directly to their store.
    Direct(Store),
    /// Results are written to memory first.
    Staged {
        staged: StagedStore,
        /// Path of the store to which the trials are moved at the end.
        place: PathBuf,
    },
}

impl ResultDestination {
    /// Discards the results.
    pub(crate) fn nowhere() -> Self {
        Self(Destination::Nowhere)
    }

    /// The store to record into.
    pub(crate) fn store(&mut self) -> Option<&mut Store> {
        match &mut self.0 {
            Destination::Nowhere => None,
            Destination::Direct(store) => Some(store),
            Destination::Staged { staged, .. } => Some(staged.store_mut()),
        }
    }

    /// Caution about a staged store: it occupies memory that drops of caches do not free.
    pub(crate) fn caution(&self) -> Option<Caution> {
        let Destination::Staged { staged, place } = &self.0 else { return None };
        let message = format!(
            "{} is on the filesystem under test; results are held in {}",
            place.display(),
            staged.store().path().display()
        );
        Some(Caution { code: CautionCode::StoreStaged, message })
    }

    /// Records a trial that an installed program has run, with the rows of its phases.
    ///
    /// # Errors
    /// When the store cannot take an event.
    pub fn record(&mut self, trial: &Trial, rows: &PhaseRows) -> Result<(), Failure> {
        let Some(store) = self.store() else { return Ok(()) };
        let mut recorder = store.recorder();
        events_of(trial, rows)
            .into_iter()
            .try_for_each(|event| recorder.record(&event))
            .map_err(|error| failure(&error))
    }

    /// Moves staged results to their store; returns the store that holds the results, if any.
    ///
    /// # Errors
    /// When the results cannot be moved; they stay in memory for the next command.
    pub fn finish(self) -> Result<Option<Store>, Failure> {
        match self.0 {
            Destination::Nowhere => Ok(None),
            Destination::Direct(store) => Ok(Some(store)),
            Destination::Staged { staged, place } => {
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

/// Error of a command that reads results when no store exists yet.
pub fn no_results() -> Failure {
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
fn stage(
    place: &Path,
    (targets, staging_dirs): (&[&Path], &[PathBuf]),
    trial: TrialId,
) -> Result<StagedStore, Failure> {
    let mut unusable = Vec::new();
    for dir in staging_dirs {
        if is_under_test(dir, targets)? {
            continue;
        }
        match own_staging_directory(dir, true) {
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
