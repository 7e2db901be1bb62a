//! Why a file of a trace cannot be read.

use std::io;

use thiserror::Error;

/// A file that is no trace, or a damaged one.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// The file cannot be read.
    #[error("byte {byte}: {source}")]
    Io {
        /// How far it was read.
        byte: u64,
        /// Why not further.
        source: io::Error,
    },
    /// The bytes say something that cannot be.
    #[error("byte {byte}: {what}")]
    Damaged {
        /// Where.
        byte: u64,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl TraceFileError {
    pub(crate) fn damaged(byte: u64, what: impl Into<String>) -> Self {
        Self::Damaged { byte, what: what.into() }
    }
}
