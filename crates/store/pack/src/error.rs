//! Why a pack cannot be read or written.

use std::io;

use thiserror::Error;

use crate::limits::{LINE_BYTES_MOST, PACK_VERSION};

/// What is wrong with a pack, or with the file it is in.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackError {
    /// The first line is not that of a pack.
    #[error("this is no pack of treering")]
    NotAPack,
    /// A newer treering wrote it.
    #[error("this pack has version {0}; the newest supported is {PACK_VERSION}")]
    Newer(u32),
    /// There are fewer or more bytes than were written.
    #[error(
        "this pack is damaged: {found} bytes follow its first line, where {expected} were written"
    )]
    Length {
        /// Bytes that were written.
        expected: u64,
        /// Bytes that are there; not counted beyond one too many.
        found: u64,
    },
    /// Other bytes than were written.
    #[error(
        "this pack is damaged or was changed: its content has the SHA-256 {found}, its first line \
         says {expected}"
    )]
    Digest {
        /// What the first line says.
        expected: String,
        /// What the content has.
        found: String,
    },
    /// A line of the content is longer than any that is written.
    #[error("line {line} of the content is longer than {LINE_BYTES_MOST} bytes")]
    LongLine {
        /// The line, counted from 1.
        line: u64,
    },
    /// The content is so much longer than the file that it was made to fill a disk.
    #[error("the content is longer than {most} bytes, the most for a pack of this size")]
    TooMuch {
        /// Bytes that were allowed.
        most: u64,
    },
    /// A line that is no record.
    #[error("line {line} of the content cannot be read: {source}")]
    Record {
        /// The line, counted from 1.
        line: u64,
        /// The parser's words.
        source: serde_json::Error,
    },
    /// A record where no such record belongs.
    #[error("line {line} of the content is out of place: {expected} belongs there")]
    Order {
        /// The line, counted from 1.
        line: u64,
        /// What belongs there.
        expected: &'static str,
    },
    /// Something too long to be packed.
    #[error("a record of {bytes} bytes cannot be packed, {LINE_BYTES_MOST} is the most")]
    LongRecord {
        /// Its length.
        bytes: u64,
    },
    /// A record that cannot be JSON.
    #[error("a record cannot be packed: {0}")]
    Unwritable(serde_json::Error),
    /// The file could not be read or written, or is no Zstandard frame behind its first line.
    #[error(transparent)]
    Io(#[from] io::Error),
}
