//! Knee of a curve: the point beyond which a larger input yields little more.
//!
//! Two straight lines that meet are fitted to the logarithms, with a rounded corner if the values
//! show one; the knee is their intersection. The interval is that of the profile likelihood over
//! all corner shapes. In simulations the method is better than the point farthest from the chord
//! (Kneedle, Satopaa et al. 2011): `examples/knees`, `docs/evidence/sweeps.md`.

use crate::distribution::t_quantile;
use crate::error::StatsError;
use crate::generator::Generator;
use crate::inference::bootstrap::percentile_interval;
use crate::input::{require_at_most, require_count, require_finite};
use crate::interval::{Interval, IntervalMethod};

/// Fewest points of a curve with a detectable knee; two lines fit three points in too many ways.
pub const KNEE_FEWEST_POINTS: usize = 5;
/// Fewest rounds for the interval of the knee.
pub(crate) const KNEE_FEWEST_ROUNDS: usize = 3;
/// Maximum number of points of a curve.
const POINTS_MOST: usize = 1000;
/// Number of candidate positions between two neighbouring points.
const STEPS: usize = 16;
/// Corner radii in logarithms: from a sharp corner to the curve of a rate over 1 + load / knee.
const CORNERS: [f64; 7] = [0.0, 0.1, 0.2, 0.3, 0.45, 0.65, 1.0];
/// Number of parameters of two lines with a corner.
const PARAMETERS: usize = 5;
const RESAMPLES: usize = 1000;
const SEED: u64 = 1;
const CONFIDENCE: f64 = 0.95;
/// Smallest ratio of the slopes that counts as a knee.
const SMALLEST_SLOPE_RATIO: f64 = 2.0;

/// Detected knee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Position of the knee, in the unit of the input; for a round corner, the intersection of the
    /// adjoining lines.
    pub at: f64,
    /// 95 % profile likelihood interval of the position; `None` with fewer than three rounds.
    pub interval: Option<Interval>,
    /// Slope of the log-log curve before the knee, for a sharp corner; at 1, twice the input yields
    /// twice the output.
    pub slope_before: f64,
    /// Slope after the knee; at 0, more input yields no more output.
    pub slope_after: f64,
}

/// Detects the knee of a curve; `None` if two lines fit no better than by chance, or the slope
/// changes by less than a factor of two.
///
/// `at` holds the inputs, ascending and positive. `rounds` holds the logarithms of the outputs, one
/// series per round with one value per input.
///
/// # Errors
/// If there are fewer than five inputs, inputs are not positive and ascending, or a round has
/// another number of values.
pub fn knee(at: &[f64], rounds: &[Vec<f64>]) -> Result<Option<Knee>, StatsError> {
    require_count(at.len(), KNEE_FEWEST_POINTS)?;
    require_at_most(at.len(), POINTS_MOST)?;
    require_count(rounds.len(), 1)?;
    require_finite(at)?;
    for round in rounds {
        require_count(round.len(), at.len())?;
        require_at_most(round.len(), at.len())?;
        require_finite(round)?;
    }
    if let Some(index) = at.iter().position(|value| *value <= 0.0) {
        return Err(StatsError::NotPositive { index, value: at[index] });
    }
    if !at.is_sorted_by(|left, right| left < right) {
        return Err(StatsError::StatisticUndefined);
    }
    let x: Vec<f64> = at.iter().map(|value| value.ln()).collect();
    let positions = positions(&x);
    let every_round: Vec<usize> = (0..rounds.len()).collect();
    let y = means(rounds, &every_round);
    let Some(sharp) = fit(&x, &y, &positions, 0.0) else { return Ok(None) };
    let profile = KneeProfile::new(&x, rounds, &y, &positions);
    let best = profile.as_ref().map_or(sharp, |profile| profile.best(sharp));
    let bends = |(slope_before, slope_after): (f64, f64)| {
        let (small, large) =
            (slope_before.abs().min(slope_after.abs()), slope_before.abs().max(slope_after.abs()));
        large >= SMALLEST_SLOPE_RATIO * small
    };
    if !bends((sharp.slope_before, sharp.slope_after)) {
        return Ok(None);
    }
    let knee = Knee {
        at: best.at.exp(),
        interval: profile.map(|profile| profile.interval(best.at)),
        slope_before: sharp.slope_before,
        slope_after: sharp.slope_after,
    };
    let is_chance =
        rounds.len() >= KNEE_FEWEST_ROUNDS && is_bent_by_chance(&x, rounds, &positions)?;
    Ok((!is_chance).then_some(knee))
}

