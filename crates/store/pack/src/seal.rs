//! First line of a pack: length of the rest, and its SHA-256.

use std::fmt::Write;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

use crate::PackError;
use crate::limits::PACK_VERSION;

/// First word of the line.
const MAGIC: &str = "treering-pack";

/// Digits of the length and of the digest, fixed so that the line has the same length in every
/// pack.
const COUNT_DIGITS: usize = 20;
const DIGEST_DIGITS: usize = 64;

/// Length and digest of a pack's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackSeal {
    /// Number of bytes after the first line.
    pub bytes: u64,
    /// SHA-256 of these bytes in 64 hexadecimal digits.
    pub sha256: String,
}

impl PackSeal {
    /// Creates the seal from a length and a finished digest.
    pub(crate) fn new(bytes: u64, digest: Sha256) -> Self {
        let mut sha256 = String::with_capacity(DIGEST_DIGITS);
        for byte in digest.finalize() {
            let _memory_takes_it = write!(sha256, "{byte:02x}");
        }
        Self { bytes, sha256 }
    }

    /// Formats the first line.
    pub(crate) fn line(&self) -> String {
        format!("{MAGIC} {PACK_VERSION} {:0COUNT_DIGITS$} {}\n", self.bytes, self.sha256)
    }

    /// Placeholder of the same length as the first line, until its values are known.
    pub(crate) fn blank() -> String {
        Self { bytes: 0, sha256: "0".repeat(DIGEST_DIGITS) }.line()
    }

    /// Reads and parses the first line.
    pub(crate) fn read(from: &mut impl Read) -> Result<Self, PackError> {
        let mut line = Vec::new();
        from.take(Self::blank().len() as u64).read_to_end(&mut line)?;
        let line = String::from_utf8(line).map_err(|_| PackError::NotAPack)?;
        let mut words = line.trim_end_matches('\n').split(' ');
        if words.next() != Some(MAGIC) {
            return Err(PackError::NotAPack);
        }
        let version: Option<u32> = words.next().and_then(|word| word.parse().ok());
        match version.ok_or(PackError::NotAPack)? {
            newer if newer > PACK_VERSION => return Err(PackError::Newer(newer)),
            _ => {}
        }
        let bytes = words.next().and_then(|word| word.parse().ok());
        let (Some(bytes), Some(digest)) = (bytes, words.next()) else {
            return Err(PackError::NotAPack);
        };
        let seal = Self { bytes, sha256: digest.to_owned() };
        // Only the canonical form of the line is accepted.
        if seal.line() == line { Ok(seal) } else { Err(PackError::NotAPack) }
    }

    /// Reads everything after the first line and verifies its length and digest.
    pub(crate) fn verify(&self, from: &mut impl Read) -> Result<(), PackError> {
        let mut digested = DigestWriter::new(io::sink());
        let length = io::copy(&mut from.take(self.bytes.saturating_add(1)), &mut digested)?;
        if length != self.bytes {
            return Err(PackError::Length { expected: self.bytes, found: length });
        }
        let (seal, _) = digested.seal();
        if seal.sha256 != self.sha256 {
            let expected = self.sha256.clone();
            return Err(PackError::Digest { expected, found: seal.sha256 });
        }
        Ok(())
    }
}

/// Counts and digests the data written through it.
pub(crate) struct DigestWriter<W> {
    to: W,
    bytes: u64,
    digest: Sha256,
}

impl<W> DigestWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, bytes: 0, digest: Sha256::new() }
    }

    /// Returns the seal of the data, and the inner writer.
    pub(crate) fn seal(self) -> (PackSeal, W) {
        (PackSeal::new(self.bytes, self.digest), self.to)
    }
}

impl<W: io::Write> io::Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
