//! Content of a verified request: parts, each with a header, a checksum and data.

use std::fmt::Write;

use crate::language::{HEADER_BYTES, VerifyKind, VerifyOptions};

use super::hashes::{md5, sha1, sha3, sha256, sha512};
use super::sums::{crc7, crc16, crc32, crc32c, crc64, xxhash};

const MAGIC: u16 = 0xacca;
/// Length of the header before its own checksum.
const SUMMED_BYTES: usize = 36;
const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;
/// Parameters of the four streams that make up the random bytes of a block.
const STREAMS: [u64; 4] = [1, 2, 3, 5];

/// Layout of the blocks of a job.
#[derive(Clone, Debug)]
pub(crate) struct BlockLayout {
    pub(crate) kind: VerifyKind,
    verifying: VerifyOptions,
    unaligned: bool,
    /// Number of the clone among all, from 1.
    thread: u16,
    /// True if other clones write to the same files.
    is_shared: bool,
}

/// Attributes of a request that its headers state, and that must match when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedBlock {
    pub(crate) offset: u64,
    /// Seed of the random bytes; `None` accepts any.
    pub(crate) seed: Option<u64>,
    /// Number of the write; `None` accepts any.
    pub(crate) number: Option<u16>,
}

/// Mismatch of a block, in the original's words, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockMismatch {
    pub(crate) text: String,
    /// Offset in the file and bytes that were read, where dumps were asked for.
    pub(crate) received: Option<(u64, Vec<u8>)>,
}

impl BlockLayout {
    pub(crate) fn new(
        kind: VerifyKind,
        verifying: &VerifyOptions,
        unaligned: bool,
        thread: u64,
    ) -> Self {
        let [low, high, ..] = thread.to_le_bytes();
        let thread = u16::from_le_bytes([low, high]);
        Self { kind, verifying: verifying.clone(), unaligned, thread, is_shared: false }
    }

    /// Accepts blocks of other clones if they write to the same files.
    pub(crate) fn shared_by_others(self, is_shared: bool) -> Self {
        Self { is_shared, ..self }
    }

    fn has_header(&self) -> bool {
        !matches!(self.kind, VerifyKind::Pattern | VerifyKind::Null)
    }

    /// Seed of a part's random bytes, from its header.
    pub(crate) fn seed_of(part: &[u8]) -> u64 {
        let bytes = part.get(8..16).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }

    /// Fills the buffer of a write issued at `now_ns`.
    pub(crate) fn fill(&self, expected: &ExpectedBlock, now_ns: u64, into: &mut [u8]) {
        let seed = expected.seed.unwrap_or(0);
        match &self.verifying.pattern {
            Some(pattern) => pattern.fill(expected.offset, into),
            None => random(seed, into),
        }
        if self.kind == VerifyKind::Null {
            return;
        }
        let (part, header) =
            (self.verifying.part_bytes(into.len(), self.unaligned), self.kind.header_bytes());
        if part <= header || !self.has_header() {
            return;
        }
        for (number, bytes) in (0..).zip(into.chunks_mut(part)) {
            if bytes.len() <= header {
                continue;
            }
            let offset = expected.offset.wrapping_add(self.verifying.interval * number);
            let sum = self.sum(&bytes[header..]);
            bytes[HEADER_BYTES..header].copy_from_slice(&sum);
            let length = u32::try_from(part).unwrap_or(u32::MAX);
            let seconds = u32::try_from(now_ns / 1_000_000_000).unwrap_or(u32::MAX);
            let nanoseconds = u32::try_from(now_ns % 1_000_000_000).unwrap_or(u32::MAX);
            let fields: [&[u8]; 9] = [
                &MAGIC.to_le_bytes(),
                &number_of(self.kind).to_le_bytes(),
                &length.to_le_bytes(),
                &seed.to_le_bytes(),
                &offset.to_le_bytes(),
                &seconds.to_le_bytes(),
                &nanoseconds.to_le_bytes(),
                &self.thread.to_le_bytes(),
                &expected.number.unwrap_or(0).to_le_bytes(),
            ];
            bytes[..SUMMED_BYTES].copy_from_slice(&fields.concat());
            let sum = crc32c(&bytes[..SUMMED_BYTES]).to_le_bytes();
            bytes[SUMMED_BYTES..HEADER_BYTES].copy_from_slice(&sum);
            self.swap(bytes, header);
        }
    }

