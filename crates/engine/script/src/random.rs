//! Random generator: one seed determines a run, on every machine.
//!
//! xoshiro256++ (Blackman and Vigna). Draws are implemented here, so that no update of a library
//! can change a sequence. Classic modes that must follow another generator implement it themselves.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treering_model::Fingerprint;

/// Deterministic random generator.
#[derive(Clone, Debug)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Creates the generator of a named part of a run, which does not depend on the draws of other
    /// parts.
    pub fn for_part(seed: u64, part: &str) -> Self {
        Self::new(seed ^ Fingerprint::from_bytes(part.as_bytes()).number())
    }

    /// Independent generator: the two sequences overlap only after 2^128 draws.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.generator.jump();
        self
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// An integer from 0 to `bound - 1`, each equally likely (Lemire's method); 0 when `bound` is
    /// 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let mut product = u128::from(self.bits()) * u128::from(bound);
        // The threshold is below the bound: mostly it need not be known.
        if low_half(product) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while low_half(product) < threshold {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        high_half(product)
    }

    /// An index into a slice of this length; 0 when it is empty.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a usize")
    }

    /// Puts a slice into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }

    /// Fills a buffer with random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.generator.fill_bytes(buffer);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
const fn low_half(product: u128) -> u64 {
    product as u64
}

const fn high_half(product: u128) -> u64 {
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..5).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, GOLDEN);
        assert_ne!(Random::for_part(1, "a").bits(), Random::for_part(1, "b").bits());
    }

    /// Values drawn by this code when it was written; xoshiro256++ itself is checked by its own
    /// crate.
    const GOLDEN: [u64; 5] = [811, 747, 100, 746, 184];

    #[test]
    fn filled_bytes_are_the_draws_with_the_lowest_byte_first() {
        let mut bytes = [0; 13];
        Random::new(5).fill(&mut bytes);
        let mut random = Random::new(5);
        let draws = [random.bits().to_le_bytes(), random.bits().to_le_bytes()].concat();
        assert_eq!(bytes[..], draws[..13]);
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_every_value() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.index(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_shuffle_keeps_the_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
