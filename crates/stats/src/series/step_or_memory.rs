//! Level shifts or autocorrelation: autocorrelated points wander, which looks like shifts. A shift
//! is accepted if shifts explain the history clearly better than autocorrelation without them, or
//! if it is large for noise with that autocorrelation.
//!
//! Not here: the search for shifts (`level_shift`). Both explanations are compared by the logarithm
//! of their residual variance, as likelihoods are. `docs/evidence/history.md` has the false alarms
//! of autocorrelated histories.
//!
//! Source: Romano, Rigaill, Runge & Fearnhead, Journal of the American Statistical Association 117,
//! 2022 (changes of level in autocorrelated noise).

use std::array;
use std::ops::Range;

use crate::quantile::median;
use crate::series::noise::{BY_MEDIAN_DEVIATION, FEWEST_FOR_CAUTION, memory};

/// Deviations beyond so many robust standard deviations count as so many: an outlier decides
/// nothing.
const REACH: f64 = 6.0;
/// Number of times that the levels have to gain the logarithm of the number of points over a
/// memory.
const GAIN_OF_LEVELS: f64 = 2.5;
/// Gain of a step beside a memory: so much, and so many logarithms of the number of points.
const GAIN_OF_STEP: (f64, f64) = (5.0, 2.0);
/// Correlations of neighbouring points that are tried, in hundredths.
const CORRELATIONS: [u8; 20] =
    [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95];

/// Place among `starts` of the step that a memory explains best, if one explains any; `None` if
/// all of them stand. `residuals` gives the distances of the values of a level from its centre. A
/// scatter below `smallest_scatter` is not believed.
pub(crate) fn remembered_step(
    values: &[f64],
    starts: &[usize],
    residuals: impl Fn(Range<usize>) -> Vec<f64>,
    smallest_scatter: f64,
) -> Option<usize> {
    if starts.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let bounds: Vec<usize> =
        [0].into_iter().chain(starts.iter().copied()).chain([values.len()]).collect();
    let levels: Vec<Vec<f64>> = bounds.windows(2).map(|ends| residuals(ends[0]..ends[1])).collect();
    let around = levels.concat();
    let reach = REACH * robust_deviation(&around).max(smallest_scatter);
    let of_levels = squares(&around, reach) / count;
    let of_memory = least(&LevelNews::new(&residuals(0..values.len())).squares(reach)) / count;
    let gain = count * (of_memory / of_levels).ln();
    let seen = memory(values, starts).filter(|_| values.len() >= FEWEST_FOR_CAUTION);
    let is_memory_seen = seen.is_some_and(|seen| seen.is_seen);
    if !gain.is_finite() || (gain >= GAIN_OF_LEVELS * count.ln() && !is_memory_seen) {
        return None;
    }
    let news: Vec<LevelNews> = levels.iter().map(|level| LevelNews::new(level)).collect();
    let reach = REACH * robust_deviation_of_news(&news).max(smallest_scatter);
    let of_each: Vec<SquaresByCorrelation> =
        news.iter().map(|level| level.squares(reach)).collect();
    let of_both: SquaresByCorrelation =
        array::from_fn(|at| of_each.iter().map(|level| level[at]).sum());
    let gain_of = |at: usize| {
        let merged = LevelNews::new(&residuals(bounds[at]..bounds[at + 2])).squares(reach);
        let without: SquaresByCorrelation = array::from_fn(|correlation| {
            let own = of_each[at][correlation] + of_each[at + 1][correlation];
            of_both[correlation] - own + merged[correlation]
        });
        count * (least(&without) / least(&of_both)).ln()
    };
    let gains = (0..starts.len()).map(|at| (at, gain_of(at)));
    let weakest = gains.min_by(|one, other| one.1.total_cmp(&other.1));
    let (always, by_length) = GAIN_OF_STEP;
    weakest.filter(|(_, gain)| *gain < always + by_length * count.ln()).map(|(at, _)| at)
}

