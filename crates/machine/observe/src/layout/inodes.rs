//! Set of visited inodes, one bit each: a file with several names counts once.

use std::collections::HashMap;

/// Inode numbers per page: filesystems number files in clusters.
const PAGE_BITS: u64 = 512;
const WORDS: usize = 8;

/// Set of inode numbers per device number. Ten million files with close numbers take some
/// megabytes.
#[derive(Debug, Default)]
pub(super) struct InodeSet {
    pages: HashMap<(u64, u64), [u64; WORDS]>,
}

impl InodeSet {
    /// Adds an inode; returns true if it is new.
    pub(super) fn insert(&mut self, device: u64, inode: u64) -> bool {
        let page = self.pages.entry((device, inode / PAGE_BITS)).or_default();
        let bit = inode % PAGE_BITS;
        let Some(word) = page.get_mut((bit / 64) as usize) else { return true };
        let mask = 1 << (bit % 64);
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::InodeSet;
    use proptest::prelude::{any, prop, proptest};
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn insert_behaves_like_a_hash_set(
            numbers in prop::collection::vec((0..3u64, any::<u64>(), 0..70u64), 0..200)
        ) {
            let (mut inodes, mut set) = (InodeSet::default(), HashSet::new());
            for (device, base, near) in numbers {
                let inode = (base >> 40).wrapping_add(near);
                assert_eq!(inodes.insert(device, inode), set.insert((device, inode)));
            }
        }
    }
}
