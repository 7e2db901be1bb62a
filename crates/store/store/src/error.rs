//! Errors of a store: one enum, each variant with the path and advice.
//!
//! SQLite's own codes are converted to these variants in `connection`.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_model::{TrialId, TrialOrderError};

use crate::version::Version;

/// Reason why a store could not be opened, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file does not exist, and was opened for reading.
    #[error("no store at {path}")]
    Missing {
        /// Path of the store.
        path: PathBuf,
    },
    /// The file exists but is empty, and was opened for reading.
    #[error("{path} is empty")]
    Empty {
        /// Path of the store.
        path: PathBuf,
    },
    /// The path is a directory, a device or a pipe.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// Path of the store.
        path: PathBuf,
    },
    /// The user lacks permission to read or write the file.
    #[error("no permission to {what} {path}")]
    Denied {
        /// Operation that failed.
        what: &'static str,
        /// Path of the store.
        path: PathBuf,
    },
    /// The operating system reported another I/O error.
    #[error("{what} {path}: {source}")]
    Io {
        /// Operation that failed.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{path} is not an SQLite file")]
    NotSqlite {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is an SQLite database of another program.
    #[error("{path} is an SQLite file of another program (application id {application_id:#010x})")]
    OtherApplication {
        /// Path of the file.
        path: PathBuf,
        /// Application id in the file's header; 0 if unset.
        application_id: u32,
    },
    /// The store has a newer or invalid major format and cannot be read.
    #[error("{path} has store format {found}, this treering reads up to {known}")]
    UnknownFormat {
        /// Path of the store.
        path: PathBuf,
        /// Format of the store.
        found: Version,
        /// Format that this program writes.
        known: Version,
    },
    /// The store has a newer minor format: it can be read, but not written or copied.
    #[error("{path} has store format {found}, this treering writes {known}")]
    NewerFormat {
        /// Path of the store.
        path: PathBuf,
        /// Format of the store.
        found: Version,
        /// Format that this program writes.
        known: Version,
    },
    /// The tables, indices, triggers or views are not those of the store's version.
    #[error("{path} is not a sound store of format {version}: {}", findings.join("; "))]
    Schema {
        /// Path of the store.
        path: PathBuf,
        /// Format of the store.
        version: Version,
        /// First differences found.
        findings: Vec<String>,
    },
    /// A query took more steps than a file of this size can need.
    #[error(
        "{path} is damaged or was crafted: reading it takes more work than a file of its size needs"
    )]
    TooMuchWork {
        /// Path of the store.
        path: PathBuf,
    },
    /// The SQLite structure is damaged: truncated or overwritten.
    #[error("{path} is damaged: {}", findings.join("; "))]
    Damaged {
        /// Path of the store.
        path: PathBuf,
        /// First findings, as reported by SQLite.
        findings: Vec<String>,
    },
    /// The structure is intact, but the contents are none that this program writes.
    #[error("{path} has content that this treering cannot read: {place}: {why}")]
    Content {
        /// Path of the store.
        path: PathBuf,
        /// Table and column.
        place: String,
        /// Problem with the value.
        why: String,
    },
    /// Another process held a lock for longer than the timeout.
    #[error("{path} is locked by another process")]
    Busy {
        /// Path of the store.
        path: PathBuf,
    },
    /// The store's filesystem is full.
    #[error("no space to write {path}")]
    Full {
        /// Path of the store.
        path: PathBuf,
    },
    /// The store was opened for reading but is to be written.
    #[error("{path} was opened for reading only")]
    ReadOnly {
        /// Path of the store.
        path: PathBuf,
    },
    /// No trial id has this prefix.
    #[error("no trial {prefix} in {path}")]
    NoSuchTrial {
        /// Path of the store.
        path: PathBuf,
        /// Prefix as requested.
        prefix: String,
    },
    /// A trial that is still being recorded cannot be deleted.
    #[error("trial {trial} in {path} is still being recorded", path = path.display())]
    StillRecorded {
        /// Path of the store.
        path: PathBuf,
        /// Identity of the trial.
        trial: TrialId,
    },
    /// Several trial ids have this prefix.
    #[error("{prefix} is ambiguous, {total} trials in {path}: {}", listed(candidates, *total))]
    Ambiguous {
        /// Path of the store.
        path: PathBuf,
        /// Prefix as requested.
        prefix: String,
        /// First matching trials, oldest first.
        candidates: Vec<TrialId>,
        /// Number of matching trials.
        total: usize,
    },
    /// A trial with this id exists already.
    #[error("trial {trial} is in {path} already")]
    AlreadyThere {
        /// Path of the store.
        path: PathBuf,
        /// Id of the trial.
        trial: TrialId,
    },
    /// The events arrived in an order that no trial has.
    #[error("cannot record: {0}")]
    Order(#[from] TrialOrderError),
    /// A number cannot be stored: SQLite integers end at 2^63 - 1, its reals must be finite.
    #[error("cannot record {what} {value}")]
    Unstorable {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the number.
        value: String,
    },
    /// SQLite reported another error.
    #[error("{path}: {source}")]
    Sqlite {
        /// Path of the store.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
}

fn listed(candidates: &[TrialId], total: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if total > candidates.len() {
        text.push_str(", …");
    }
    text
}
