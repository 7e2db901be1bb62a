//! Segmentation of a series into levels by bounded, penalised costs. The optimum is exact, so it
//! finds a change that was undone later, and the bound ignores single outliers.
//!
//! Not here: the estimate of the noise, and the selection of significant changes (`level_shift`).
//!
//! Source: Fearnhead & Rigaill, "Changepoint Detection in the Presence of Outliers", Journal of the
//! American Statistical Association 114, 2019 (R-FPOP, biweight loss), extended by a minimum length
//! of levels and by weights.

/// Distance from the level, in standard deviations, beyond which the cost of a point is constant.
const BOUND: f64 = 4.0;

/// Point in units of the noise, with the standard deviation `1 / sqrt(weight)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledPoint {
    pub(crate) value: f64,
    pub(crate) weight: f64,
}

/// Range of levels on which the least cost has a single formula.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CostPiece {
    /// Upper end of the range, which begins where the previous piece ends.
    to: f64,
    /// Cost of level v: `square * v^2 + linear * v + constant`.
    square: f64,
    linear: f64,
    constant: f64,
    /// Index of the first point of the level.
    start: usize,
}

impl CostPiece {
    fn at(&self, level: f64) -> f64 {
        (self.square * level + self.linear) * level + self.constant
    }

    fn least(&self, from: f64) -> f64 {
        let lowest = if self.square > 0.0 { -self.linear / (2.0 * self.square) } else { from };
        self.at(lowest.clamp(from, self.to))
    }

    fn is_same_formula(&self, other: &Self) -> bool {
        self.start == other.start
            && self.square == other.square
            && self.linear == other.linear
            && self.constant == other.constant
    }
}

/// Least cost of all points so far, as a function of the newest level.
struct LevelCosts {
    /// Lowest level considered.
    low: f64,
    pieces: Vec<CostPiece>,
}

fn push(pieces: &mut Vec<CostPiece>, piece: CostPiece) {
    match pieces.last_mut() {
        Some(last) if last.is_same_formula(&piece) => last.to = piece.to,
        _ => pieces.push(piece),
    }
}

impl LevelCosts {
    fn new((low, high): (f64, f64), constant: f64, start: usize) -> Self {
        Self {
            low,
            pieces: vec![CostPiece { to: high, square: 0.0, linear: 0.0, constant, start }],
        }
    }

    /// Adds the cost of a point: its squared distance from the level, up to the bound.
    fn add(&mut self, point: ScaledPoint) {
        let ScaledPoint { value, weight } = point;
        let reach = BOUND / weight.sqrt();
        let (first, last) = (value - reach, value + reach);
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        let mut from = self.low;
        for piece in &self.pieces {
            for (edge, is_near) in [(first, false), (last, true), (f64::INFINITY, false)] {
                let to = piece.to.min(edge);
                if to <= from {
                    continue;
                }
                let mut part = CostPiece { to, ..*piece };
                if is_near {
                    part.square += weight;
                    part.linear -= 2.0 * weight * value;
                    part.constant += weight * value * value;
                } else {
                    part.constant += BOUND * BOUND;
                }
                push(&mut pieces, part);
                from = to;
            }
        }
        self.pieces = pieces;
    }

    /// Pointwise minimum of two functions over the same levels.
    fn pointwise_minimum(&self, other: &Self) -> Self {
        let mut pieces = Vec::with_capacity(self.pieces.len() + other.pieces.len());
        let (mut mine, mut theirs) =
            (self.pieces.iter().peekable(), other.pieces.iter().peekable());
        let mut from = self.low;
        while let (Some(&left), Some(&right)) = (mine.peek(), theirs.peek()) {
            let to = left.to.min(right.to);
            let crossings = crossings(left, right, from, to);
            for edge in crossings.into_iter().chain([to]) {
                if edge > from {
                    let middle = f64::midpoint(from, edge);
                    let better = if left.at(middle) <= right.at(middle) { left } else { right };
                    push(&mut pieces, CostPiece { to: edge, ..*better });
                    from = edge;
                }
            }
            if left.to <= to {
                mine.next();
            }
            if right.to <= to {
                theirs.next();
            }
        }
        Self { low: self.low, pieces }
    }

    /// Least cost over all levels, and the start of that level.
    fn least(&self) -> (f64, usize) {
        let mut best = (f64::INFINITY, 0);
        let mut from = self.low;
        for piece in &self.pieces {
            let cost = piece.least(from);
            if cost < best.0 {
                best = (cost, piece.start);
            }
            from = piece.to;
        }
        best
    }
}

/// Levels between `from` and `to` at which two pieces cost the same, ascending.
fn crossings(left: &CostPiece, right: &CostPiece, from: f64, to: f64) -> Vec<f64> {
    let square = left.square - right.square;
    let linear = left.linear - right.linear;
    let constant = left.constant - right.constant;
    let mut roots = Vec::with_capacity(2);
    if square == 0.0 {
        if linear != 0.0 {
            roots.push(-constant / linear);
        }
    } else {
        let discriminant = linear * linear - 4.0 * square * constant;
        if discriminant > 0.0 {
            let half = -0.5 * (linear + linear.signum() * discriminant.sqrt());
            roots.push(half / square);
            if half != 0.0 {
                roots.push(constant / half);
            }
        }
    }
    roots.retain(|root| *root > from && *root < to);
    roots.sort_unstable_by(f64::total_cmp);
    roots
}

