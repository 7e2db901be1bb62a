//! Errors of a store as failures of a command.

use std::path::Path;

use treering_conduct::{Failure, FailureKind as Kind};
use treering_store::{Access, Store, StoreError};

/// Converts a store's error to a failure.
pub fn failure(error: &StoreError) -> Failure {
    let kind = match error {
        StoreError::NoSuchTrial { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Missing { .. } => Kind::Usage,
        _ => Kind::Environment,
    };
    Failure::of(kind, error).maybe_hint(error.hint())
}

/// Opens a store to record into, creating it if missing.
///
/// # Errors
/// When the file cannot be made or opened, or is no store of this version.
pub fn open_to_write(place: &Path) -> Result<Store, Failure> {
    Store::open(place, Access::ReadWrite).map_err(|error| failure(&error))
}
