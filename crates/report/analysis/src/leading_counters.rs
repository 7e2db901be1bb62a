//! Counters of the kernel and of the devices that differ most between variants. They help to
//! explain a result and do not influence any verdict.

use treering_model::metrics::is_counter;
use treering_model::{Scope, Unit};

use crate::compare::{Estimate, MetricComparison};

/// Logarithm of the ratio that represents an event that only one variant had.
const ONE_SIDED: f64 = 5.0;
/// Logarithm of the smallest ratio that is shown.
const SMALLEST: f64 = 0.05;
/// Number of events below which a counter explains nothing, if both variants are below it.
const FEWEST_EVENTS: f64 = 10.0;

/// Comparisons of the trial-wide counters that differ most, the largest difference first, of at
/// most `most` counters; and the number of counters compared. The difference is the end of the
/// interval that is closest to equality, or the ratio itself for a single run. Counters whose
/// interval contains equality are left out.
pub fn leading_counters<'c>(
    comparisons: &[&'c MetricComparison],
    most: usize,
) -> (Vec<&'c MetricComparison>, usize) {
    let is_of_trial = |one: &&&MetricComparison| {
        is_counter(&one.name) && one.scope == Scope::Trial && !one.primary && !one.observed
    };
    let counters: Vec<&MetricComparison> =
        comparisons.iter().filter(is_of_trial).copied().collect();
    let mut names: Vec<&str> = counters.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let compared = names.len();
    let mut scored: Vec<(f64, &MetricComparison)> =
        counters.into_iter().map(|one| (distance(one), one)).collect();
    scored.retain(|(distance, _)| *distance >= SMALLEST);
    scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let mut leading: Vec<&str> = Vec::new();
    for (_, one) in &scored {
        if !leading.contains(&one.name.as_str()) && leading.len() < most {
            leading.push(&one.name);
        }
    }
    let is_leading = |one: &&MetricComparison| leading.contains(&one.name.as_str());
    (scored.into_iter().map(|(_, one)| one).filter(is_leading).collect(), compared)
}

/// Distance from equality, as the logarithm of a ratio; 0 if the interval includes equality.
fn distance(one: &MetricComparison) -> f64 {
    let largest = one.baseline_median.abs().max(one.contender_median.abs());
    if one.unit == Unit::Count && largest < FEWEST_EVENTS {
        return 0.0;
    }
    if let Some(ratio) = one.ratio {
        return nearest(ratio, f64::ln);
    }
    let share = |difference: f64| {
        // A difference as large as the larger value means that only one variant had such events.
        let share = (difference / largest).clamp(-1.0, 1.0);
        share.signum() * -(1.0 - share.abs()).ln()
    };
    match one.difference {
        Some(difference) if largest > 0.0 => nearest(difference, share).min(ONE_SIDED),
        _ => 0.0,
    }
}

/// Distance from equality of the closest end of the interval.
fn nearest(estimate: Estimate, scale: impl Fn(f64) -> f64) -> f64 {
    let Some((low, high)) = estimate.interval else { return scale(estimate.value).abs() };
    let (low, high) = (scale(low), scale(high));
    if low * high <= 0.0 { 0.0 } else { low.abs().min(high.abs()) }
}

#[cfg(test)]
mod tests {
    use super::{Estimate, nearest};

    fn distance(value: f64, interval: Option<(f64, f64)>) -> f64 {
        nearest(Estimate { value, interval }, f64::ln)
    }

    #[test]
    fn the_end_of_the_interval_that_is_closest_to_equality_counts() {
        assert!((distance(4.0, Some((2.0, 9.0))) - 2_f64.ln()).abs() < 1e-9);
        assert!((distance(0.25, Some((0.1, 0.5))) - 2_f64.ln()).abs() < 1e-9);
        assert!(distance(1.5, Some((0.9, 2.0))).abs() < 1e-9);
        assert!((distance(0.5, None) - 2_f64.ln()).abs() < 1e-9);
    }
}
