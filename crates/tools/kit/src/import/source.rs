//! Source of an import: bytes at any offset, which are read more than once.

use std::io;

use thiserror::Error;

/// File, or a stand-in for one.
pub trait TextSource {
    /// Reads bytes at an offset, and returns their number; 0 only at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    fn fill_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < into.len() {
            match self.read_at(offset + got as u64, &mut into[got..])? {
                0 => break,
                more => got += more,
            }
        }
        Ok(got)
    }
}

impl TextSource for &[u8] {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let tail = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let count = tail.len().min(into.len());
        into[..count].copy_from_slice(&tail[..count]);
        Ok(count)
    }
}

/// Error of an import.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The line is longer than any of a log, and would have to be held in memory.
    #[error("line {line} is longer than {mebibytes} MiB: not a log")]
    LongLine {
        /// Number of the line, from 1.
        line: usize,
        /// Limit of a line in MiB.
        mebibytes: u64,
    },
    /// The file is too large to be decoded in memory.
    #[error(
        "UTF-16 and quoted-printable mails are read up to {mebibytes} MiB only; convert it to UTF-8"
    )]
    Encoding {
        /// Limit of such a file in MiB.
        mebibytes: u64,
    },
}
