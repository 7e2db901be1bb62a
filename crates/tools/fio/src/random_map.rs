//! Map of the blocks of a file that were already used in this pass (fio's random map).

/// Bitmap over blocks, with a bit set for each used block; above it a bitmap of full words, and so
/// on.
#[derive(Clone, Debug)]
pub(super) struct RandomMap {
    blocks: u64,
    levels: Vec<Vec<u64>>,
    /// Bits after the last block that are used: the original sets those in its last word, and where
    /// that is full those in a following word, if its memory has room for one.
    behind: u64,
    has_behind: bool,
}

const BITS: u64 = u64::BITS as u64;

fn word(bit: u64) -> usize {
    usize::try_from(bit / BITS).unwrap_or(usize::MAX)
}

impl RandomMap {
    /// Creates a map of `blocks` free blocks.
    pub(super) fn new(blocks: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = blocks.max(1);
        loop {
            let words = bits.div_ceil(BITS);
            levels.push(vec![0; usize::try_from(words).unwrap_or(0)]);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let words = blocks.div_ceil(BITS);
        let has_behind = !blocks.is_multiple_of(BITS) || words == 1 || words.is_multiple_of(2);
        let mut map = Self { blocks, levels, behind: 0, has_behind };
        map.reset();
        map
    }

    /// Marks all blocks as free.
    pub(super) fn reset(&mut self) {
        if !self.blocks.is_multiple_of(BITS) {
            self.behind = 0;
        }
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // Bits after the last block are never free.
            let remaining = bits % BITS;
            if let Some(last) = level.last_mut().filter(|_| remaining > 0 || bits == 0) {
                *last = u64::MAX << remaining;
            }
            bits = bits.div_ceil(BITS);
        }
    }

    /// True if the block is free.
    #[inline]
    pub(super) fn is_free(&self, block: u64) -> bool {
        let word_bits = self.levels[0].get(word(block));
        block < self.blocks && word_bits.is_some_and(|word| word & (1 << (block % BITS)) == 0)
    }

    /// Marks up to `wanted` blocks from `block` on, stopping at a used one, and returns their
    /// number. Blocks after the last exist only in ranges of a file that others follow.
    pub(super) fn take(&mut self, block: u64, wanted: u64) -> u64 {
        let mut taken = 0;
        while taken < wanted && self.is_free(block + taken) {
            self.set(block + taken);
            taken += 1;
        }
        while taken < wanted && self.take_behind(block + taken) {
            taken += 1;
        }
        taken
    }

    /// Marks a bit after the last block; false if there is none or it is used.
    fn take_behind(&mut self, bit: u64) -> bool {
        let room = BITS - self.blocks % BITS;
        let place = bit.checked_sub(self.blocks).filter(|place| *place < room && self.has_behind);
        let Some(place) = place.filter(|place| self.behind & (1 << place) == 0) else {
            return false;
        };
        self.behind |= 1 << place;
        true
    }

    #[inline]
    fn set(&mut self, block: u64) {
        let mut bit = block;
        for level in &mut self.levels {
            let Some(found) = level.get_mut(word(bit)) else { return };
            *found |= 1 << (bit % BITS);
            if *found != u64::MAX {
                return;
            }
            bit /= BITS;
        }
    }

    /// First free block from `from` on, else the first of all; `None` if all are used.
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        self.free_from(0, from).or_else(|| self.free_from(0, 0)).filter(|bit| *bit < self.blocks)
    }

    fn free_from(&self, level: usize, from: u64) -> Option<u64> {
        let words = self.levels.get(level)?;
        let bits = words.get(word(from))?;
        let free = !bits & (u64::MAX << (from % BITS));
        if free != 0 {
            return Some(from / BITS * BITS + u64::from(free.trailing_zeros()));
        }
        // The level above finds a word with a free bit.
        let next = self.free_from(level + 1, from / BITS + 1)?;
        let free = !words.get(usize::try_from(next).ok()?)?;
        (free != 0).then(|| next * BITS + u64::from(free.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop_assert_eq, proptest};

    use super::RandomMap;

    fn sizes() -> impl Strategy<Value = u64> {
        1..20_000_u64
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_list(
            blocks in sizes(),
            asked in proptest::collection::vec((0..20_000_u64, 1..200_u64), 1..200),
        ) {
            let mut map = RandomMap::new(blocks);
            let mut plain = vec![false; usize::try_from(blocks).unwrap()];
            for (at, wanted) in asked {
                let at = at % blocks;
                let place = usize::try_from(at).unwrap();
                let after = (place..plain.len()).chain(0..place);
                let free = after.clone().find(|&block| !plain[block]);
                prop_assert_eq!(map.is_free(at), !plain[place]);
                let first = (place..plain.len()).find(|&block| !plain[block]);
                let first = first.or_else(|| (0..plain.len()).find(|&block| !plain[block]));
                prop_assert_eq!(map.next_free(at), first.map(|block| block as u64));
                prop_assert_eq!(first.is_some(), free.is_some());
                let mut taken = 0;
                // Bits after the last block are tested separately.
                let wanted = wanted.min(blocks - at);
                for is_used in plain.iter_mut().skip(place) {
                    if taken == wanted || *is_used {
                        break;
                    }
                    *is_used = true;
                    taken += 1;
                }
                prop_assert_eq!(map.take(at, wanted), taken);
            }
            map.reset();
            prop_assert_eq!(map.take(0, blocks), blocks);
            prop_assert_eq!(map.next_free(0), None);
        }
    }

    #[test]
    fn an_empty_map_has_no_free_block() {
        let map = RandomMap::new(0);
        assert_eq!((map.is_free(0), map.next_free(0)), (false, None));
    }
}
