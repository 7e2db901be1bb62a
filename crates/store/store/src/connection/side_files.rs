//! Side files of a store: SQLite's write-ahead log, its index, and rollback journal.

use std::fs;
use std::path::{Path, PathBuf};

/// Path of a side file: next to the file itself, not next to a link to it.
pub(crate) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let file = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
    let mut name = file.into_os_string();
    name.push(suffix);
    name.into()
}

/// Reports whether a side file is not empty.
pub(crate) fn holds_data(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
