//! Adding the trials of a pack to a store, either all or none.
//!
//! The records first go into a temporary store, which is then copied in one transaction.

use std::fs::File;
use std::path::{Path, PathBuf};

use treering_conduct::repeat::PackedTrials;
use treering_conduct::{Failure, FailureKind};
use treering_lab::{HeldDirectory, HeldDirectoryError};
use treering_model::{Trial, TrialBuilder, TrialEvent, counted};
use treering_pack::{CanonicalTrial, PackError, PackReader};
use treering_store::{Access, MergeError, MergedCounts, PackMerge, Store, StoreError};

use crate::place::StorePlace;
use crate::store_error::{failure, open_to_write};

/// Name prefix of the directories of temporary stores.
const PREFIX: &str = ".treering-merge-";
/// Name of the temporary store, and of the files that SQLite creates beside it.
const STORE: &str = "pack.treering";
const FILES: &[&str] = &[STORE, "pack.treering-wal", "pack.treering-shm", "pack.treering-journal"];

/// Adds the trials of a pack that the store lacks, or only counts them in a temporary store in
/// `dry_run_in`; returns a message with their number. `canonical` makes the canonical form of
/// trials, by which those of the store and of the pack are compared.
///
/// # Errors
/// When the pack or the store cannot be read, or the store cannot be written; nothing is added
/// then.
pub fn merge(
    path: &Path,
    store: StorePlace<'_>,
    dry_run_in: Option<&Path>,
    canonical: &dyn Fn() -> CanonicalTrial,
) -> Result<String, Failure> {
    let file = File::open(path).map_err(|error| Failure::of_path(path, &error))?;
    let pack = PackReader::open(file).map_err(|error| unreadable(path, &error))?;
    let place = store.path()?;
    let present = match Store::open(&place, Access::ReadOnly) {
        Ok(store) => Some(store),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => None,
        Err(error) => return Err(failure(&error)),
    };
    let held = HeldDirectory::make(
        &dry_run_in.map_or_else(|| parent(&place), Path::to_owned),
        PREFIX,
        FILES,
    )
    .map_err(|HeldDirectoryError { path, error }| Failure::of_path(&path, &error))?;
    let opened = Store::open(held.path().join(STORE), Access::ReadWrite);
    let opened = opened.and_then(|store| store.without_flushes().map(|()| store));
    let mut waiting = opened.map_err(|error| failure(&error))?;
    let present = present.as_ref();
    let merge = PackMerge { pack, present, waiting: &mut waiting, canonical };
    let merged = merge.run().map_err(|error| unmerged(path, &error))?;
    if dry_run_in.is_none() && merged.new > 0 {
        let mut store = open_to_write(&place)?;
        store.absorb(waiting.path()).map_err(|error| failure(&error))?;
    }
    let MergedCounts { new, known } = merged;
    let (verb, place) = (if dry_run_in.is_some() { "to add" } else { "added" }, place.display());
    Ok(format!("{place}: {} {verb}, {known} there already", counted(new, "trial")))
}

/// Directory of the temporary store: that of the target store, which needs space for the trials
/// anyway.
fn parent(place: &Path) -> PathBuf {
    let parent = place.parent().filter(|parent| *parent != Path::new(""));
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn unmerged(path: &Path, error: &MergeError) -> Failure {
    match error {
        MergeError::Pack(error) => unreadable(path, error),
        MergeError::Store(error) => failure(error),
        MergeError::Refused { trial, error } => {
            failure(error).context(format!("{}: trial {trial}", path.display()))
        }
        MergeError::OtherTrial { .. } => Failure::usage(format!("{}: {error}", path.display()))
            .hint("nothing was added; one of both was changed after it was recorded"),
    }
}

/// Reads the trials and plans of a pack.
///
/// # Errors
/// When the file cannot be read, or is no pack.
pub fn packed_trials(path: &Path) -> Result<PackedTrials, Failure> {
    let file = File::open(path).map_err(|error| Failure::of_path(path, &error))?;
    let wrong = |error| unreadable(path, &error);
    let mut pack = PackReader::open(file).map_err(wrong)?;
    let plans = pack.plans().iter().map(|plan| (plan.campaign, plan.document.clone()));
    let documents = plans.collect();
    let mut trials = Vec::new();
    while let Some(beginning) = pack.next_trial().map_err(wrong)? {
        let mut builder = TrialBuilder::default();
        let mut next = Some(TrialEvent::Began(beginning));
        while let Some(event) = next {
            builder.push(&event).map_err(|error| Failure::of(FailureKind::Usage, &error))?;
            next = pack.next_event().map_err(wrong)?;
        }
        let mut annotations = Vec::new();
        while let Some(annotation) = pack.next_annotation().map_err(wrong)? {
            annotations.push(annotation);
        }
        trials.extend(builder.finish().map(|trial| Trial { annotations, ..trial }));
    }
    Ok(PackedTrials { file: path.to_owned(), documents, trials })
}

/// Failure of reading a pack: the contents or the file are invalid.
pub fn unreadable(path: &Path, error: &PackError) -> Failure {
    match error {
        PackError::Io(error) => Failure::of_path(path, error),
        _ => Failure::usage(format!("{}: {error}", path.display())),
    }
}
