//! Random generators of fio, and the seeds of its uses.
//!
//! L'Ecuyer's combined Tausworthe generators, of three components of 32 bits or of five of 64. Each
//! use has a generator of its own, so that its draws do not depend on the number of other draws.

use crate::language::RandomOptions;

/// Tausworthe generator of 32 or of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tausworthe {
    /// State of the 32-bit generator.
    Short([u32; 3]),
    /// State of the 64-bit generator: `random_generator=tausworthe64`.
    Long([u64; 5]),
}

/// Shifts and mask of each component.
const COMPONENTS: [(u32, u32, u32, u32); 3] = [(13, 19, !1, 12), (2, 25, !7, 4), (3, 11, !15, 17)];
/// Least seeds for which the components' highest bits count.
const LEAST: [u32; 3] = [1, 7, 15];
/// Components of the 64-bit generator, laid out like those of the 32-bit one.
const LONG_COMPONENTS: [(u32, u32, u64, u32); 5] = [
    (1, 53, !1, 10),
    (24, 50, !511, 5),
    (3, 23, !4095, 29),
    (5, 24, !131_071, 23),
    (3, 33, !8_388_607, 8),
];
const LONG_LEAST: [u64; 5] = [1, 7, 15, 33, 49];
/// Constant mixed into the seed: in the original, `^` between powers is an exclusive or.
const FIRST: u32 = (0x2 ^ 0x1f) + (0x2 ^ 0x11) + (0x2 ^ 0x7);
const LONG_FACTOR: u64 = 6_906_969_069;
const WARM_UP: usize = 6;

impl Tausworthe {
    /// Creates a 32-bit generator from the lower half of a seed.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
    pub(super) fn new(seed: u64) -> Self {
        let seed = seed as u32;
        let mut parts = [0; 3];
        let mut before = FIRST;
        for (part, least) in parts.iter_mut().zip(LEAST) {
            let mixed = before.wrapping_mul(69069) ^ seed;
            *part = if mixed < least { mixed + least } else { mixed };
            before = *part;
        }
        let mut generator = Self::Short(parts);
        for _ in 0..WARM_UP {
            generator.draw();
        }
        generator
    }

    /// Creates a 64-bit generator from a seed.
    fn long(seed: u64) -> Self {
        let mut parts = [0; 5];
        let mut before = u64::from(FIRST);
        for (part, least) in parts.iter_mut().zip(LONG_LEAST) {
            let mixed = before.wrapping_mul(LONG_FACTOR) ^ seed;
            *part = if mixed < least { mixed + least } else { mixed };
            before = *part;
        }
        let mut generator = Self::Long(parts);
        for _ in 0..WARM_UP {
            generator.draw();
        }
        generator
    }

    /// Draws the next 32 or 64 bits.
    #[inline]
    pub(super) fn draw(&mut self) -> u64 {
        match self {
            Self::Short(parts) => {
                for (part, (up, down, mask, over)) in parts.iter_mut().zip(COMPONENTS) {
                    *part = ((*part & mask) << over) ^ (((*part << up) ^ *part) >> down);
                }
                u64::from(parts[0] ^ parts[1] ^ parts[2])
            }
            Self::Long(parts) => {
                for (part, (up, down, mask, over)) in parts.iter_mut().zip(LONG_COMPONENTS) {
                    *part = ((*part & mask) << over) ^ (((*part << up) ^ *part) >> down);
                }
                parts.iter().fold(0, |all, part| all ^ part)
            }
        }
    }

    /// Largest number that can be drawn.
    #[inline]
    pub(super) const fn greatest(&self) -> u64 {
        match self {
            Self::Short(_) => u32::MAX as u64,
            Self::Long(_) => u64::MAX,
        }
    }

    /// Draws a number below a bound, scaled as the original does.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let share = self.draw() as f64 / (self.greatest() as f64 + 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not below 0")]
        let number = (bound as f64 * share) as u64;
        number
    }

    /// Draws a number from 1 to 100.
    #[inline]
    pub(super) fn percent(&mut self) -> u64 {
        1 + self.below(100)
    }
}

