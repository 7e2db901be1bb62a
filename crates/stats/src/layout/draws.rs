//! Random selection of the files in a sample, reproducible by its seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Random draws that select the items of a sample.
#[derive(Clone, Debug)]
pub struct SampleDraws {
    generator: SplitMix64,
    /// Largest number that counts as a hit.
    threshold: u64,
}

impl SampleDraws {
    /// Creates draws that select each item with probability `share`.
    pub fn new(seed: u64, share: f64) -> Self {
        // Float casts saturate: a share of 1 selects everything.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 2^64"
        )]
        let threshold = (share.clamp(0.0, 1.0) * 2.0_f64.powi(64)) as u64;
        Self { generator: SplitMix64::seed_from_u64(seed), threshold }
    }

    /// Draws whether to select the next item.
    pub fn takes(&mut self) -> bool {
        self.generator.next_u64() <= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::SampleDraws;
    use rand_core::Rng;

    #[test]
    fn sampling_takes_the_share_deterministically() {
        let taken = |seed, share| {
            let mut draws = SampleDraws::new(seed, share);
            (0..10_000).map(|_| draws.takes()).collect::<Vec<bool>>()
        };
        let count = |taken: Vec<bool>| taken.into_iter().filter(|taken| *taken).count();
        assert_eq!(count(taken(1, 1.0)), 10_000);
        assert!((2_300..2_700).contains(&count(taken(1, 0.25))));
        assert_eq!(taken(7, 0.5), taken(7, 0.5));
        assert_ne!(taken(7, 0.5), taken(8, 0.5));
        // First output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for the seed 0.
        assert_eq!(SampleDraws::new(0, 1.0).generator.next_u64(), 0xe220_a839_7b1d_cdaf);
    }
}
