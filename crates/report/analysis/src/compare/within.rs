//! Comparison of two imported runs, one for each variant, by pairing their operations or the rows
//! that a tool printed.
//!
//! The pairs describe only these two runs and are not rounds. They do not show the variation
//! between runs, so the verdict remains that of a single run.

use treering_model::metrics::{MetricSpec, rates, times};
use treering_model::{
    BetterDirection, IMPORT_FACT, ITERATION_PHASE, Metric, Scope, TaskTotals, Trial, Unit,
};
use treering_stats::{ALPHA, RoundsNeeded, Scale, compare_paired, holm, median, smallest_rounds};

use super::jobs::{ComparedJob, title};

use super::outcome::{Estimate, MetricComparison, Verdict};
use super::terms::DEFAULT_THRESHOLD;
use super::variant::{fact, is_completed};

/// Minimum number of pairs that can become significant; metrics with fewer pairs are left out of
/// the correction.
const PAIRS_FEWEST: usize = 6;

/// Returns the two runs when each variant has exactly one and both were imported.
pub(super) fn imported_pair<'t>(job: &ComparedJob<'t>) -> Option<(&'t Trial, &'t Trial)> {
    let only = |trials: &[&'t Trial]| match trials {
        [trial] if is_completed(trial) && fact(trial, IMPORT_FACT).is_some() => Some(*trial),
        _ => None,
    };
    Some((only(&job.rounds.baseline)?, only(&job.rounds.contender)?))
}

/// Reports whether a metric of the whole run is superseded by the pairs.
pub(super) fn is_paired_within(metric: &Metric) -> bool {
    match &metric.scope {
        Scope::Trial => false,
        Scope::Phase(name) => name.starts_with(ITERATION_PHASE),
        Scope::Kind(_) => {
            [times::SECONDS.name, rates::MIB_PER_SECOND.name].contains(&metric.name.as_str())
        }
    }
}

/// Paired values of two runs.
struct PairedValues {
    scope: Scope,
    name: String,
    unit: Unit,
    better: BetterDirection,
    /// True for a metric that is judged and corrected with the others.
    is_leading: bool,
    baseline: Vec<f64>,
    contender: Vec<f64>,
}

/// Comparisons of a job, with notes on what could not be paired.
pub(super) fn compare_within(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    (base, other): (&Trial, &Trial),
) -> (Vec<MetricComparison>, Vec<String>) {
    let mut unpaired = Vec::new();
    let mut pairs = of_operations(base, other, &mut unpaired);
    pairs.extend(of_rows(base, other, &mut unpaired));
    let mut comparisons: Vec<MetricComparison> =
        pairs.into_iter().filter_map(|pairs| compared(job, names, pairs)).collect();
    let is_corrected = |comparison: &MetricComparison| {
        comparison.primary && comparison.pairs() >= PAIRS_FEWEST && comparison.p.is_some()
    };
    let p: Vec<f64> = comparisons
        .iter()
        .filter(|comparison| is_corrected(comparison))
        .filter_map(|comparison| comparison.p)
        .collect();
    let mut adjusted = holm(&p).unwrap_or_default().into_iter();
    for comparison in &mut comparisons {
        comparison.p_adjusted = if is_corrected(comparison) { adjusted.next() } else { None };
    }
    (comparisons, unpaired)
}

/// Operations by kind and compiled state, each with its seconds and its rate.
fn of_operations(base: &Trial, other: &Trial, unpaired: &mut Vec<String>) -> Vec<PairedValues> {
    let mut pairs = Vec::new();
    for kind in kinds(base).into_iter().filter(|kind| kinds(other).contains(kind)) {
        let tasks = |trial: &'_ Trial| -> Vec<TaskTotals> {
            trial.tasks.iter().filter(|task| summary_row(task) == kind).cloned().collect()
        };
        let (left, right) = (tasks(base), tasks(other));
        if left.len() != right.len() {
            unpaired.push(format!("{kind}: {} and {} operations", left.len(), right.len()));
            continue;
        }
        let same = |(left, right): &(&TaskTotals, &TaskTotals)| left.subject == right.subject;
        let matching: Vec<(&TaskTotals, &TaskTotals)> =
            left.iter().zip(&right).filter(same).collect();
        if matching.len() < left.len() {
            let odd = left.len() - matching.len();
            unpaired.push(format!("{kind}: {odd} operations on other trees"));
        }
        let moves = matching.iter().all(|(l, r)| l.listed_bytes > 0 && r.listed_bytes > 0);
        let mut add = |spec: MetricSpec, is_leading, value: fn(&TaskTotals) -> f64| {
            pairs.push(PairedValues {
                scope: Scope::Kind(kind.to_owned()),
                name: spec.name.to_owned(),
                unit: spec.unit,
                better: spec.better,
                is_leading,
                baseline: matching.iter().map(|(left, _)| value(left)).collect(),
                contender: matching.iter().map(|(_, right)| value(right)).collect(),
            });
        };
        add(times::SECONDS, true, TaskTotals::seconds);
        if moves {
            // Printed rates have two decimals; the seconds are more precise.
            let rate = TaskTotals::mib_per_second;
            add(rates::MIB_PER_SECOND, false, rate);
        }
    }
    pairs
}

