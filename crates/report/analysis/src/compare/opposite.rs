//! Contradictions between elapsed time and device activity: on a loop device with host caching, or
//! in a virtual machine, a layout that needs more seeks can be faster.

use treering_model::Scope;
use treering_model::metrics::{layout, times, trace};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::outcome::MetricComparison;

/// Ratio above which times of single runs clearly differ; with several rounds the interval decides.
const TIME_RATIO: f64 = 1.1;
/// Ratio and absolute difference above which numbers of seeks clearly differ.
const SEEKS_RATIO: f64 = 1.25;
const SEEKS_FEWEST: f64 = 64.0;
/// Difference above which layout scores clearly differ, in percentage points.
const POINTS: f64 = 10.0;

const SEEKS: &str = trace::SEEKS.name;
const SCORES: [&str; 2] =
    [layout::TRAVERSAL_SCORE_PERCENT.name, layout::ADJACENT_SIBLINGS_PERCENT.name];

/// Returns a caution for each job and contender whose time contradicts its seeks or layout.
pub(super) fn opposite(comparisons: &[MetricComparison]) -> Vec<ComparisonCaution> {
    let mut contradictions: Vec<(String, Vec<String>)> = Vec::new();
    for comparison in
        comparisons.iter().filter(|comparison| comparison.name == SEEKS || is_score(comparison))
    {
        let Some(words) = against_time(comparison, comparisons) else { continue };
        let job =
            if comparison.job.is_empty() { String::new() } else { format!(" {}", comparison.job) };
        let sides = format!(
            "{}{job}, '{}' against '{}'",
            comparison.workload, comparison.contender, comparison.baseline
        );
        match contradictions.iter_mut().find(|(known, _)| *known == sides) {
            Some((_, words_of)) => words_of.push(words),
            None => contradictions.push((sides, vec![words])),
        }
    }
    let caution = |(about, words): (String, Vec<String>)| {
        ComparisonCaution::new(Code::TimeAgainstSeeks, format!("{about}: {}", words.join("; ")))
    };
    contradictions.into_iter().map(caution).collect()
}

fn is_score(comparison: &MetricComparison) -> bool {
    SCORES.contains(&comparison.name.as_str())
}

/// Describes the contradiction between a device metric and the elapsed time, if there is one.
fn against_time(comparison: &MetricComparison, comparisons: &[MetricComparison]) -> Option<String> {
    let time = time_of(comparison, comparisons)?;
    let is_faster = is_faster(time)?;
    let worse = if comparison.name == SEEKS {
        has_more_seeks(comparison)?
    } else {
        is_worse_placed(comparison)?
    };
    if is_faster != worse {
        return None;
    }
    let (base, other) = (comparison.baseline_median, comparison.contender_median);
    let device = match comparison.name.as_str() {
        SEEKS => format!("{base:.0} and {other:.0} seeks"),
        name => {
            let word = name.trim_start_matches("layout_").trim_end_matches("_percent");
            format!("{} {base:.1} % and {other:.1} %", word.replace('_', " "))
        }
    };
    let (from, to) = (time.baseline_median, time.contender_median);
    let part = match &comparison.scope {
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
        Scope::Trial => "the whole".to_owned(),
    };
    Some(format!("{part} took {from:.2} s and {to:.2} s, with {device}"))
}

/// Elapsed time of the same scope: of the phase, or of the trial if the phase has no time.
fn time_of<'c>(
    comparison: &MetricComparison,
    comparisons: &'c [MetricComparison],
) -> Option<&'c MetricComparison> {
    let is_of_job = |other: &&MetricComparison| {
        (&other.workload, other.mode, &other.job)
            == (&comparison.workload, comparison.mode, &comparison.job)
            && other.contender == comparison.contender
    };
    let elapsed = |scope: &Scope| {
        let mut times = comparisons.iter().filter(is_of_job);
        times.find(|other| other.name == times::ELAPSED_SECONDS.name && other.scope == *scope)
    };
    let is_alone = || {
        let mut seen =
            comparisons.iter().filter(is_of_job).filter(|other| other.name == comparison.name);
        seen.all(|other| other.scope == comparison.scope)
    };
    elapsed(&comparison.scope).or_else(|| is_alone().then(|| elapsed(&Scope::Trial)).flatten())
}

/// Reports whether the contender was clearly faster (true) or slower (false); `None` if neither.
fn is_faster(time: &MetricComparison) -> Option<bool> {
    let ratio = time.ratio?;
    match ratio.interval {
        Some((_, high)) if high < 1.0 && ratio.value <= 1.0 / (1.0 + time.threshold) => Some(true),
        Some((low, _)) if low > 1.0 && ratio.value >= 1.0 + time.threshold => Some(false),
        None if ratio.value <= 1.0 / TIME_RATIO => Some(true),
        None if ratio.value >= TIME_RATIO => Some(false),
        _ => None,
    }
}

/// Reports whether the contender made clearly more (true) or fewer (false) seeks; `None` if
/// neither.
fn has_more_seeks(seeks: &MetricComparison) -> Option<bool> {
    let (base, other) = (seeks.baseline_median, seeks.contender_median);
    if (base - other).abs() < SEEKS_FEWEST {
        return None;
    }
    let is_clear = |ratio: f64, high_or_low: Option<f64>| {
        ratio >= SEEKS_RATIO && high_or_low.is_none_or(|end| end > 1.0)
    };
    let (low, high) = seeks.ratio.and_then(|ratio| ratio.interval).unzip();
    if is_clear(other / base, low) {
        return Some(true);
    }
    is_clear(base / other, high.map(|high| 1.0 / high)).then_some(false)
}

/// Reports whether the contender's layout is clearly worse (true) or better (false); `None` if
/// neither.
fn is_worse_placed(score: &MetricComparison) -> Option<bool> {
    let difference = score.contender_median - score.baseline_median;
    (difference.abs() >= POINTS).then_some(difference < 0.0)
}
