//! Rounds needed to settle an unclear comparison: to detect a difference, or to show that there is
//! none that matters.
//!
//! Not here: the verdict itself (`verdict`), and planning without any rounds (`power`). After the
//! rounds so far, the difference and the noise are still uncertain; the chance that N rounds settle
//! the comparison is averaged over this uncertainty. Fewer rounds leave more uncertainty, and more
//! rounds are then needed. A simulation in `tests/settle.rs` checks the results.

use crate::distribution::{normal_cumulative, normal_quantile};
use crate::judging::power::fewest_rounds;

/// Total number of rounds, including those so far, that settles an unclear comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoundsNeeded {
    /// Rounds that settle the comparison more often than not, if the estimate is right.
    pub typical: u32,
    /// Rounds that settle the comparison in four of five cases; `None` above
    /// [`crate::MOST_ROUNDS`].
    pub pessimistic: Option<u32>,
}

impl RoundsNeeded {
    /// Creates a number without uncertainty.
    pub const fn exactly(rounds: u32) -> Self {
        Self { typical: rounds, pessimistic: Some(rounds) }
    }
}

/// Mean chance to settle the comparison with the typical number of rounds, if all true differences
/// are equally probable beforehand.
const TYPICAL_CHANCE: f64 = 0.5;

/// Mean chance to settle it with the pessimistic number, if the difference that is hardest to
/// settle is as probable beforehand as this many times the others together.
const PESSIMISTIC_CHANCE: f64 = 0.9;
const WEIGHT_OF_HARDEST: f64 = 3.0;

/// Number of values of the true noise over which the chance is averaged.
const NOISES: u32 = 12;

/// Unclear comparison with its results so far and its requirements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnclearComparison {
    /// Observed difference on the working scale.
    pub(crate) effect: f64,
    /// Standard deviation of normal round differences that would give an interval of the same
    /// width.
    pub(crate) noise: f64,
    /// Rounds so far, at least two.
    pub(crate) rounds: u32,
    /// Smallest difference that matters, on the working scale; 0 if any difference matters.
    pub(crate) margin: f64,
    /// Significance level for a difference: that of the step at which the family's correction
    /// stopped.
    pub(crate) alpha: f64,
    /// Significance level of the equivalence test, on each side.
    pub(crate) alpha_same: f64,
    /// Fewest rounds with which the family can reach significance.
    pub(crate) floor: u32,
}

impl UnclearComparison {
    /// Fewest rounds that settle the comparison when it continues after its rounds so far; `None`
    /// if even the typical number is above [`crate::MOST_ROUNDS`].
    pub(crate) fn rounds_needed(&self) -> Option<RoundsNeeded> {
        let fewest = self.floor.max(self.rounds.saturating_add(1));
        if self.noise <= 0.0 {
            return Some(RoundsNeeded::exactly(fewest));
        }
        let noises = self.noises();
        let quantiles = [1.0 - self.alpha / 2.0, 1.0 - self.alpha_same].map(normal_quantile);
        let typical = fewest_rounds(fewest, |rounds| {
            self.chance(rounds, &noises, quantiles, 0.0) >= TYPICAL_CHANCE
        })?;
        let pessimistic = fewest_rounds(typical, |rounds| {
            self.chance(rounds, &noises, quantiles, WEIGHT_OF_HARDEST) >= PESSIMISTIC_CHANCE
        });
        Some(RoundsNeeded { typical, pessimistic })
    }

    /// Equally probable values of the true noise: the observed noise divided by the root of a mean
    /// square, from Wilson-Hilferty quantiles.
    fn noises(&self) -> Vec<f64> {
        let freedom = f64::from(self.rounds.max(2) - 1);
        let variance_term = 2.0 / (9.0 * freedom);
        let noise = |place: u32| {
            let z = normal_quantile((f64::from(place) + 0.5) / f64::from(NOISES));
            let mean_square = (1.0 - variance_term + z * variance_term.sqrt()).max(0.05).powi(3);
            self.noise / mean_square.sqrt()
        };
        (0..NOISES).map(noise).collect()
    }

    /// Mean chance that the comparison finds a difference or excludes one once it has `rounds`
    /// rounds, of which those so far are known. `quantiles` are the normal quantiles of both tests,
    /// `weight_of_hardest` is the weight of half the threshold beside all other differences: both
    /// tests take longest there.
    fn chance(
        &self,
        rounds: u32,
        noises: &[f64],
        quantiles: [f64; 2],
        weight_of_hardest: f64,
    ) -> f64 {
        let (seen, all) = (f64::from(self.rounds), f64::from(rounds));
        let hardest = (self.margin / 2.0).copysign(self.effect);
        let [difference_quantile, equivalence_quantile] =
            quantiles.map(|normal| student_quantile(normal, all - 1.0));
        let of_noise = |noise: &f64| {
            let error = noise / all.sqrt();
            // Estimates between these sizes leave the comparison unclear.
            let (from, to) = (
                (self.margin - equivalence_quantile * error).max(0.0),
                difference_quantile * error,
            );
            if from >= to {
                return 1.0;
            }
            let outside = |centre: f64, deviation: f64| {
                let below = |size: f64| normal_cumulative((size - centre) / deviation);
                1.0 - (below(to) - below(from)) - (below(-from) - below(-to))
            };
            let open = (1.0 / seen - 1.0 / all).max(0.0);
            let any = outside(self.effect, noise * open.sqrt());
            let beside = self.effect - hardest;
            let at_hardest =
                outside(hardest + beside * seen / all, noise * (open * seen / all).sqrt());
            let distance = beside * seen.sqrt() / noise;
            let weight = weight_of_hardest * (-distance * distance / 2.0).exp();
            (any + weight * at_hardest) / (1.0 + weight)
        };
        noises.iter().map(of_noise).sum::<f64>() / noises.len() as f64
    }
}

/// Standard deviation of normal differences whose exact interval over `rounds` rounds would have
/// this half width at this confidence. Heavy tails thus count only as far as they affect the rank
/// test.
pub(crate) fn noise_of_interval(half_width: f64, confidence: f64, rounds: u32) -> f64 {
    let rounds = f64::from(rounds);
    let quantile = student_quantile(normal_quantile(f64::midpoint(1.0, confidence)), rounds - 1.0);
    half_width * rounds.sqrt() / quantile
}

/// Quantile of Student's t from the corresponding normal quantile, by the expansion in one over the
/// degrees of freedom. Error at most 3 % from five degrees on, below that of the spread estimate.
///
/// Source: Abramowitz & Stegun, 26.7.5.
fn student_quantile(normal: f64, freedom: f64) -> f64 {
    let (z, square) = (normal, normal * normal);
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z + (first + (second + third / freedom) / freedom) / freedom
}

#[cfg(test)]
mod tests {
    use super::student_quantile;
    use crate::distribution::{normal_quantile, t_quantile};

    #[test]
    fn the_t_quantile_expansion_is_within_three_percent() {
        for p in [0.95, 0.975, 0.995, 0.9985] {
            for freedom in [5.0, 6.0, 8.0, 12.0, 30.0, 200.0] {
                let (approximate, exact) =
                    (student_quantile(normal_quantile(p), freedom), t_quantile(p, freedom));
                assert!(
                    (approximate / exact - 1.0).abs() < 0.03,
                    "{p} {freedom}: {approximate} {exact}"
                );
            }
        }
    }
}
