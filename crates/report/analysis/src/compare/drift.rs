//! Drift of the ratio of a primary metric over the rounds. Every primary metric of every contender
//! is tested, so the tests are corrected together.

use treering_stats::{ALPHA, RoundDrift, holm};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::outcome::MetricComparison;

/// Returns one caution for each job and contender with drifting metrics; all tests form one Holm
/// family.
pub(super) fn drifting<'a>(
    candidates: impl Iterator<Item = (&'a MetricComparison, RoundDrift)>,
) -> Vec<ComparisonCaution> {
    let family: Vec<_> = candidates.filter(|(about, _)| about.primary).collect();
    let p_values: Vec<f64> = family.iter().map(|(_, drift)| drift.p_value).collect();
    let Ok(corrected) = holm(&p_values) else { return Vec::new() };
    let mut drifts: Vec<(String, Vec<String>)> = Vec::new();
    for ((about, _), p) in family.iter().zip(corrected).filter(|(_, p)| *p < ALPHA) {
        let of =
            format!("{} of '{}' against '{}'", about.workload, about.contender, about.baseline);
        let metric = format!("{} (p {p:.3})", about.metric());
        match drifts.iter_mut().find(|(known, _)| *known == of) {
            Some((_, metrics)) => metrics.push(metric),
            None => drifts.push((of, vec![metric])),
        }
    }
    let caution = |(of, metrics): (String, Vec<String>)| {
        let message = format!("{of}: the ratio drifts over the rounds: {}", metrics.join(", "));
        ComparisonCaution::new(Code::Drifting, message)
    };
    drifts.into_iter().map(caution).collect()
}
