//! Errors of reading a trace file.

use std::io;

use thiserror::Error;

/// A file that is not a trace, or a damaged trace.
#[derive(Debug, Error)]
pub enum TraceFileError {
    /// The file cannot be read.
    #[error("byte {byte}: {source}")]
    Io {
        /// Offset up to which the file was read.
        byte: u64,
        /// Cause of the failed read.
        source: io::Error,
    },
    /// The bytes encode an impossible value.
    #[error("byte {byte}: {damage}")]
    Damaged {
        /// Offset of the damaged record.
        byte: u64,
        /// Description of the damage, with the expected value.
        damage: String,
    },
}

impl TraceFileError {
    pub(crate) fn damaged(byte: u64, damage: impl Into<String>) -> Self {
        Self::Damaged { byte, damage: damage.into() }
    }
}
