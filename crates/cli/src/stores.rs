//! Opening a store to write, and its errors as failures of a command.

use std::path::Path;

use treering_store::{Access, Store, StoreError};

use crate::failure::{Failure, Kind};

/// Converts a store's error to a failure.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let kind = match error {
        StoreError::NoSuchTrial { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Missing { .. } => Kind::Usage,
        _ => Kind::Environment,
    };
    Failure::of(kind, error).maybe_hint(error.hint())
}

/// Opens a store to record into, creating it if missing.
pub(crate) fn open_to_write(place: &Path) -> Result<Store, Failure> {
    Store::open(place, Access::ReadWrite).map_err(|error| failure(&error))
}
