//! What can go wrong with a store: one enum, each variant with the path and advice.
//!
//! How SQLite's own codes become these variants is in `connection`, not here.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_model::{TrialId, TrialOrderError};

use crate::version::Version;

/// Why a store could not be opened, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file, and it was opened for reading.
    #[error("no store at {path}")]
    Missing {
        /// The store.
        path: PathBuf,
    },
    /// The file is there but nothing was ever written to it, and it was opened for reading.
    #[error("{path} is empty")]
    Empty {
        /// The store.
        path: PathBuf,
    },
    /// A directory, a device, a pipe.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// The store.
        path: PathBuf,
    },
    /// The system does not let this user read or write it.
    #[error("no permission to {what} {path}")]
    Denied {
        /// What was tried.
        what: &'static str,
        /// The store.
        path: PathBuf,
    },
    /// The system refused something else.
    #[error("{what} {path}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A file of some other format.
    #[error("{path} is not an SQLite file")]
    NotSqlite {
        /// The file.
        path: PathBuf,
    },
    /// An SQLite file of another program.
    #[error("{path} is an SQLite file of another program (application id {application_id:#010x})")]
    OtherApplication {
        /// The file.
        path: PathBuf,
        /// What the file says of its program; 0 says nothing.
        application_id: u32,
    },
    /// Of a newer major format (or of none that ever was): cannot be read.
    #[error("{path} has store format {found}, this treering reads up to {known}")]
    UnknownFormat {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: Version,
        /// What this program writes.
        known: Version,
    },
    /// Of a newer minor format: can be read, not written or copied.
    #[error("{path} has store format {found}, this treering writes {known}")]
    NewerFormat {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: Version,
        /// What this program writes.
        known: Version,
    },
    /// The file has other tables, indices, triggers or views than its version.
    #[error("{path} is not a sound store of format {version}: {}", findings.join("; "))]
    Schema {
        /// The store.
        path: PathBuf,
        /// Its format.
        version: Version,
        /// The first differences.
        findings: Vec<String>,
    },
    /// A query took more steps than a file of this size can need.
    #[error(
        "{path} is damaged or was crafted: reading it takes more work than a file of its size needs"
    )]
    TooMuchWork {
        /// The store.
        path: PathBuf,
    },
    /// SQLite's structure is broken: truncated, overwritten.
    #[error("{path} is damaged: {}", findings.join("; "))]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What was found, in SQLite's words.
        findings: Vec<String>,
    },
    /// The structure is sound, but this is nothing that this program writes.
    #[error("{path} has content that this treering cannot read: {place}: {why}")]
    Content {
        /// The store.
        path: PathBuf,
        /// Table and column.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// Another process kept it locked for longer than is worth waiting.
    #[error("{path} is locked by another process")]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// The filesystem the store is on has no room.
    #[error("no space to write {path}")]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// Opened for reading, asked to write.
    #[error("{path} was opened for reading only")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// No trial has an identity that begins so.
    #[error("no trial {prefix} in {path}")]
    NoSuchTrial {
        /// The store.
        path: PathBuf,
        /// What was asked for.
        prefix: String,
    },
    /// Several trials have an identity that begins so.
    #[error("{prefix} is ambiguous, {total} trials in {path}: {}", listed(candidates, *total))]
    Ambiguous {
        /// The store.
        path: PathBuf,
        /// What was asked for.
        prefix: String,
        /// The first of them, oldest first.
        candidates: Vec<TrialId>,
        /// How many there are.
        total: usize,
    },
    /// A trial with this identity is there already.
    #[error("trial {trial} is in {path} already")]
    AlreadyThere {
        /// The store.
        path: PathBuf,
        /// The trial.
        trial: TrialId,
    },
    /// Events in an order that no trial has.
    #[error("cannot record: {0}")]
    Order(#[from] TrialOrderError),
    /// A number the store cannot keep: SQLite's integers end at 2^63 - 1, its reals are finite.
    #[error("cannot record {what} {value}")]
    Unstorable {
        /// Which number.
        what: &'static str,
        /// The number.
        value: String,
    },
    /// Anything else that SQLite says.
    #[error("{path}: {source}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// SQLite's words.
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
