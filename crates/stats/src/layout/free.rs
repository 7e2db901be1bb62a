//! Free space: number, size and size distribution of its extents.

/// Smallest size of a large free extent, in bytes: a file of 1 MiB fits.
const LARGE_FREE_BYTES: u64 = 1 << 20;
/// Size below which a free extent is small, in bytes.
const SMALL_FREE_BYTES: u64 = 64 << 10;

/// Accumulator of free extents.
#[derive(Clone, Debug)]
pub struct FreeSpaceMeasures {
    /// Number and bytes of extents by the binary logarithm of their size.
    bins: [(u64, u64); 64],
    largest: u64,
    small_bytes: u64,
    large_bytes: u64,
}

/// Free extents of one size class: from `from_bytes` up to, but excluding, twice that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeBin {
    /// Smallest size, a power of two.
    pub from_bytes: u64,
    /// Number of extents.
    pub extents: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
}

/// Summary of free space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeSpaceLayout {
    /// Number of free extents.
    pub extents: u64,
    /// Free bytes.
    pub bytes: u64,
    /// Size of the largest free extent, in bytes.
    pub largest_bytes: u64,
    /// Bytes in extents of at least 1 MiB.
    pub large_bytes: u64,
    /// Bytes in extents below 64 KiB.
    pub small_bytes: u64,
    /// Histogram by size, ascending; empty classes are omitted.
    pub histogram: Vec<FreeBin>,
}

impl Default for FreeSpaceMeasures {
    fn default() -> Self {
        Self { bins: [(0, 0); 64], largest: 0, small_bytes: 0, large_bytes: 0 }
    }
}

impl FreeSpaceMeasures {
    /// Adds a free extent; an extent of 0 bytes is ignored.
    pub fn add(&mut self, bytes: u64) {
        let Some(bin) = bytes.checked_ilog2().and_then(|at| self.bins.get_mut(at as usize)) else {
            return;
        };
        bin.0 += 1;
        bin.1 = bin.1.saturating_add(bytes);
        self.largest = self.largest.max(bytes);
        if bytes < SMALL_FREE_BYTES {
            self.small_bytes = self.small_bytes.saturating_add(bytes);
        }
        if bytes >= LARGE_FREE_BYTES {
            self.large_bytes = self.large_bytes.saturating_add(bytes);
        }
    }

    /// Summary of the added extents.
    pub fn layout(&self) -> FreeSpaceLayout {
        let bins = self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0);
        let histogram: Vec<FreeBin> = bins
            .map(|(at, &(extents, bytes))| FreeBin { from_bytes: 1 << at, extents, bytes })
            .collect();
        FreeSpaceLayout {
            extents: histogram.iter().map(|bin| bin.extents).sum(),
            bytes: histogram.iter().fold(0, |sum, bin| bin.bytes.saturating_add(sum)),
            largest_bytes: self.largest,
            large_bytes: self.large_bytes,
            small_bytes: self.small_bytes,
            histogram,
        }
    }
}

impl FreeSpaceLayout {
    /// Mean size of a free extent in bytes; `None` without any.
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.extents > 0).then(|| self.bytes as f64 / self.extents as f64)
    }

    /// Share of the free bytes in large extents.
    pub fn large_share(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.large_bytes as f64 / self.bytes as f64)
    }

    /// Share of the free bytes in small extents.
    pub fn small_share(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.small_bytes as f64 / self.bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{FreeBin, FreeSpaceLayout, FreeSpaceMeasures};
    use proptest::prelude::{any, prop, proptest};

    fn of(sizes: &[u64]) -> FreeSpaceLayout {
        let mut free = FreeSpaceMeasures::default();
        sizes.iter().for_each(|&bytes| free.add(bytes));
        free.layout()
    }

    #[test]
    fn sizes_are_counted_by_powers_of_two() {
        let free = of(&[4096, 8191, 8192, 0, 1 << 20, 65_535, 65_536]);
        let bin = |from_bytes, extents, bytes| FreeBin { from_bytes, extents, bytes };
        let histogram = [
            bin(4096, 2, 12_287),
            bin(8192, 1, 8192),
            bin(32_768, 1, 65_535),
            bin(65_536, 1, 65_536),
            bin(1 << 20, 1, 1 << 20),
        ];
        assert_eq!(free.histogram, histogram);
        assert_eq!((free.extents, free.largest_bytes), (6, 1 << 20));
        assert_eq!(free.large_bytes, 1 << 20);
        assert_eq!(free.small_bytes, 12_287 + 8192 + 65_535);
        assert_eq!(free.mean_bytes(), Some(free.bytes as f64 / 6.0));
    }

    #[test]
    fn a_full_disk_has_no_shares() {
        let full = of(&[]);
        assert_eq!(full, FreeSpaceLayout::default());
        assert_eq!((full.mean_bytes(), full.large_share(), full.small_share()), (None, None, None));
    }

    proptest! {
        #[test]
        fn all_free_bytes_are_counted(sizes in prop::collection::vec(any::<u64>(), 0..100)) {
            let free = of(&sizes);
            let total = sizes.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
            let extents = sizes.iter().filter(|&&bytes| bytes > 0).count() as u64;
            assert_eq!((free.bytes, free.extents), (total, extents));
            for bin in &free.histogram {
                let is_in = |bytes: &&u64| bytes.checked_ilog2() == bin.from_bytes.checked_ilog2();
                assert_eq!(bin.extents, sizes.iter().filter(is_in).count() as u64);
            }
            assert!(free.large_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}
