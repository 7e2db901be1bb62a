//! Limits on the data of each phase, so that a rehearsal fits into the free space.

use treering_model::workloads::io500::{
    DEFAULT_BLOCK_BYTES, DEFAULT_ITEMS, DEFAULT_SEGMENTS, EASY_TRANSFER_BYTES, HARD_FILE_BYTES,
    HARD_TRANSFER_BYTES, Io500Benchmark,
};
use treering_script::TargetFacts;

use super::options::NativeOptions;

/// Space reserved for an empty file, in bytes.
const INODE_BYTES: u64 = 1024;
/// The shares of the space, in percent: ior-easy, mdtest-easy, ior-hard, mdtest-hard.
const SHARES: [u64; 4] = [50, 5, 25, 20];
/// Percentage of the free inodes that each mdtest may use.
const INODE_SHARE: u64 = 40;

/// Maximum amount that each worker writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteLimits {
    /// Bytes of ior-easy, a whole number of transfers.
    pub(super) block_bytes: u64,
    /// Files of mdtest-easy.
    pub(super) easy_items: u64,
    /// Segments of ior-hard.
    pub(super) segments: u64,
    /// Files of mdtest-hard.
    pub(super) hard_items: u64,
}

impl WriteLimits {
    /// Limits at a target: the requested sizes or the defaults of IO500, cut to the free space and
    /// inodes.
    pub(super) fn new(options: &NativeOptions, facts: &TargetFacts) -> Self {
        let workers = u64::from(options.workers).max(1);
        let is_known = facts.free_bytes < u64::MAX;
        let free = if is_known { coarse(facts.free_bytes / 2) } else { u64::MAX };
        let space = options.space.unwrap_or(free);
        let each = |of: Io500Benchmark, bytes: u64| {
            if space == u64::MAX {
                return u64::MAX;
            }
            (space / 100 * SHARES[of.place()] / workers / bytes).max(1)
        };
        let inodes = facts.free_inodes.map_or(u64::MAX, |free| coarse(free) / 100 * INODE_SHARE);
        let inodes = (inodes / workers).max(1);
        let block = facts.block_bytes.max(1);
        let hard_file = u64::from(HARD_FILE_BYTES).div_ceil(block) * block + INODE_BYTES;
        let transfers = each(Io500Benchmark::IorEasy, EASY_TRANSFER_BYTES.into());
        let asked = options.block_size.unwrap_or(DEFAULT_BLOCK_BYTES);
        let asked = (asked / u64::from(EASY_TRANSFER_BYTES)).max(1);
        let items = |asked: Option<u64>, room: u64| {
            asked.unwrap_or(DEFAULT_ITEMS).min(room).min(inodes).max(1)
        };
        Self {
            block_bytes: asked.min(transfers) * u64::from(EASY_TRANSFER_BYTES),
            easy_items: items(options.easy_items, each(Io500Benchmark::MdtestEasy, INODE_BYTES)),
            segments: options
                .segment_count
                .unwrap_or(DEFAULT_SEGMENTS)
                .min(each(Io500Benchmark::IorHard, HARD_TRANSFER_BYTES.into())),
            hard_items: items(options.hard_items, each(Io500Benchmark::MdtestHard, hard_file)),
        }
    }

    /// Bytes of content of all workers.
    pub(super) fn bytes(&self, workers: u16) -> u64 {
        let each = self
            .block_bytes
            .saturating_add(self.segments.saturating_mul(HARD_TRANSFER_BYTES.into()))
            .saturating_add(self.hard_items.saturating_mul(HARD_FILE_BYTES.into()));
        each.saturating_mul(workers.into())
    }
}

/// Rounds down to three significant bits, so that ranks that query a filesystem one after the
/// other get the same number.
fn coarse(number: u64) -> u64 {
    let kept = 3;
    let digits = u64::BITS - number.leading_zeros();
    if digits <= kept { number } else { number >> (digits - kept) << (digits - kept) }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_ITEMS, WriteLimits, coarse};
    use crate::options::NativeOptions;
    use treering_script::{Settings, TargetFacts};

    fn limits(words: &[(&str, &str)], free_bytes: u64) -> WriteLimits {
        let pairs = words.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let options = NativeOptions::read(&Settings::new(pairs.collect())).unwrap();
        WriteLimits::new(&options, &TargetFacts { free_bytes, ..TargetFacts::unknown() })
    }

    #[test]
    fn limits_of_all_phases_fit_into_half_the_free_space() {
        for workers in ["1", "3", "64"] {
            let free = 20_u64 << 30;
            let limits = limits(&[("workers", workers)], free);
            let total = limits.bytes(workers.parse().unwrap());
            assert!(total < free / 2 && total > free / 4, "{total} of {free} with {workers}");
            assert!(limits.block_bytes.is_multiple_of(2 << 20));
        }
    }

    #[test]
    fn unknown_free_space_gives_the_defaults_of_io500() {
        let limits = limits(&[], u64::MAX);
        assert_eq!((limits.easy_items, limits.segments), (DEFAULT_ITEMS, 10_000_000));
        assert_eq!(limits.block_bytes, 9_920_000 << 20);
    }

    #[test]
    fn nearly_equal_numbers_are_equal() {
        assert_eq!(coarse(1_000_000), coarse(999_000));
        assert_eq!([coarse(0), coarse(5), coarse(1 << 40)], [0, 5, 1 << 40]);
    }
}
