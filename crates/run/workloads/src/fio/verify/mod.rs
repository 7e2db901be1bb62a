//! Verifying: what writes carry so that a read can tell whether it is there, in the original's
//! form, so that each can verify what the other wrote.
//!
//! `block` makes and looks at one request's bytes, `history` knows what was written, `pattern` what
//! fills a block, `sums` and `hashes` are the checksums.

mod block;
mod hashes;
mod history;
mod pattern;
mod state;
mod sums;

pub(crate) use block::{Block, Expected, random};
pub(crate) use history::{History, Piece};
pub(crate) use pattern::Pattern;
pub(crate) use state::{state, state_name};

/// What stands in a block: `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A header alone, and the pattern if there is one.
    Meta,
    Md5,
    Crc64,
    Crc32,
    Crc32c,
    /// The same, by another number.
    Crc32cIntel,
    Crc16,
    Crc7,
    Sha256,
    Sha512,
    /// With a digest of so many bytes.
    Sha3(u8),
    XxHash,
    Sha1,
    /// A pattern behind a header.
    PatternHeader,
    /// A pattern alone.
    Pattern,
    /// Nothing is looked at.
    Null,
}

impl Kind {
    /// All with their names.
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

    /// Its number in headers.
    const fn number(self) -> u16 {
        match self {
            Self::Meta => 1,
            Self::Md5 => 2,
            Self::Crc64 => 3,
            Self::Crc32 => 4,
            Self::Crc32c => 5,
            Self::Crc32cIntel => 6,
            Self::Crc16 => 7,
            Self::Crc7 => 8,
            Self::Sha256 => 9,
            Self::Sha512 => 10,
            Self::Sha3(28) => 11,
            Self::Sha3(32) => 12,
            Self::Sha3(48) => 13,
            Self::Sha3(_) => 14,
            Self::XxHash => 15,
            Self::Sha1 => 16,
            Self::PatternHeader => 17,
            Self::Pattern => 18,
            Self::Null => 19,
        }
    }

    /// What it is called where it fails: eight letters at most.
    fn short_name(self) -> &'static str {
        let named = match self {
            Self::Crc32cIntel => Self::Crc32c,
            Self::PatternHeader | Self::Meta => Self::Pattern,
            other => other,
        };
        let name = Self::NAMES.iter().find(|(_, kind)| *kind == named);
        name.map_or("", |(name, _)| &name[..name.len().min(8)])
    }
}

/// What a job says about verifying.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verifying {
    pub(crate) kind: Option<Kind>,
    /// Whether what was written is read again at the end: `do_verify`.
    pub(crate) reads_again: bool,
    /// Whether nothing is written, since it is there: `verify_only`.
    pub(crate) only: bool,
    /// `verify_fatal`: whether the rest of a block is left out after a fault.
    pub(crate) fatal: bool,
    /// `verify_state_save`: whether a file tells how far it came.
    pub(crate) saves_state: bool,
    /// `verify_dump`: whether a block with a fault is kept as a file.
    pub(crate) dump: bool,
    /// Bytes between headers; 0 for one header in a request.
    pub(crate) interval: u64,
    /// Where in a block the header stands.
    pub(crate) offset: u64,
    /// Writes after which some are read again; 0 for none.
    pub(crate) backlog: u64,
    /// How many then; 0 for all of them.
    pub(crate) batch: u64,
    pub(crate) pattern: Option<Pattern>,
}

impl Default for Verifying {
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
        }
    }
}

impl Verifying {
    /// Makes the interval one that divides all writes, as the original does. `writes` and `reads`
    /// are the smallest and the largest request, `reads` where there are some.
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
