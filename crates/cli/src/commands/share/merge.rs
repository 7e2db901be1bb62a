//! `treering store merge`: adds the trials of a pack to a store, either all or none.
//!
//! The records first go into a temporary store, which is then copied in one transaction.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use treering_model::counted;

use treering_lab::{HeldDirectory, HeldDirectoryError};
use treering_pack::PackReader;
use treering_store::{Access, MergeError, MergedCounts, PackMerge, Store, StoreError};

use super::{canon, failure as unreadable};
use crate::arguments::MergeArgs;
use crate::failure::Failure;
use crate::places;
use crate::storage::{failure, open_to_write};

/// Name prefix of the directories of temporary stores.
const PREFIX: &str = ".treering-merge-";
/// Name of the temporary store, and of the files that SQLite creates beside it.
const STORE: &str = "pack.treering";
const FILES: &[&str] = &[STORE, "pack.treering-wal", "pack.treering-shm", "pack.treering-journal"];

/// Runs `treering store merge`.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let words = add(args)?;
    _ = writeln!(std::io::stdout(), "{words}");
    Ok(ExitCode::SUCCESS)
}

/// Adds the trials that the store lacks; returns a message with their number.
pub(super) fn add(args: &MergeArgs) -> Result<String, Failure> {
    let file = File::open(&args.file).map_err(|error| Failure::of_path(&args.file, &error))?;
    let pack = PackReader::open(file).map_err(|error| unreadable(&args.file, &error))?;
    let place = match &args.store.store {
        Some(place) => place.clone(),
        None => places::default_store()?,
    };
    let present = match Store::open(&place, Access::ReadOnly) {
        Ok(store) => Some(store),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => None,
        Err(error) => return Err(failure(&error)),
    };
    let held = HeldDirectory::make(&parent(&place, args.dry_run), PREFIX, FILES)
        .map_err(|HeldDirectoryError { path, error }| Failure::of_path(&path, &error))?;
    let opened = Store::open(held.path().join(STORE), Access::ReadWrite);
    let opened = opened.and_then(|store| store.without_flushes().map(|()| store));
    let mut waiting = opened.map_err(|error| failure(&error))?;
    let present = present.as_ref();
    let merge = PackMerge { pack, present, waiting: &mut waiting, canonical: &canon };
    let merged = merge.run().map_err(|error| unmerged(&args.file, &error))?;
    if !args.dry_run && merged.new > 0 {
        let mut store = open_to_write(&place)?;
        store.absorb(waiting.path()).map_err(|error| failure(&error))?;
    }
    let MergedCounts { new, known } = merged;
    let (verb, place) = (if args.dry_run { "to add" } else { "added" }, place.display());
    Ok(format!("{place}: {} {verb}, {known} there already", counted(new, "trial")))
}

/// Directory of the temporary store: that of the target store, which needs space for the trials
/// anyway; for a dry run, the directory for temporary files.
fn parent(place: &Path, is_dry_run: bool) -> PathBuf {
    match place.parent().filter(|_| !is_dry_run) {
        Some(parent) if parent == Path::new("") => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => std::env::temp_dir(),
    }
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