/// First points of the levels after the first one, in order. The division has levels of at least
/// `fewest` points and the least sum of bounded costs, with `penalty` for each change.
pub(crate) fn least_cost_levels(points: &[ScaledPoint], penalty: f64, fewest: usize) -> Vec<usize> {
    let fewest = fewest.max(1);
    if points.len() < 2 * fewest {
        return Vec::new();
    }
    let fold = |pick: fn(f64, f64) -> f64, from| points.iter().map(|p| p.value).fold(from, pick);
    let ends = (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY));
    if ends.0 >= ends.1 {
        return Vec::new();
    }
    let mut costs: Option<LevelCosts> = None;
    // Least cost of the first t points, and the start of their last level.
    let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); points.len() + 1];
    best[0] = (-penalty, 0);
    for end in 1..=points.len() {
        if let Some(costs) = &mut costs {
            costs.add(points[end - 1]);
        }
        if let Some(start) = end.checked_sub(fewest)
            && best[start].0.is_finite()
        {
            let mut newest_level = LevelCosts::new(ends, best[start].0 + penalty, start);
            points[start..end].iter().for_each(|point| newest_level.add(*point));
            costs = Some(match costs {
                Some(costs) => costs.pointwise_minimum(&newest_level),
                None => newest_level,
            });
        }
        if let Some(costs) = &costs {
            best[end] = costs.least();
        }
    }
    let mut starts = Vec::new();
    let mut end = points.len();
    while end > 0 {
        end = best[end].1;
        if end > 0 {
            starts.push(end);
        }
    }
    starts.reverse();
    starts
}

#[cfg(test)]
mod tests {
    use super::{BOUND, ScaledPoint, least_cost_levels};

    fn points(values: &[f64]) -> Vec<ScaledPoint> {
        let point = |(at, &value): (usize, &f64)| ScaledPoint {
            value,
            weight: if at % 3 == 0 { 0.5 } else { 1.2 },
        };
        values.iter().enumerate().map(point).collect()
    }

    /// Least bounded cost of one level. Between the levels at which a point reaches or leaves the
    /// bound, the cost is a parabola.
    fn level_cost(points: &[ScaledPoint]) -> f64 {
        let mut ends: Vec<f64> = points
            .iter()
            .flat_map(|p| [-1.0, 1.0].map(|side| p.value + side * BOUND / p.weight.sqrt()))
            .collect();
        ends.sort_unstable_by(f64::total_cmp);
        let near = |middle: f64| {
            let near = points
                .iter()
                .filter(move |p| p.weight * (p.value - middle).powi(2) < BOUND * BOUND);
            let weight: f64 = near.clone().map(|p| p.weight).sum();
            near.map(|p| p.weight * p.value).sum::<f64>() / weight
        };
        let cost = |level: f64| -> f64 {
            points.iter().map(|p| (p.weight * (p.value - level).powi(2)).min(BOUND * BOUND)).sum()
        };
        let middles = ends.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
        middles.map(near).filter(|level| level.is_finite()).map(cost).fold(f64::INFINITY, f64::min)
    }

    fn total(points: &[ScaledPoint], starts: &[usize], penalty: f64) -> f64 {
        let ends: Vec<usize> =
            [0].into_iter().chain(starts.iter().copied()).chain([points.len()]).collect();
        let levels: f64 = ends.windows(2).map(|pair| level_cost(&points[pair[0]..pair[1]])).sum();
        levels + penalty * starts.len() as f64
    }

    /// Least total cost by exhaustive search over the last change.
    fn least(points: &[ScaledPoint], penalty: f64, fewest: usize) -> f64 {
        let mut best = vec![f64::INFINITY; points.len() + 1];
        best[0] = -penalty;
        for end in fewest..=points.len() {
            for start in 0..=end - fewest {
                let cost = best[start] + penalty + level_cost(&points[start..end]);
                best[end] = best[end].min(cost);
            }
        }
        best[points.len()]
    }

    #[test]
    fn the_levels_have_the_least_cost_of_all_divisions() {
        for series in 0..30_u32 {
            let value = |i: u32| {
                let noise = f64::from((i * i * 7919 + series * 613 + i * series) % 1009) / 250.0;
                let spike = if (i + series).is_multiple_of(17) { 9.0 } else { 0.0 };
                noise + spike + if i % 20 > 11 { f64::from(series % 5) } else { 0.0 }
            };
            let points = points(&(0..40).map(value).collect::<Vec<_>>());
            for penalty in [2.0, 6.0] {
                let starts = least_cost_levels(&points, penalty, 3);
                let (found, best) = (total(&points, &starts, penalty), least(&points, penalty, 3));
                assert!((found - best).abs() < 1e-9, "{series}: {found} {best}");
                let starts = [0].into_iter().chain(starts).chain([40]).collect::<Vec<_>>();
                assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{starts:?}");
            }
        }
    }

    #[test]
    fn equal_and_few_points_have_one_level() {
        assert!(least_cost_levels(&points(&[]), 5.0, 3).is_empty());
        assert!(least_cost_levels(&points(&[1.0, 9.0, 1.0, 9.0, 9.0]), 5.0, 3).is_empty());
        assert!(least_cost_levels(&points(&[3.0; 50]), 5.0, 3).is_empty());
    }
}