/// Standard deviation as for normal values, from the median distance.
fn robust_deviation(residuals: &[f64]) -> f64 {
    let distances: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
    BY_MEDIAN_DEVIATION * median(&distances).unwrap_or(0.0)
}

/// Sum of squares; a distance beyond `reach` counts as `reach`.
fn squares(residuals: &[f64], reach: f64) -> f64 {
    residuals.iter().map(|residual| residual.abs().min(reach).powi(2)).sum()
}

/// Sums of squares of the news, for each of [`CORRELATIONS`].
type SquaresByCorrelation = [f64; CORRELATIONS.len()];

fn least(squares: &SquaresByCorrelation) -> f64 {
    squares.iter().copied().fold(f64::INFINITY, f64::min)
}

/// News of each point of a level whose points remember the one before: the part of a residual that
/// the residual before it does not predict. Nothing is remembered from the level before.
struct LevelNews {
    /// News by point, for each of [`CORRELATIONS`].
    by_correlation: [Vec<f64>; CORRELATIONS.len()],
}

impl LevelNews {
    fn new(residuals: &[f64]) -> Self {
        let news_at = |percent: u8| {
            let correlation = f64::from(percent) / 100.0;
            let first = (1.0 - correlation * correlation).sqrt();
            let before = residuals.windows(2).map(|pair| pair[1] - correlation * pair[0]);
            residuals.first().map(|residual| first * residual).into_iter().chain(before).collect()
        };
        Self { by_correlation: CORRELATIONS.map(news_at) }
    }

    fn squares(&self, reach: f64) -> SquaresByCorrelation {
        self.by_correlation.each_ref().map(|news| squares(news, reach))
    }
}

/// Least robust deviation of the news of all levels over the correlations.
fn robust_deviation_of_news(levels: &[LevelNews]) -> f64 {
    let deviation = |at: usize| {
        let news: Vec<f64> =
            levels.iter().flat_map(|level| level.by_correlation[at].iter().copied()).collect();
        robust_deviation(&news)
    };
    (0..CORRELATIONS.len()).map(deviation).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::remembered_step;

    fn noise(i: usize) -> f64 {
        (i * i * 7919 % 1009) as f64 / 1009.0 * 3.4 - 1.7
    }

    fn step_of_memory(values: &[f64], starts: &[usize]) -> Option<usize> {
        let residuals = |points: Range<usize>| {
            let level = &values[points];
            let mean = level.iter().sum::<f64>() / level.len() as f64;
            level.iter().map(|value| value - mean).collect()
        };
        remembered_step(values, starts, residuals, 0.0)
    }

    #[test]
    fn a_step_stands_and_a_walk_has_none() {
        let stepped: Vec<f64> =
            (0..60).map(|i| noise(i) + if i < 40 { 0.0 } else { 4.0 }).collect();
        assert_eq!(step_of_memory(&stepped, &[40]), None);
        let mut at = 0.0;
        let walk: Vec<f64> = (0..60)
            .map(|i| {
                at = 0.9 * at + noise(i);
                at
            })
            .collect();
        let level =
            |from: usize, to: usize| walk[from..to].iter().sum::<f64>() / (to - from) as f64;
        let apart = |at: &usize| (level(0, *at) - level(*at, 60)).abs();
        let start = (10..50).max_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap();
        assert_eq!(step_of_memory(&walk, &[start]), Some(0), "{start}");
    }

    #[test]
    fn a_large_step_stands_among_points_with_a_memory() {
        let mut at = 0.0;
        let walk: Vec<f64> = (0..60)
            .map(|i| {
                at = 0.8 * at + noise(i);
                at + if i < 40 { 0.0 } else { 20.0 }
            })
            .collect();
        assert_eq!(step_of_memory(&walk, &[40]), None);
    }

    #[test]
    fn values_that_are_mostly_equal_have_steps() {
        let values: Vec<f64> = (0..20).map(|i| if i < 17 { 1.0 } else { 4.0 }).collect();
        assert_eq!(step_of_memory(&values, &[17]), None);
    }
}
