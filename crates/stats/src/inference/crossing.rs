//! Value at which a growing share crosses an allowed share.
//!
//! Late requests come in bursts, so that most probes see fewer than the average. Therefore the
//! model uses the counts of late requests, rather than whether each probe exceeded the limit. It is
//! a local logistic regression of the counts on the logarithm of the value (McCullagh and Nelder
//! 1989, quasi-likelihood with estimated overdispersion; weights as in Cleveland 1979). The
//! interval of the crossing comes from the delta method with Student's t.

use crate::distribution::t_quantile;

/// Counts at one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CountsAtValue {
    /// Logarithm of the value.
    pub(crate) x: f64,
    /// Number of requests.
    pub(crate) all: f64,
    /// Number of late requests.
    pub(crate) late: f64,
}

/// Range of the regression: values farther from the crossing than this factor have no weight.
const REACH: f64 = 1.5;
/// Fewest counts with a positive weight.
const FEWEST: usize = 6;
const ROUNDS: usize = 8;
const STEPS: usize = 30;
/// Shares are clamped to this distance from 0 and 1.
const EDGE: f64 = 1e-9;

/// Line through the logits near the crossing.
#[derive(Clone, Copy)]
struct LogitLine {
    /// Logit at the evaluation point, and the slope there.
    level: f64,
    slope: f64,
    /// Variances of `level` and `slope`, and their covariance.
    of_level: f64,
    of_slope: f64,
    of_both: f64,
    /// Degrees of freedom.
    freedom: f64,
}

/// Log value at which the failure share crosses `allowed`, between the ends of its interval; `near`
/// is the starting guess. `None` if the counts do not identify it.
pub(crate) fn crossing(
    counts: &[CountsAtValue],
    near: f64,
    allowed: f64,
    confidence: f64,
) -> Option<[f64; 3]> {
    let target = logit(allowed);
    let (mut at, mut ends_found) = (near, None);
    for _ in 0..ROUNDS {
        let line = fit(counts, at)?;
        if line.slope <= 0.0 {
            return None;
        }
        let step = ((target - line.level) / line.slope).clamp(-0.3, 0.3);
        let variance = line.of_level + step * step * line.of_slope + 2.0 * step * line.of_both;
        let error = variance.max(0.0).sqrt() / line.slope;
        let half = error * t_quantile(f64::midpoint(1.0, confidence), line.freedom);
        at += step;
        ends_found = Some([at - half, at, at + half]);
        if step.abs() < 1e-4 {
            break;
        }
    }
    ends_found.filter(|ends| ends.iter().all(|end| end.is_finite()))
}

fn logit(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// Cleveland's tricube weight.
fn weight(distance: f64) -> f64 {
    let inner = 1.0 - (distance.abs() / REACH.ln()).min(1.0).powi(3);
    inner.powi(3)
}

/// Fits the line by iteratively reweighted least squares.
fn fit(counts: &[CountsAtValue], at: f64) -> Option<LogitLine> {
    let near: Vec<(CountsAtValue, f64)> = counts
        .iter()
        .map(|point| (CountsAtValue { x: point.x - at, ..*point }, weight(point.x - at)))
        .filter(|(point, weight)| *weight > 0.0 && point.all > 0.0)
        .collect();
    if near.len() < FEWEST {
        return None;
    }
    let sum = |of: &dyn Fn(&CountsAtValue) -> f64| {
        near.iter().map(|(point, w)| w * of(point)).sum::<f64>()
    };
    let share = ((sum(&|point| point.late) + 0.5) / (sum(&|point| point.all) + 1.0))
        .clamp(EDGE, 1.0 - EDGE);
    let (mut level, mut slope) = (logit(share), 1.0);
    let mut inverse = [0.0; 3];
    for _ in 0..STEPS {
        let mut normal = [0.0; 3];
        let mut right = [0.0; 2];
        for (point, weight) in &near {
            let p = logistic(level + slope * point.x);
            let w = weight * point.all * p * (1.0 - p);
            let residual = weight * (point.late - point.all * p);
            normal[0] += w;
            normal[1] += w * point.x;
            normal[2] += w * point.x * point.x;
            right[0] += residual;
            right[1] += residual * point.x;
        }
        let determinant = normal[0] * normal[2] - normal[1] * normal[1];
        if determinant <= 1e-12 * normal[0] * normal[2] {
            return None;
        }
        inverse = [normal[2], -normal[1], normal[0]].map(|cell| cell / determinant);
        let steps = [
            inverse[0] * right[0] + inverse[1] * right[1],
            inverse[1] * right[0] + inverse[2] * right[1],
        ];
        // Full Newton steps can diverge if one side has no late requests.
        let shrink = (3.0 / steps[0].abs().max(steps[1].abs() / 10.0).max(3.0)).min(1.0);
        level += shrink * steps[0];
        slope += shrink * steps[1];
        if steps[0].abs() < 1e-8 && steps[1].abs() < 1e-7 {
            break;
        }
    }
    let total: f64 = near.iter().map(|(_, weight)| weight).sum();
    let freedom = (total - 2.0).max(1.0);
    let pearson = |(point, weight): &(CountsAtValue, f64)| {
        let p = logistic(level + slope * point.x);
        weight * (point.late - point.all * p).powi(2) / (point.all * p * (1.0 - p)).max(EDGE)
    };
    let spread = (near.iter().map(pearson).sum::<f64>() / freedom).max(1.0);
    Some(LogitLine {
        level,
        slope,
        of_level: spread * inverse[0],
        of_slope: spread * inverse[2],
        of_both: spread * inverse[1],
        // With few bursts their spread is known less well than it would be with normal errors.
        freedom: (freedom / 2.0).max(1.0),
    })
}

fn logistic(logit: f64) -> f64 {
    (1.0 / (1.0 + (-logit).exp())).clamp(EDGE, 1.0 - EDGE)
}

#[cfg(test)]
mod tests {
    use super::{CountsAtValue, crossing};

    #[test]
    fn the_crossing_of_exact_shares_is_found() {
        // The logit increases by 4 per unit and corresponds to 1 % at 2.
        let count = |step: i32| {
            let x = 2.0 + 0.05 * f64::from(step);
            let logit = (0.01_f64 / 0.99).ln() + 4.0 * (x - 2.0);
            CountsAtValue { x, all: 10_000.0, late: 10_000.0 / (1.0 + (-logit).exp()) }
        };
        let counts: Vec<CountsAtValue> = (-6..=6).map(count).collect();
        let [low, at, high] = crossing(&counts, 2.1, 0.01, 0.95).unwrap();
        assert!((at - 2.0).abs() < 1e-3, "{at}");
        assert!(low < at && at < high && high - low < 0.1, "{low} {high}");
    }

    #[test]
    fn few_counts_and_falling_shares_have_no_crossing() {
        let count = |x: f64, late: f64| CountsAtValue { x, all: 1000.0, late };
        assert_eq!(crossing(&[count(1.0, 10.0); 5], 1.0, 0.01, 0.95), None);
        let falling: Vec<CountsAtValue> =
            (0..8).map(|at| count(0.04 * f64::from(at), 30.0 - 3.0 * f64::from(at))).collect();
        assert_eq!(crossing(&falling, 0.1, 0.01, 0.95), None);
    }
}