/// Uses of random draws, with the indices of their seeds in the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeedUse {
    ReadSize = 0,
    WriteSize = 1,
    TrimSize = 2,
    Verify = 3,
    DirectionMix = 4,
    File = 5,
    Block = 6,
    FileSize = 7,
    OrderRead = 10,
    StartDelay = 13,
    Repeat = 14,
    PoissonRead = 15,
    Zone = 16,
    PoissonWrite = 17,
    PoissonTrim = 18,
}

impl SeedUse {
    /// True if this use draws from the 64-bit generator when the job asks for it.
    const fn may_be_long(self) -> bool {
        matches!(
            self,
            Self::ReadSize
                | Self::WriteSize
                | Self::TrimSize
                | Self::File
                | Self::Block
                | Self::FileSize
                | Self::StartDelay
        )
    }
}

const REPEATABLE: u64 = 0xb189_9bed;
const GOLDEN: u64 = 0x9e37_0001;
const USES: usize = 24;

/// Seeds of one clone, for each use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seeds {
    seeds: [u64; USES],
    number: u64,
    repeatable: bool,
    /// True if the uses that permit it draw from the 64-bit generator.
    long: bool,
}

impl Seeds {
    /// Seeds of a clone by its number among all, from 1. `fresh` replaces the random seed of a run
    /// with `randrepeat=0`.
    pub(super) fn new(
        draws: &RandomOptions,
        is_random: bool,
        number: u64,
        fresh: Option<u64>,
    ) -> Self {
        let mut seed = fresh.unwrap_or(draws.seed);
        for _ in 0..4 {
            seed = seed.wrapping_mul(GOLDEN);
        }
        let mut seeds = [0; USES];
        for (place, of_use) in (0..).zip(&mut seeds) {
            *of_use = seed.wrapping_mul(number).wrapping_add(place);
            seed = seed.wrapping_mul(GOLDEN);
            if draws.all_repeatable {
                *of_use = REPEATABLE.wrapping_mul(number).wrapping_add(place);
            }
        }
        if is_random && draws.repeatable {
            seeds[SeedUse::Block as usize] = REPEATABLE.wrapping_mul(number);
        }
        Self { seeds, number, repeatable: draws.repeatable, long: draws.long }
    }

    /// Seed of the offsets in a file, for distributions that are not uniform; in repeatable runs it
    /// depends on the path only.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
    pub(super) fn of_file(&self, hash: u32) -> u32 {
        if self.repeatable {
            hash.wrapping_mul(self.number as u32)
        } else {
            self.seeds[SeedUse::Block as usize] as u32
        }
    }

    /// Seed of the choice of files, for distributions that are not uniform.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
    pub(super) const fn of_files(&self) -> u32 {
        self.seeds[SeedUse::File as usize] as u32
    }

    /// Seed of the offsets in all files.
    pub(super) const fn of_blocks(&self) -> u64 {
        self.seeds[SeedUse::Block as usize]
    }

    /// Number of the clone among all, from 1.
    pub(super) const fn clone_number(&self) -> u64 {
        self.number
    }

    /// Creates the generator of a use.
    pub(super) fn generator(&self, of: SeedUse) -> Tausworthe {
        let seed = self.seeds[of as usize];
        if self.long && of.may_be_long() { Tausworthe::long(seed) } else { Tausworthe::new(seed) }
    }
}

#[cfg(test)]
mod tests {
    use super::{RandomOptions, SeedUse, Seeds};

    #[test]
    fn random_sequences_equal_those_of_the_original() {
        // Seeds as fio 3.33 prints them with --debug=random.
        let draws = RandomOptions::default();
        let first = |draws: &RandomOptions, number| {
            let mut generator = Seeds::new(draws, true, number, None).generator(SeedUse::Block);
            [generator.draw(), generator.draw(), generator.draw()]
        };
        assert_eq!(first(&draws, 1), [259_043_585, 3_179_521_932, 3_621_444_214]);
        assert_eq!(first(&draws, 2), [1_094_293_889, 780_151_754, 2_579_992_399]);
        let seeded = RandomOptions { repeatable: false, seed: 77, ..draws.clone() };
        assert_eq!(first(&seeded, 1), [2_354_298_229, 3_039_692_898, 1_700_308_767]);
        assert_eq!(first(&seeded, 2)[0], 20_773_687);
        let all_repeatable = RandomOptions { all_repeatable: true, ..draws };
        assert_eq!(first(&all_repeatable, 1)[0], 259_043_585);
    }
}
