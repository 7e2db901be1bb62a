//! Generator of the GNU C library's `rand`, from which tools draw their orders.

/// Words of the generator's state.
const WORDS: usize = 31;

/// Additive feedback generator of the GNU C library's `rand`.
#[derive(Debug)]
pub struct CRandom {
    ring: [u32; WORDS],
    at: usize,
}

impl CRandom {
    /// Seeds the generator as `srand` does.
    pub fn new(seed: u32) -> Self {
        let mut ring = [0_u32; WORDS];
        ring[0] = seed.max(1);
        for at in 1..WORDS {
            let next = 16_807 * i64::from(ring[at - 1].cast_signed()) % 2_147_483_647;
            let next = if next < 0 { next + 2_147_483_647 } else { next };
            ring[at] = u32::try_from(next).unwrap_or(0);
        }
        // The first three words are taken over once more before the sums begin.
        let mut random = Self { ring, at: 3 };
        for _ in 0..310 {
            random.draw();
        }
        random
    }

    /// Draws the next number, as `rand` and `random` return it: each word is the sum of those 31
    /// and 3 positions before.
    pub fn draw(&mut self) -> u32 {
        let word = self.ring[self.at].wrapping_add(self.ring[(self.at + WORDS - 3) % WORDS]);
        self.ring[self.at] = word;
        self.at = (self.at + 1) % WORDS;
        word >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::CRandom;

    #[test]
    fn draws_equal_those_of_the_c_library() {
        let mut random = CRandom::new(1);
        let drawn: Vec<u32> = (0..3).map(|_| random.draw()).collect();
        assert_eq!(drawn, [1_804_289_383, 846_930_886, 1_681_692_777]);
    }
}
