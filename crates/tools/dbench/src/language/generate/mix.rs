//! Statistics of the published load: counts over its 129 blocks, without the initial part.

/// Number of blocks over which the counts below are summed.
pub(super) const BLOCKS: u64 = 129;

/// Share of `sum` that falls on a block, rounded so that the shares of all blocks add up to `sum`.
pub(super) fn share(sum: u64, block: u32) -> u64 {
    let block = u64::from(block);
    sum * (block + 1) / BLOCKS - sum * block / BLOCKS
}

/// Operation kinds of the generator; a lock includes its unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum MixOperation {
    Read,
    Create,
    QueryPath,
    Close,
    Write,
    Find,
    Unlink,
    QueryFs,
    QueryFile,
    SetFile,
    Flush,
    Rename,
    Lock,
}

pub(super) const KINDS: usize = 13;

impl MixOperation {
    pub(super) const ALL: [Self; KINDS] = [
        Self::Read,
        Self::Create,
        Self::QueryPath,
        Self::Close,
        Self::Write,
        Self::Find,
        Self::Unlink,
        Self::QueryFs,
        Self::QueryFile,
        Self::SetFile,
        Self::Flush,
        Self::Rename,
        Self::Lock,
    ];
}

/// Transition counts: rows and columns in the order of [`MixOperation::ALL`]. A lock and its unlock
/// are always followed by a file query.
pub(super) const FOLLOWING: [[u32; KINDS]; KINDS] = [
    [91602, 13462, 4968, 3003, 3613, 3465, 0, 1892, 258, 1936, 0, 0, 0],
    [26112, 17932, 3378, 15257, 6004, 5785, 0, 259, 2967, 1278, 0, 0, 258],
    [903, 17175, 26691, 8908, 2064, 3009, 12267, 797, 0, 0, 0, 0, 0],
    [161, 15957, 15899, 16484, 918, 650, 3732, 908, 0, 130, 4, 3355, 0],
    [133, 1811, 1590, 7820, 13659, 899, 0, 472, 7554, 14, 5549, 0, 0],
    [3357, 2451, 5927, 2719, 777, 6728, 0, 5420, 386, 0, 0, 0, 0],
    [384, 6320, 5918, 259, 132, 2600, 0, 387, 0, 0, 0, 0, 0],
    [387, 1540, 4730, 263, 130, 3472, 0, 2646, 0, 0, 0, 0, 0],
    [903, 129, 1164, 517, 7555, 642, 0, 129, 773, 773, 0, 0, 0],
    [257, 0, 387, 1420, 3100, 129, 0, 0, 0, 1161, 0, 0, 0],
    [0, 0, 388, 1550, 1550, 386, 0, 129, 388, 1162, 0, 0, 0],
    [0, 2452, 774, 0, 0, 0, 0, 129, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 258, 0, 0, 0, 0],
];

/// Number of opens: of existing files with either option, of missing files, and of files that are
/// created.
pub(super) const OPENS: u64 = 38_519;
pub(super) const OPENS_PLAIN: u64 = 3_613;
pub(super) const OPENS_MISSING: u64 = 21_029;
pub(super) const MADE: u64 = 124 * BLOCKS;
pub(super) const PATHS: u64 = 47_429;
/// Path queries of missing names; in each block, one for a name in a missing directory.
pub(super) const PATHS_MISSING: u64 = 24_384;
pub(super) const FINDS: u64 = 13_437;
pub(super) const FINDS_NOTHING: u64 = 14_327;
pub(super) const QUERIES_FS: u64 = 13_167;
pub(super) const QUERIES_FILE: u64 = 12_516;
pub(super) const SETS_FILE: u64 = 6_454;
pub(super) const FLUSHES: u64 = 5_553;
pub(super) const RENAMES: u64 = 3_355;
pub(super) const LOCKS: u64 = 258;

/// Read sizes and their counts.
pub(super) const READS: [(u32, u64); 6] =
    [(4096, 83_172), (61_440, 16_641), (2048, 4_644), (8192, 4_644), (16_384, 1_937), (512, 1_161)];
/// Number of reads of other sizes; the generator uses 31 bytes, then 52 more for each further size.
pub(super) const READS_ODD: u64 = 12_000;
pub(super) fn odd_read(number: u64) -> u32 {
    u32::try_from(31 + 52 * (number % 93)).unwrap_or(31)
}

/// Effect of a write on its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum WriteEffect {
    /// Stays within the file.
    Over,
    /// Begins within the file and ends beyond its end.
    Straddle,
    /// Begins at the end of the file.
    Append,
    /// Writes one byte beyond the end.
    Extend,
}

pub(super) const EFFECTS: usize = 4;

/// Writes of the common sizes.
pub(super) const WRITES: [(WriteEffect, u32, u64); 9] = [
    (WriteEffect::Over, 65_536, 7_224),
    (WriteEffect::Over, 4096, 8_652),
    (WriteEffect::Over, 2048, 1_677),
    (WriteEffect::Over, 8192, 1_164),
    (WriteEffect::Over, 510, 387),
    (WriteEffect::Straddle, 65_536, 1_936),
    (WriteEffect::Straddle, 4096, 1_290),
    (WriteEffect::Append, 65_536, 3_225),
    (WriteEffect::Extend, 1, 7_355),
];

/// Writes of other sizes, chosen here: effect, number of writes, first size, increment, number of
/// sizes.
pub(super) const WRITES_ODD: [(WriteEffect, u64, u32, u32, u32); 3] = [
    (WriteEffect::Over, 1_294, 40, 1500, 10),
    (WriteEffect::Straddle, 2_970, 1111, 2175, 23),
    (WriteEffect::Append, 1_937, 3000, 2986, 15),
];

/// Purpose of an open: operations done to the file while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenPurpose {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) flushes: bool,
}

const fn purpose(reads: bool, writes: bool, flushes: bool) -> OpenPurpose {
    OpenPurpose { reads, writes, flushes }
}

/// Number of opens for each purpose.
pub(super) const PURPOSES: [(OpenPurpose, u64); 6] = [
    (purpose(false, false, false), 21_806),
    (purpose(true, false, false), 21_487),
    (purpose(false, true, false), 6_323),
    (purpose(true, true, false), 5_678),
    (purpose(true, true, true), 1_678),
    (purpose(false, true, true), 1_161),
];
