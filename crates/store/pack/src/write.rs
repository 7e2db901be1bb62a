//! Writing of a pack, record by record.

use std::io::{Seek, SeekFrom, Write};

use zstd::stream::write::Encoder;

use crate::limits::LINE_BYTES_MOST;
use crate::seal::DigestWriter;
use crate::{PackError, PackHead, PackRecord, PackSeal};

/// Compression level, high because a pack is written once and sent to others.
const LEVEL: i32 = 9;

/// A pack being written.
pub struct PackWriter<W: Write> {
    content: Encoder<'static, DigestWriter<W>>,
}

impl<W: Write + Seek> PackWriter<W> {
    /// Begins a pack at the start of a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(mut to: W, head: PackHead) -> Result<Self, PackError> {
        to.write_all(PackSeal::blank().as_bytes())?;
        let content = Encoder::new(DigestWriter::new(to), LEVEL)?;
        let mut packing = Self { content };
        packing.add(&PackRecord::Pack(head))?;
        Ok(packing)
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If the record exceeds the maximum length, or the file cannot be written.
    pub fn add(&mut self, record: &PackRecord) -> Result<(), PackError> {
        let mut line = serde_json::to_vec(record).map_err(PackError::Unwritable)?;
        line.push(b'\n');
        if line.len() as u64 > LINE_BYTES_MOST {
            return Err(PackError::LongRecord { bytes: line.len() as u64 });
        }
        Ok(self.content.write_all(&line)?)
    }

    /// Completes the pack by writing its first line, and returns the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(PackSeal, W), PackError> {
        let (seal, mut to) = self.content.finish()?.seal();
        to.seek(SeekFrom::Start(0))?;
        to.write_all(seal.line().as_bytes())?;
        to.flush()?;
        Ok((seal, to))
    }
}

/// Creates a pack with arbitrary content, for tests of readers.
///
/// # Errors
/// If writing to memory fails.
pub fn sealed(content: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut digested = DigestWriter::new(Vec::new());
    digested.write_all(&zstd::bulk::compress(content, 1)?)?;
    let (seal, content) = digested.seal();
    Ok([seal.line().into_bytes(), content].concat())
}
