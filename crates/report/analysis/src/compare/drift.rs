//! Dependence of the ratios of primary metrics on time: a drift over the rounds, and rounds that
//! resemble their neighbours. Every primary metric of every contender is tested, so the tests of
//! each kind are corrected together.

use treering_stats::{ALPHA, RoundDrift, holm, serial_check};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::outcome::{MetricComparison, p_words};

/// Cautions about primary metrics whose ratio drifts over the rounds, one for each job and
/// contender.
pub(super) fn drifting<'a>(
    candidates: impl Iterator<Item = (&'a MetricComparison, RoundDrift)>,
) -> Vec<ComparisonCaution> {
    let tests = candidates.map(|(about, drift)| (about, drift.p_value));
    found(Code::Drifting, "the ratio drifts over the rounds", tests)
}

/// Cautions about primary metrics whose rounds resemble their neighbours, one for each job and
/// contender. Only positive correlation makes intervals too narrow.
pub(super) fn serial<'a>(
    candidates: impl Iterator<Item = &'a MetricComparison>,
) -> Vec<ComparisonCaution> {
    let test = |about: &'a MetricComparison| {
        let pairs = about.baseline_values.iter().zip(&about.contender_values);
        let ratios: Vec<f64> = pairs.map(|(base, other)| (other / base).ln()).collect();
        let check = serial_check(&ratios).ok().filter(|_| about.paired)?;
        let p = if check.lag1 > check.lag1_bound { check.ljung_box_p } else { 1.0 };
        Some((about, p))
    };
    found(Code::SerialRounds, "successive rounds are correlated", candidates.filter_map(test))
}

/// Cautions about primary metrics whose test is significant after Holm's correction.
fn found<'a>(
    code: Code,
    what: &str,
    tests: impl Iterator<Item = (&'a MetricComparison, f64)>,
) -> Vec<ComparisonCaution> {
    let family: Vec<_> = tests.filter(|(about, _)| about.primary).collect();
    let p_values: Vec<f64> = family.iter().map(|(_, p)| *p).collect();
    let Ok(corrected) = holm(&p_values) else { return Vec::new() };
    let mut metrics_of: Vec<(String, Vec<String>)> = Vec::new();
    for ((about, _), p) in family.iter().zip(corrected).filter(|(_, p)| *p < ALPHA) {
        let sides =
            format!("{} of '{}' against '{}'", about.workload, about.contender, about.baseline);
        let metric = format!("{} ({})", about.metric(), p_words(p));
        match metrics_of.iter_mut().find(|(known, _)| *known == sides) {
            Some((_, metrics)) => metrics.push(metric),
            None => metrics_of.push((sides, vec![metric])),
        }
    }
    let caution = |(sides, metrics): (String, Vec<String>)| {
        ComparisonCaution::new(code, format!("{sides}: {what}: {}", metrics.join(", ")))
    };
    metrics_of.into_iter().map(caution).collect()
}