    /// Swaps the header with the data at `verify_offset`; a second swap undoes the first.
    fn swap(&self, bytes: &mut [u8], header: usize) {
        let offset = usize::try_from(self.verifying.offset).unwrap_or(usize::MAX);
        // Swapped byte by byte, so that places may overlap as they do for the original's copy.
        if offset == 0 || offset.checked_add(header).is_none_or(|end| end > bytes.len()) {
            return;
        }
        let first = bytes[..header].to_vec();
        let second = bytes[offset..offset + header].to_vec();
        bytes[..header].copy_from_slice(&second);
        bytes[offset..offset + header].copy_from_slice(&first);
    }

    /// Checksum of the data after a header.
    fn sum(&self, of: &[u8]) -> Vec<u8> {
        match self.kind {
            VerifyKind::Md5 => md5(of).to_vec(),
            VerifyKind::Crc64 => crc64(of).to_le_bytes().to_vec(),
            VerifyKind::Crc32 => crc32(of).to_le_bytes().to_vec(),
            VerifyKind::Crc32c | VerifyKind::Crc32cIntel => crc32c(of).to_le_bytes().to_vec(),
            VerifyKind::Crc16 => crc16(of).to_le_bytes().to_vec(),
            VerifyKind::Crc7 => vec![crc7(of)],
            VerifyKind::Sha256 => sha256(of).to_vec(),
            VerifyKind::Sha512 => sha512(of).to_vec(),
            VerifyKind::Sha3(bytes) => sha3(of, usize::from(bytes)),
            VerifyKind::XxHash => xxhash(of).to_le_bytes().to_vec(),
            VerifyKind::Sha1 => sha1(of).to_vec(),
            VerifyKind::Meta
            | VerifyKind::PatternHeader
            | VerifyKind::Pattern
            | VerifyKind::Null => Vec::new(),
        }
    }

    /// Verifies data that was read. `file` is the name in the error.
    pub(crate) fn look(
        &self,
        expected: &ExpectedBlock,
        file: &str,
        read: &mut [u8],
    ) -> Result<(), BlockMismatch> {
        if self.kind == VerifyKind::Null {
            return Ok(());
        }
        let (whole, part, header) = (
            read.len(),
            self.verifying.part_bytes(read.len(), self.unaligned),
            self.kind.header_bytes(),
        );
        let mut mismatch: Option<BlockMismatch> = None;
        for (number, bytes) in (0..).zip(read.chunks_mut(part)) {
            if mismatch.is_some() && self.verifying.fatal {
                break;
            }
            if bytes.len() > header {
                self.swap(bytes, header);
            }
            let at = expected.offset + number * part as u64;
            let location = format!("offset={}, length={whole}", expected.offset);
            let wrong = match self.wrong_header(expected, number, bytes, part) {
                Some(why) => {
                    let place = format!("at file {file} offset {at}, length {part}");
                    Some(format!("verify: {why} {place} (requested block: {location})\n"))
                }
                None => self.wrong_content(expected, number, bytes).map(|why| {
                    let name = short_name(self.kind);
                    let place = format!("at file {file} offset {at}, length {part}");
                    let requested = format!("(requested block: {location}, flags=8)");
                    let (before, after) = why;
                    format!("{before}{name}: verify failed {place} {requested}\n{after}")
                }),
            };
            let Some(text) = wrong else { continue };
            match &mut mismatch {
                Some(fault) => fault.text.push_str(&text),
                None => {
                    let received = self.verifying.dump.then(|| (at, bytes.to_vec()));
                    mismatch = Some(BlockMismatch { text, received });
                }
            }
        }
        mismatch.map_or(Ok(()), Err)
    }

