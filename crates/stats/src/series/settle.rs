//! Rounds needed to settle an unclear comparison: to find a difference, or to show that there is
//! none that matters.
//!
//! Not here: the verdict itself (`verdict`), and planning without any rounds
//! (`power`). Findings so far leaves open how large the difference and the noise really are; the
//! chance that N new rounds settle it is the mean over what is left open. Few rounds leave much
//! open and therefore ask for more. A simulation in `tests/settle.rs` holds the promise.

use crate::distribution::{normal_cumulative, normal_quantile};
use crate::judging::power::fewest_rounds;

/// Required mean chance to settle the comparison. The chance depends on the unknown true
/// difference; in the worst case at least .80 is left of this mean.
const MEAN_CHANCE: f64 = 0.93;

/// Efficiency of the signed-rank test relative to Student's t with normal noise: 3 / pi.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// Number of values of the true noise over which the chance is averaged.
const NOISES: u32 = 12;

/// Unclear comparison: results so far and requirements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnclearComparison {
    /// Observed difference on the working scale.
    pub(crate) effect: f64,
    /// Standard deviation of the round differences, on that scale.
    pub(crate) spread: f64,
    /// Rounds so far, at least two.
    pub(crate) rounds: u32,
    /// Smallest difference that matters, on that scale; 0 if any does.
    pub(crate) margin: f64,
    /// Significance level for a difference: that of the family's hardest step.
    pub(crate) alpha: f64,
    /// Significance level of the equivalence test, on each side.
    pub(crate) alpha_same: f64,
    /// Fewest rounds with which the family can reach significance.
    pub(crate) floor: u32,
}

impl UnclearComparison {
    /// Fewest new rounds that settle the comparison with the required chance, more than there are
    /// so far; `None` above [`crate::MOST_ROUNDS`].
    pub(crate) fn rounds_needed(&self) -> Option<u32> {
        let fewest = self.floor.max(self.rounds.saturating_add(1));
        if self.spread <= 0.0 {
            return Some(fewest);
        }
        let noises = self.noises();
        let difference_quantile = normal_quantile(1.0 - self.alpha / 2.0);
        let equivalence_quantile = normal_quantile(1.0 - self.alpha_same);
        let enough = |rounds: u32| {
            self.chance(rounds, &noises, [difference_quantile, equivalence_quantile]) >= MEAN_CHANCE
        };
        fewest_rounds(fewest, enough)
    }

    /// Equally probable values of the true noise: the observed spread over the root of a mean
    /// square, with Wilson-Hilferty quantiles.
    fn noises(&self) -> Vec<f64> {
        let freedom = f64::from(self.rounds.max(2) - 1);
        let part = 2.0 / (9.0 * freedom);
        let noise = |place: u32| {
            let z = normal_quantile((f64::from(place) + 0.5) / f64::from(NOISES));
            let mean_square = (1.0 - part + z * part.sqrt()).max(0.05).powi(3);
            self.spread / mean_square.sqrt()
        };
        (0..NOISES).map(noise).collect()
    }

    /// Mean chance that `rounds` new rounds find a difference or exclude one. `quantiles` are the
    /// normal quantiles of the two tests.
    fn chance(&self, rounds: u32, noises: &[f64], quantiles: [f64; 2]) -> f64 {
        let (seen, new) = (f64::from(self.rounds), f64::from(rounds));
        let [difference_quantile, equivalence_quantile] =
            quantiles.map(|normal| student(normal, new - 1.0));
        let of_noise = |noise: &f64| {
            let noise = noise / EFFICIENCY.sqrt();
            let error = noise / new.sqrt();
            // Estimates between these sizes leave the comparison unclear.
            let (from, to) = (
                (self.margin - equivalence_quantile * error).max(0.0),
                difference_quantile * error,
            );
            if from >= to {
                return 1.0;
            }
            let deviation = noise * (1.0 / seen + 1.0 / new).sqrt();
            let below = |size: f64| normal_cumulative((size - self.effect.abs()) / deviation);
            1.0 - (below(to) - below(from)) - (below(-from) - below(-to))
        };
        noises.iter().map(of_noise).sum::<f64>() / noises.len() as f64
    }
}

/// Quantile of Student's t from the corresponding normal quantile, by the expansion in one over the
/// degrees of freedom. Error at most 3 % from five degrees on, below that of the spread estimate.
///
/// Source: Abramowitz & Stegun, 26.7.5.
fn student(normal: f64, freedom: f64) -> f64 {
    let (z, square) = (normal, normal * normal);
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z + (first + (second + third / freedom) / freedom) / freedom
}

#[cfg(test)]
mod tests {
    use super::student;
    use crate::distribution::{normal_quantile, t_quantile};

    #[test]
    fn the_t_quantile_expansion_is_within_three_percent() {
        for p in [0.95, 0.975, 0.995, 0.9985] {
            for freedom in [5.0, 6.0, 8.0, 12.0, 30.0, 200.0] {
                let (approximate, exact) =
                    (student(normal_quantile(p), freedom), t_quantile(p, freedom));
                assert!(
                    (approximate / exact - 1.0).abs() < 0.03,
                    "{p} {freedom}: {approximate} {exact}"
                );
            }
        }
    }
}