/// Kinds of a run in order of first occurrence.
fn kinds(trial: &Trial) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in trial.tasks.iter().map(summary_row) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Name of the row in the tool's summary that counts the task, if it is more specific than the
/// kind; otherwise the kind.
fn summary_row(task: &TaskTotals) -> &str {
    if task.tally.starts_with(&task.kind) { &task.tally } else { &task.kind }
}

/// Metrics of rows, paired row by row; the first metric of a row is the leader.
fn of_rows(base: &Trial, other: &Trial, unpaired: &mut Vec<String>) -> Vec<PairedValues> {
    let mut names: Vec<&Metric> = Vec::new();
    for metric in base.metrics.iter().filter(|metric| is_row(metric)) {
        if names.iter().all(|known| known.name != metric.name) {
            names.push(metric);
        }
    }
    let values = |trial: &Trial, name: &str| -> Vec<f64> {
        let own = |metric: &&Metric| is_row(metric) && metric.name == name;
        trial.metrics.iter().filter(own).map(|metric| metric.value).collect()
    };
    let mut pairs = Vec::new();
    for (place, metric) in names.into_iter().enumerate() {
        let (baseline, contender) = (values(base, &metric.name), values(other, &metric.name));
        if baseline.len() != contender.len() {
            let counts = format!("{} and {} rows", baseline.len(), contender.len());
            unpaired.push(format!("{}: {counts}", metric.name));
            continue;
        }
        pairs.push(PairedValues {
            scope: Scope::Kind("row".to_owned()),
            name: metric.name.clone(),
            unit: metric.unit,
            better: metric.better,
            is_leading: place == 0,
            baseline,
            contender,
        });
    }
    pairs
}

fn is_row(metric: &Metric) -> bool {
    matches!(&metric.scope, Scope::Phase(name) if name.starts_with(ITERATION_PHASE))
}

fn compared(
    job: &ComparedJob<'_>,
    names: (&str, &str),
    pairs: PairedValues,
) -> Option<MetricComparison> {
    let PairedValues { scope, name, unit, better, is_leading, baseline, contender } = pairs;
    let is_positive = baseline.iter().chain(&contender).all(|value| *value > 0.0);
    let scale = if is_positive { Scale::Ratio } else { Scale::Difference };
    let comparison = compare_paired(&baseline, &contender, scale, ALPHA).ok()?;
    let interval = comparison.interval.map(|interval| (interval.low, interval.high));
    let estimate = Estimate { value: comparison.estimate, interval };
    let fewest = smallest_rounds(1, ALPHA).ok()?;
    Some(MetricComparison {
        workload: job.workload.to_owned(),
        mode: job.mode,
        job: job.name.clone(),
        title: title(job),
        name,
        scope,
        unit,
        better,
        baseline: names.0.to_owned(),
        contender: names.1.to_owned(),
        paired: true,
        within_one_run: true,
        observed: false,
        equal_work: false,
        rounds: (1..).take(baseline.len()).collect(),
        baseline_median: median(&baseline).ok()?,
        contender_median: median(&contender).ok()?,
        baseline_values: baseline,
        contender_values: contender,
        ratio: is_positive.then_some(estimate),
        difference: (!is_positive).then_some(estimate),
        p: comparison.p_value,
        decided: None,
        same_as: None,
        p_adjusted: None,
        primary: is_leading,
        threshold: DEFAULT_THRESHOLD,
        few_rounds: comparison.few_rounds && !comparison.is_single_run(),
        smallest_rounds: fewest,
        too_few_to_ever_show: true,
        verdict: Verdict::SingleRun,
        tails: None,
        same_withheld: false,
        rounds_needed: Some(RoundsNeeded::exactly(fewest)),
    })
}