    fn wrong_header(
        &self,
        expected: &ExpectedBlock,
        number: u64,
        bytes: &[u8],
        part: usize,
    ) -> Option<String> {
        if !self.has_header() {
            return None;
        }
        let field = |at: usize, count: usize| {
            let bytes = bytes.get(at..at + count).unwrap_or(&[]);
            bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let (magic, length) = (field(0, 2), field(4, 4));
        if magic != u64::from(MAGIC) {
            return Some(format!("bad magic header {magic:x}, wanted {MAGIC:x}"));
        }
        if length != part as u64 {
            return Some(format!("bad header length {length}, wanted {part}"));
        }
        // The seed and the number of another clone's write cannot be predicted.
        let is_own = !self.is_shared || field(32, 2) == u64::from(self.thread);
        if let Some(seed) = expected.seed.filter(|seed| is_own && *seed != field(8, 8)) {
            return Some(format!("bad header rand_seed {}, wanted {seed}", field(8, 8)));
        }
        let offset = expected.offset.wrapping_add(self.verifying.interval * number);
        if field(16, 8) != offset {
            let wanted = expected.offset;
            return Some(format!("bad header offset {}, wanted {wanted}", field(16, 8)));
        }
        let is_other = |number: &u16| is_own && u64::from(*number) != field(34, 2);
        if let Some(number) = expected.number.filter(is_other) {
            return Some(format!("bad header numberio {}, wanted {number}", field(34, 2)));
        }
        let sum = crc32c(bytes.get(..SUMMED_BYTES).unwrap_or(&[]));
        if u64::from(sum) != field(SUMMED_BYTES, 4) {
            let stored_sum = field(SUMMED_BYTES, 4);
            return Some(format!("bad header crc {stored_sum:x}, calculated {sum:x}"));
        }
        None
    }

    /// Mismatch of the data behind the header: the message before and after the offset.
    fn wrong_content(
        &self,
        expected: &ExpectedBlock,
        number: u64,
        bytes: &[u8],
    ) -> Option<(String, String)> {
        let header = self.kind.header_bytes().min(bytes.len());
        if matches!(self.kind, VerifyKind::Pattern | VerifyKind::PatternHeader | VerifyKind::Meta) {
            let wrong = self.wrong_pattern(expected, number, bytes, header)?;
            return Some((wrong, String::new()));
        }
        let (stored, sum) = (&bytes[HEADER_BYTES..header], self.sum(&bytes[header..]));
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut all, byte| {
                // Writing into a string cannot fail.
                let _ = write!(all, "{byte:02x}");
                all
            })
        };
        (stored != sum).then(|| {
            let after = format!(
                "       Expected CRC: {}\n       Received CRC: {}\n",
                hex(stored),
                hex(&sum)
            );
            (String::new(), after)
        })
    }

    fn wrong_pattern(
        &self,
        expected: &ExpectedBlock,
        number: u64,
        bytes: &[u8],
        header: usize,
    ) -> Option<String> {
        let pattern = self.verifying.pattern.as_ref()?.at(expected.offset);
        let before = usize::try_from(number).unwrap_or(0) * bytes.len() + header;
        let wanted = pattern.iter().cycle().skip(before % pattern.len());
        let mut pairs = bytes[header..].iter().zip(wanted).enumerate();
        let (at, (found, wanted)) = pairs.find(|(_, (found, wanted))| found != wanted)?;
        let bits = (found ^ wanted).count_ones();
        Some(format!(
            "fio: got pattern '{found:02x}', wanted '{wanted:02x}'. Bad bits {bits}\n\
             fio: bad pattern block offset {at}\n"
        ))
    }
}

/// Number of a kind in headers.
const fn number_of(kind: VerifyKind) -> u16 {
    match kind {
        VerifyKind::Meta => 1,
        VerifyKind::Md5 => 2,
        VerifyKind::Crc64 => 3,
        VerifyKind::Crc32 => 4,
        VerifyKind::Crc32c => 5,
        VerifyKind::Crc32cIntel => 6,
        VerifyKind::Crc16 => 7,
        VerifyKind::Crc7 => 8,
        VerifyKind::Sha256 => 9,
        VerifyKind::Sha512 => 10,
        VerifyKind::Sha3(28) => 11,
        VerifyKind::Sha3(32) => 12,
        VerifyKind::Sha3(48) => 13,
        VerifyKind::Sha3(_) => 14,
        VerifyKind::XxHash => 15,
        VerifyKind::Sha1 => 16,
        VerifyKind::PatternHeader => 17,
        VerifyKind::Pattern => 18,
        VerifyKind::Null => 19,
    }
}

/// Name of the kind in error messages: eight letters at most.
fn short_name(kind: VerifyKind) -> &'static str {
    let named = match kind {
        VerifyKind::Crc32cIntel => VerifyKind::Crc32c,
        VerifyKind::PatternHeader | VerifyKind::Meta => VerifyKind::Pattern,
        other => other,
    };
    let name = VerifyKind::NAMES.iter().find(|(_, one)| *one == named);
    name.map_or("", |(name, _)| &name[..name.len().min(8)])
}

/// Fills with the random bytes of a seed.
pub(crate) fn random(seed: u64, into: &mut [u8]) {
    let mut streams = STREAMS.map(|prime| seed.wrapping_mul(prime));
    let (groups, rest) = into.as_chunks_mut::<32>();
    for group in groups {
        for (word, stream) in group.as_chunks_mut::<8>().0.iter_mut().zip(&mut streams) {
            *word = stream.to_le_bytes();
            *stream = stream.wrapping_mul(GOLDEN);
        }
    }
    let mut word = streams[0];
    for part in rest.chunks_mut(8) {
        part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
        word = word.wrapping_mul(GOLDEN);
    }
}