/// Reports whether resamples of whole rounds bend up as well as down, so that the knee may be
/// chance.
fn is_bent_by_chance(
    x: &[f64],
    rounds: &[Vec<f64>],
    positions: &[f64],
) -> Result<bool, StatsError> {
    let mut generator = Generator::seeded(SEED);
    let mut changes = Vec::new();
    let mut chosen = vec![0; rounds.len()];
    for _ in 0..RESAMPLES {
        chosen.fill_with(|| generator.below(rounds.len()));
        let resampled = fit(x, &means(rounds, &chosen), positions, 0.0);
        changes.extend(resampled.map(|bent| bent.slope_after - bent.slope_before));
    }
    let changes = percentile_interval(&changes, CONFIDENCE)?;
    Ok(changes.low <= 0.0 && changes.high >= 0.0)
}

/// Best fits for every position of the knee.
struct KneeProfile {
    /// Best fit per position, over all corner radii.
    fits: Vec<BentLines>,
    /// Largest residual sum of squares compatible with the best fit.
    allowed: f64,
    /// Half the distance between two positions.
    half_step: f64,
}

impl KneeProfile {
    /// Fits every position; `None` with too few rounds to estimate the noise.
    fn new(x: &[f64], rounds: &[Vec<f64>], y: &[f64], positions: &[f64]) -> Option<Self> {
        if rounds.len() < KNEE_FEWEST_ROUNDS {
            return None;
        }
        let best_at = |at: &f64| {
            let fits = CORNERS.iter().filter_map(|corner| fit(x, y, &[*at], *corner));
            fits.min_by(|left, right| left.residual.total_cmp(&right.residual))
        };
        let fits: Vec<BentLines> = positions.iter().filter_map(best_at).collect();
        let least = least(&fits)?;
        let freedom = (rounds.len() - 1) * (x.len() - 1);
        let of_chance = noise(rounds, y) / (freedom * rounds.len()) as f64;
        // The residuals of the best fit include lack of fit if the true curve has another shape.
        let of_model = match x.len().checked_sub(PARAMETERS) {
            None | Some(0) => 0.0,
            Some(more) => least / more as f64,
        };
        let t = t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom as f64);
        let half_step = positions.windows(2).map(|two| two[1] - two[0]).fold(0.0, f64::max) / 2.0;
        Some(Self { fits, allowed: least + t * t * of_chance.max(of_model), half_step })
    }

    /// Best fit: the sharp corner, unless a rounder one is significantly better.
    fn best(&self, sharp: BentLines) -> BentLines {
        if sharp.residual <= self.allowed {
            return sharp;
        }
        let better =
            self.fits.iter().min_by(|left, right| left.residual.total_cmp(&right.residual));
        better.copied().unwrap_or(sharp)
    }

    fn interval(&self, at: f64) -> Interval {
        let positions =
            || self.fits.iter().filter(|fit| fit.residual <= self.allowed).map(|fit| fit.at);
        let low = (positions().fold(at, f64::min) - self.half_step).exp();
        let high = (positions().fold(at, f64::max) + self.half_step).exp();
        let method = IntervalMethod::ProfileLikelihood;
        Interval { low, high, confidence: CONFIDENCE, achieved: None, method }
    }
}

fn least(fits: &[BentLines]) -> Option<f64> {
    fits.iter().map(|fit| fit.residual).reduce(f64::min)
}

/// Residual sum of squares after removing the effects of rounds and positions.
fn noise(rounds: &[Vec<f64>], y: &[f64]) -> f64 {
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let overall = average(y);
    let residual = |round: &Vec<f64>| {
        let shift = average(round) - overall;
        let of_value = |(value, mean): (&f64, &f64)| (value - mean - shift).powi(2);
        round.iter().zip(y).map(of_value).sum::<f64>()
    };
    rounds.iter().map(residual).sum()
}

/// Mean of the chosen rounds at each input.
fn means(rounds: &[Vec<f64>], chosen: &[usize]) -> Vec<f64> {
    let points = rounds.first().map_or(0, Vec::len);
    let mean = |point: usize| {
        let sum: f64 = chosen.iter().map(|round| rounds[*round][point]).sum();
        sum / chosen.len().max(1) as f64
    };
    (0..points).map(mean).collect()
}

