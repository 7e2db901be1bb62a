//! Files that SQLite keeps beside a store: the write-ahead log, its index, a rollback journal.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that SQLite puts beside the store: beside the file itself, not beside a link to it.
pub(crate) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let file = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
    let mut name = file.into_os_string();
    name.push(suffix);
    name.into()
}

/// Whether a file beside the store holds something.
pub(crate) fn holds_data(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
