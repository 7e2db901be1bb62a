//! Errors of reading or writing a pack.

use std::io;

use thiserror::Error;

use crate::limits::{LINE_BYTES_MOST, PACK_VERSION};

/// Problem with a pack, or with its file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackError {
    /// The first line is not that of a pack.
    #[error("this is no pack of treering")]
    NotAPack,
    /// The pack was written by a newer treering.
    #[error("this pack has version {0}; the newest supported is {PACK_VERSION}")]
    Newer(u32),
    /// The number of bytes differs from the one written.
    #[error(
        "this pack is damaged: {found} bytes follow its first line, where {expected} were written"
    )]
    Length {
        /// Number of bytes written.
        expected: u64,
        /// Number of bytes present; counted up to one too many.
        found: u64,
    },
    /// The content differs from the one written.
    #[error(
        "this pack is damaged or was changed: its content has the SHA-256 {found}, its first line \
         says {expected}"
    )]
    Digest {
        /// Digest in the first line.
        expected: String,
        /// Digest of the content.
        found: String,
    },
    /// A line of the content exceeds the maximum length.
    #[error("line {line} of the content is longer than {LINE_BYTES_MOST} bytes")]
    LongLine {
        /// Line number, counted from 1.
        line: u64,
    },
    /// The content is so much longer than the file that it must be a decompression bomb.
    #[error("the content is longer than {most} bytes, the most for a pack of this size")]
    TooMuch {
        /// Maximum number of bytes.
        most: u64,
    },
    /// A line is not a valid record.
    #[error("line {line} of the content cannot be read: {source}")]
    Record {
        /// Line number, counted from 1.
        line: u64,
        /// Error of the JSON parser.
        source: serde_json::Error,
    },
    /// A record is out of order.
    #[error("line {line} of the content is out of place: {expected} belongs there")]
    Order {
        /// Line number, counted from 1.
        line: u64,
        /// Description of the expected record.
        expected: &'static str,
    },
    /// A record is too long to be packed.
    #[error("a record of {bytes} bytes cannot be packed, {LINE_BYTES_MOST} is the most")]
    LongRecord {
        /// Length of the record in bytes.
        bytes: u64,
    },
    /// A record cannot be serialized as JSON.
    #[error("a record cannot be packed: {0}")]
    Unwritable(serde_json::Error),
    /// The file could not be read or written, or has no Zstandard frame after its first line.
    #[error(transparent)]
    Io(#[from] io::Error),
}
