//! Numbers of files that were met, a bit each: a file with several names counts once.

use std::collections::HashMap;

/// Numbers beside each other that share a page: filesystems number files in clusters.
const PAGE_BITS: u64 = 512;
const WORDS: usize = 8;

/// A set of numbers of files, per filesystem or subvolume. Ten million files whose numbers are
/// close take some megabytes.
#[derive(Debug, Default)]
pub(super) struct Inodes {
    pages: HashMap<(u64, u64), [u64; WORDS]>,
}

impl Inodes {
    /// Adds a number; whether it is new.
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
    use super::Inodes;
    use proptest::prelude::{any, prop, proptest};
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_is_a_set(
            numbers in prop::collection::vec((0..3u64, any::<u64>(), 0..70u64), 0..200)
        ) {
            let (mut inodes, mut set) = (Inodes::default(), HashSet::new());
            for (device, base, near) in numbers {
                let inode = (base >> 40).wrapping_add(near);
                assert_eq!(inodes.insert(device, inode), set.insert((device, inode)));
            }
        }
    }
}
