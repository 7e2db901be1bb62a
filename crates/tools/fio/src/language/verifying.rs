//! Verification options of a job. The workload defines blocks and checksums.

use super::pattern::Pattern;

/// Length of a header before the checksum of its data.
pub(crate) const HEADER_BYTES: usize = 40;

/// Content of a block: `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifyKind {
    /// Header alone, with the pattern if there is one.
    Meta,
    /// MD5 checksum, which like all checksums follows the header.
    Md5,
    /// Checksum of eight bytes.
    Crc64,
    /// Checksum of four bytes.
    Crc32,
    /// Checksum of four bytes.
    Crc32c,
    /// CRC-32C under another number.
    Crc32cIntel,
    /// Checksum of two bytes.
    Crc16,
    /// Checksum of one byte.
    Crc7,
    /// SHA-256 in a field of 64 bytes, as the original writes it.
    Sha256,
    /// SHA-512 in a field of 128 bytes, as the original writes it.
    Sha512,
    /// SHA-3 with a digest of this many bytes.
    Sha3(u8),
    /// Checksum of four bytes.
    XxHash,
    /// Checksum of 20 bytes.
    Sha1,
    /// Pattern after a header.
    PatternHeader,
    /// Pattern alone.
    Pattern,
    /// Data is read back, and nothing compared.
    Null,
}

impl VerifyKind {
    /// Kinds by name.
    pub(crate) const NAMES: [(&'static str, Self); 19] = [
        ("md5", Self::Md5),
        ("crc64", Self::Crc64),
        ("crc32", Self::Crc32),
        ("crc32c", Self::Crc32c),
        ("crc32c-intel", Self::Crc32cIntel),
        ("crc16", Self::Crc16),
        ("crc7", Self::Crc7),
        ("sha1", Self::Sha1),
        ("sha256", Self::Sha256),
        ("sha512", Self::Sha512),
        ("sha3-224", Self::Sha3(28)),
        ("sha3-256", Self::Sha3(32)),
        ("sha3-384", Self::Sha3(48)),
        ("sha3-512", Self::Sha3(64)),
        ("xxhash", Self::XxHash),
        ("meta", Self::Meta),
        ("pattern", Self::Pattern),
        ("pattern_hdr", Self::PatternHeader),
        ("null", Self::Null),
    ];

    /// Length of a header with its checksum; 0 without a header.
    pub(crate) const fn header_bytes(self) -> usize {
        HEADER_BYTES
            + match self {
                Self::Pattern | Self::Null => return 0,
                Self::Meta | Self::PatternHeader => 0,
                Self::Md5 => 16,
                Self::Crc64 => 8,
                Self::Crc32 | Self::Crc32c | Self::Crc32cIntel | Self::XxHash => 4,
                Self::Crc16 => 2,
                Self::Crc7 => 1,
                Self::Sha256 => 64,
                Self::Sha512 => 128,
                Self::Sha3(bytes) => bytes as usize,
                Self::Sha1 => 20,
            }
    }
}

/// Verification options of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifyOptions {
    /// Kind of verification: `verify`; `None` for none.
    pub kind: Option<VerifyKind>,
    /// True if written data is read back at the end: `do_verify`.
    pub reads_again: bool,
    /// True if the data was written before, so that nothing is written: `verify_only`.
    pub only: bool,
    /// True if the rest of a block is skipped after a mismatch: `verify_fatal`.
    pub fatal: bool,
    /// True if the state is saved to a file: `verify_state_save`.
    pub saves_state: bool,
    /// True if mismatching blocks are saved to files: `verify_dump`.
    pub dump: bool,
    /// Bytes between headers; 0 for one header in a request.
    pub interval: u64,
    /// Offset of the header within a block.
    pub offset: u64,
    /// Number of writes after which some are read back; 0 for none.
    pub backlog: u64,
    /// Number of writes read back at once; 0 for all of them.
    pub batch: u64,
    /// Content of the blocks: `verify_pattern`.
    pub pattern: Option<Pattern>,
    /// Percentage of written blocks that are trimmed: `trim_percentage`.
    pub trimmed_percent: u64,
    /// Number of writes after which some blocks are trimmed: `trim_backlog`; 0 for never.
    pub trim_backlog: u64,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            kind: None,
            reads_again: true,
            only: false,
            fatal: false,
            saves_state: true,
            dump: false,
            interval: 0,
            offset: 0,
            backlog: 0,
            batch: 0,
            pattern: None,
            trimmed_percent: 0,
            trim_backlog: 0,
        }
    }
}

impl VerifyOptions {
    /// True if blocks are trimmed before they are read back. As in the original, `trim_percentage`
    /// has no effect without `trim_backlog`, nor without reading back.
    pub(crate) const fn trims_written(&self) -> bool {
        self.kind.is_some() && self.reads_again && self.trimmed_percent > 0 && self.trim_backlog > 0
    }

    /// Distance of headers in a request of this length.
    pub(crate) fn part_bytes(&self, request: usize, unaligned: bool) -> usize {
        match usize::try_from(self.interval) {
            Ok(interval) if interval > 0 && interval <= request && !unaligned => interval,
            _ => request,
        }
    }

    /// Adjusts the interval to divide all writes, as the original does. `writes` and `reads` are
    /// the smallest and the largest request, `reads` where there are some.
    pub(crate) fn settle(&mut self, writes: [u64; 2], reads: Option<u64>) {
        if self.kind.is_none() {
            return;
        }
        let [least, most] = writes;
        if least != most && self.interval == 0 {
            self.interval = least;
        }
        if self.interval > least {
            self.interval = least;
        } else if let Some(read) = reads.filter(|read| self.interval > *read) {
            self.interval = read;
        }
        let divides = |number: u64| number.is_multiple_of(self.interval.max(1));
        if self.interval == 0 || !divides(least) || !divides(most) {
            self.interval = common_divisor(least, most);
        }
    }
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}
