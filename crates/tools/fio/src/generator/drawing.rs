//! Distributions of offsets that are not uniform.
//!
//! Zipf's distribution after Gray and others, "Quickly generating billion-record synthetic
//! databases", SIGMOD 1994; Pareto's by inversion; the normal one as a mean of twelve uniform
//! draws. A multiplicative hash scatters the blocks over the file by their rank, and an offset
//! moves all of them, in the original's arithmetic: the same seed gives the same blocks.

use std::collections::BTreeMap;

use crate::language::Distribution;

use super::super::tausworthe::Tausworthe;

/// Maximum number of terms of the zeta function that are summed.
const TERMS_MAX: u64 = 10_000_000;
/// Golden ratio, as a share of 2^64.
const GOLDEN: u64 = 0x61c8_8646_80b5_83eb;
/// Number of uniform draws of which a normal one is the mean.
const MEAN_OF: u64 = 12;
const DRAW_MAX: f64 = 4_294_967_295.0;

/// Number of blocks that stand for each file when files are drawn.
const FILE_BLOCKS: u64 = 1024;

/// Generator of the blocks of one file, or of files.
#[derive(Clone, Debug)]
pub(super) struct BlockSampler {
    draws: Tausworthe,
    blocks: u64,
    moved: u64,
    /// True if the most frequent blocks are scattered over the file.
    scatters: bool,
    shape: DistributionShape,
}

#[derive(Clone, Copy, Debug)]
enum DistributionShape {
    Zipf { alpha: f64, eta: f64, zeta: f64, second: f64 },
    Pareto { power: f64 },
    Normal { deviation: u64 },
}

/// Partial sums of the zeta function for one exponent, by the number of terms, so that files of
/// many sizes share the work.
#[derive(Debug, Default)]
pub(super) struct ZetaSums {
    sums: BTreeMap<u64, f64>,
}

impl ZetaSums {
    fn value(&mut self, terms: u64, theta: f64) -> f64 {
        let (from, sum) = match self.sums.range(..=terms).next_back() {
            Some((from, sum)) => (*from, *sum),
            None => (0, 0.0),
        };
        let terms_left = (from + 1..=terms).map(|rank| (1.0 / rank as f64).powf(theta));
        let zeta = terms_left.fold(sum, |sum, term| sum + term);
        self.sums.insert(terms, zeta);
        zeta
    }
}

impl BlockSampler {
    /// Creates the generator for a file of this many blocks; `None` for uniform and zoned
    /// distributions.
    pub(super) fn new(
        distribution: &Distribution,
        blocks: u64,
        seed: u32,
        zeta: &mut ZetaSums,
    ) -> Option<Self> {
        let blocks = blocks.max(1);
        let mut draws = Tausworthe::new(seed.into());
        let (shape, moved) = match *distribution {
            Distribution::Even | Distribution::Zoned(_) | Distribution::ZonedAbs(_) => return None,
            Distribution::Zipf { theta, center } => {
                let zeta = zeta.value(blocks.min(TERMS_MAX), theta);
                let two = 1.0 + 0.5_f64.powf(theta);
                let eta = (1.0 - (2.0 / blocks as f64).powf(1.0 - theta)) / (1.0 - two / zeta);
                let alpha = 1.0 / (1.0 - theta);
                (
                    DistributionShape::Zipf { alpha, eta, zeta, second: two },
                    center_of(&mut draws, blocks, center),
                )
            }
            Distribution::Pareto { h, center } => {
                let power = h.ln() / (1.0 - h).ln();
                (DistributionShape::Pareto { power }, center_of(&mut draws, blocks, center))
            }
            Distribution::Normal { deviation, center } => {
                let deviation = whole((blocks as f64 * deviation / 100.0).ceil()).min(blocks / 2);
                let center = center.unwrap_or(0.5) - 0.5;
                (DistributionShape::Normal { deviation }, wrapped(blocks as f64 * center))
            }
        };
        Some(Self { draws, blocks, moved, scatters: true, shape })
    }

    /// Creates the generator that draws files; neighbouring files are about equally frequent.
    pub(super) fn of_files(distribution: &Distribution, files: u64, seed: u32) -> Option<Self> {
        let blocks = files.saturating_mul(FILE_BLOCKS);
        let drawing = Self::new(distribution, blocks, seed, &mut ZetaSums::default())?;
        Some(Self { scatters: false, ..drawing })
    }

    /// Draws the next file.
    pub(super) fn draw_file(&mut self) -> u64 {
        self.draw() / FILE_BLOCKS
    }

    /// Draws the next block.
    pub(super) fn draw(&mut self) -> u64 {
        let blocks = self.blocks as f64;
        let rank = match self.shape {
            DistributionShape::Zipf { alpha, eta, zeta, second } => {
                let share = self.draws.draw() as f64 / DRAW_MAX;
                match share * zeta {
                    place if place < 1.0 => 0,
                    place if place < second => 1,
                    _ => whole(blocks * (eta * share - eta + 1.0).powf(alpha)),
                }
            }
            DistributionShape::Pareto { power } => {
                let share = self.draws.draw() as f64 / DRAW_MAX;
                whole((self.blocks - 1) as f64 * share.powf(power))
            }
            DistributionShape::Normal { deviation } => self.normal(deviation),
        };
        let place = if self.scatters { rank.wrapping_mul(GOLDEN) } else { rank };
        place.wrapping_add(self.moved) % self.blocks
    }

    fn normal(&mut self, deviation: u64) -> u64 {
        let each = self.blocks + 1;
        let sum: u64 = (0..MEAN_OF).map(|_| self.draws.draw() % each).sum();
        let mean = sum.div_ceil(MEAN_OF);
        if deviation == 0 {
            return mean;
        }
        let drawn = self.draws.below(deviation);
        let mut moved = drawn.cast_signed() - (deviation / 2).cast_signed();
        // The original halves the offset until the block is in the file, for ever if it never is.
        while moved != 0 && mean.wrapping_add_signed(moved) >= self.blocks {
            moved /= 2;
        }
        mean.wrapping_add_signed(moved)
    }
}

/// Offset added to all blocks: the center of the distribution, or a random one.
fn center_of(draws: &mut Tausworthe, blocks: u64, center: Option<f64>) -> u64 {
    let drawn = draws.draw();
    center.map_or(drawn, |center| whole(blocks as f64 * center))
}

/// Truncates a positive number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as is meant")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Lowest 32 bits of a number that may be negative.
#[expect(clippy::cast_possible_truncation, reason = "as is meant")]
fn wrapped(number: f64) -> u64 {
    u64::from((number as i64).cast_unsigned() as u32)
}

#[cfg(test)]
mod tests {
    use super::ZetaSums;

    #[test]
    fn shared_zeta_sums_equal_separate_ones() {
        let mut sums = ZetaSums::default();
        for terms in [1000, 10, 5000, 999, 1000, 1] {
            let alone = ZetaSums::default().value(terms, 1.1);
            assert_eq!(sums.value(terms, 1.1).to_bits(), alone.to_bits(), "{terms}");
        }
    }
}
