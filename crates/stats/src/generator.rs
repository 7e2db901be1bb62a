//! The seeded generator of resamples and permutations: xoshiro256++.
//!
//! Not here: entropy. The caller always passes a seed, so that recomputing a report gives the same
//! report. Changing the generator, or the way integers are drawn from it, changes printed figures
//! and belongs in the changelog.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Random generator with a fixed seed.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    inner: Xoshiro256PlusPlus,
}

impl Generator {
    /// A generator whose whole sequence follows from `seed`.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { inner: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A uniform integer in `0..bound`, without bias; 0 when `bound` is 0.
    ///
    /// Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves of a 128-bit product are wanted; the high one is below bound"
    )]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            return 0;
        }
        let bound = bound as u64;
        let mut product = u128::from(self.inner.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let reject_below = bound.wrapping_neg() % bound;
            while (product as u64) < reject_below {
                product = u128::from(self.inner.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as usize
    }

    /// Draws true or false with equal probability.
    pub(crate) fn coin(&mut self) -> bool {
        self.inner.next_u64() >> 63 == 1
    }

    /// Puts the slice in a uniformly random order (Fisher-Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::generator::Generator;

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let draw = |seed| {
            let mut generator = Generator::seeded(seed);
            (0..50).map(|_| generator.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn every_value_is_drawn_about_equally_often() {
        let mut generator = Generator::seeded(1);
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[generator.below(7)] += 1;
        }
        assert!(seen.iter().all(|&count| (9_600..=10_400).contains(&count)), "{seen:?}");
        assert_eq!(generator.below(0), 0);
        assert_eq!(generator.below(1), 0);
    }

    #[test]
    fn a_shuffle_keeps_the_items() {
        let mut items: Vec<usize> = (0..100).collect();
        Generator::seeded(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