/// Candidate positions of the knee, with at least two points on either side.
fn positions(x: &[f64]) -> Vec<f64> {
    let inner = &x[1..x.len() - 1];
    let between = inner.windows(2).flat_map(|pair| {
        let step = (pair[1] - pair[0]) / STEPS as f64;
        (0..STEPS).map(move |at| pair[0] + step * at as f64)
    });
    between.chain(inner.last().copied()).collect()
}

/// Two lines that meet at the knee.
#[derive(Clone, Copy)]
struct BentLines {
    at: f64,
    slope_before: f64,
    slope_after: f64,
    /// Residual sum of squares.
    residual: f64,
}

/// Best least-squares fit over all positions with this corner radius; the first one of equally good
/// fits.
fn fit(x: &[f64], y: &[f64], positions: &[f64], corner: f64) -> Option<BentLines> {
    let mut best: Option<BentLines> = None;
    for &at in positions {
        let Some(bent) = fit_at(x, y, at, corner) else { continue };
        if best.is_none_or(|best| bent.residual < best.residual) {
            best = Some(bent);
        }
    }
    best
}

/// Distance beyond the knee, smoothed by the corner radius; 0 before it.
fn beyond(distance: f64, corner: f64) -> f64 {
    if corner == 0.0 {
        return distance.max(0.0);
    }
    distance.max(0.0) + corner * (-(distance / corner).abs()).exp().ln_1p()
}

/// Least-squares fit of two lines that meet at `at`.
fn fit_at(x: &[f64], y: &[f64], at: f64, corner: f64) -> Option<BentLines> {
    let n = x.len() as f64;
    let beyond: Vec<f64> = x.iter().map(|x| beyond(x - at, corner)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (mx, mb, my) = (mean(x), mean(&beyond), mean(y));
    let cross = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum()
    };
    let (xx, bb, xb) =
        (cross(x, mx, x, mx), cross(&beyond, mb, &beyond, mb), cross(x, mx, &beyond, mb));
    let (xy, by, yy) = (cross(x, mx, y, my), cross(&beyond, mb, y, my), cross(y, my, y, my));
    let determinant = xx * bb - xb * xb;
    if determinant <= 1e-12 * xx * bb {
        return None;
    }
    let slope = (xy * bb - by * xb) / determinant;
    let change = (by * xx - xy * xb) / determinant;
    let residual = (yy - slope * xy - change * by).max(0.0);
    Some(BentLines { at, slope_before: slope, slope_after: slope + change, residual })
}

#[cfg(test)]
mod tests {
    use super::{Generator, knee};

    /// Simulates a curve that saturates at `turn`, measured in `rounds` rounds with relative noise
    /// `noise`.
    fn curve(at: &[f64], turn: f64, rounds: usize, noise: f64) -> Vec<Vec<f64>> {
        let mut generator = Generator::seeded(7);
        let mut scatter = || (generator.below(2001) as f64 / 1000.0 - 1.0) * noise;
        let value = |at: &f64| at.min(turn).ln();
        (0..rounds).map(|_| at.iter().map(|at| value(at) + scatter()).collect()).collect()
    }

    const DEPTHS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    #[test]
    fn the_knee_is_found_where_the_curve_saturates() {
        let detected = knee(&DEPTHS, &curve(&DEPTHS, 16.0, 6, 0.05)).unwrap().unwrap();
        let interval = detected.interval.unwrap();
        assert!((detected.at / 16.0).ln().abs() < 0.15, "{detected:?}");
        assert!(interval.low <= 16.5 && interval.high >= 15.5, "{detected:?}");
        assert!((detected.slope_before - 1.0).abs() < 0.1 && detected.slope_after.abs() < 0.1);
    }

    #[test]
    fn straight_lines_and_noise_have_no_knee() {
        let straight = curve(&DEPTHS, 1000.0, 6, 0.05);
        assert_eq!(knee(&DEPTHS, &straight).unwrap(), None);
        let flat = curve(&DEPTHS, 1.0, 6, 0.05);
        assert_eq!(knee(&DEPTHS, &flat).unwrap(), None);
    }

    #[test]
    fn invalid_curves_are_refused() {
        let single_round = vec![vec![0.0; 8]];
        assert!(knee(&DEPTHS[..4], &[vec![0.0; 4]]).is_err());
        assert!(knee(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &single_round).is_err());
        assert!(knee(&[1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &single_round).is_err());
        assert!(knee(&DEPTHS, &[vec![0.0; 7]]).is_err());
        assert!(knee(&DEPTHS, &[vec![f64::NAN; 8]]).is_err());
        assert!(knee(&DEPTHS, &[]).is_err());
    }
}
