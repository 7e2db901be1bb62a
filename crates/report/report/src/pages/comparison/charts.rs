//! Charts and raw numbers of a comparison, built from the comparisons of a job.

use std::collections::{BTreeMap, BTreeSet};

use treering_analysis::compare::{MetricComparison, Outcome};

use super::tables::{by_metric, is_unbounded, label, shown_interval};
use crate::charts::MOST_SIDES;
use crate::{
    Block, Chart, Forest, ForestRow, RatioVariant, Ratios, RawList, Rounds, RoundsVariant,
};

/// Maximum number of round charts of a job.
const MOST_CHARTS: usize = 12;

/// Forest plot of all primary metrics, by job and metric.
pub(super) fn forest(primary: &[&MetricComparison]) -> Chart {
    let baseline = baseline_of(primary);
    let several = primary.iter().any(|comparison| comparison.title != primary[0].title);
    let rows = by_metric(primary)
        .into_iter()
        .flatten()
        .map(|this_comparison| row(this_comparison, several))
        .collect();
    Chart::Forest(Forest { baseline, rows })
}

/// Name of the baseline to which the ratios are relative.
fn baseline_of(comparisons: &[&MetricComparison]) -> String {
    match comparisons {
        [] => String::new(),
        [first, others @ ..]
            if others.iter().all(|comparison| comparison.baseline == first.baseline) =>
        {
            first.baseline.clone()
        }
        _ => "its baseline".to_owned(),
    }
}

/// Round charts of a job's primary metrics, at most `most`: the ratio of each round, or the values
/// of all trials where they are unpaired or have no ratio.
pub(super) fn rounds(primary: &[&MetricComparison], most: usize) -> Vec<Chart> {
    // Operations of one run are not rounds.
    let of_rounds: Vec<&MetricComparison> =
        primary.iter().copied().filter(|comparison| !comparison.within_one_run).collect();
    let is_ratio = |this_comparison: &&MetricComparison| {
        this_comparison.paired && this_comparison.ratio.is_some() && this_comparison.pairs() > 1
    };
    let mut charts: Vec<Chart> = Vec::new();
    for metric in by_metric(&of_rounds) {
        let (with, without): (Vec<&MetricComparison>, Vec<&MetricComparison>) =
            metric.into_iter().partition(is_ratio);
        charts.extend(with.chunks(MOST_SIDES - 1).map(|some| Chart::Ratios(ratios(some))));
        charts.extend(of_metric(&without).into_iter().map(Chart::Rounds));
    }
    let most = most.min(MOST_CHARTS);
    let left_out = charts.len().saturating_sub(most);
    charts.truncate(most);
    match charts.last_mut() {
        Some(Chart::Ratios(last)) => last.left_out = left_out,
        Some(Chart::Rounds(last)) => last.left_out = left_out,
        _ => {}
    }
    charts
}

/// Ratio chart of one metric, from at least one comparison.
fn ratios(comparisons: &[&MetricComparison]) -> Ratios {
    let first = comparisons[0];
    let numbers: BTreeSet<u32> =
        comparisons.iter().flat_map(|comparison| comparison.rounds.iter().copied()).collect();
    let variant = |this_comparison: &&MetricComparison| {
        let of_round: BTreeMap<u32, f64> =
            numbered(this_comparison).map(|(number, base, value)| (number, value / base)).collect();
        let ratio = |number: &u32| {
            of_round.get(number).copied().filter(|this_comparison| is_positive(*this_comparison))
        };
        RatioVariant {
            name: this_comparison.contender.clone(),
            ratios: numbers.iter().map(ratio).collect(),
            ratio: this_comparison
                .ratio
                .map(|ratio| ratio.value)
                .filter(|this_comparison| is_positive(*this_comparison))
                .unwrap_or(1.0),
            interval: shown_interval(this_comparison)
                .filter(|(low, high)| is_positive(*low) && is_positive(*high)),
            unbounded: is_unbounded(this_comparison),
        }
    };
    Ratios {
        metric: label(first),
        baseline: baseline_of(comparisons),
        better: first.better,
        threshold: threshold(first),
        numbers: numbers.iter().copied().collect(),
        variants: comparisons.iter().map(variant).collect(),
        left_out: 0,
    }
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn threshold(comparison: &MetricComparison) -> f64 {
    if is_positive(comparison.threshold) { comparison.threshold } else { 0.0 }
}

/// Raw values of the primary metrics. A baseline shared by several contenders is listed once.
pub(super) fn raw_numbers(outcome: &Outcome) -> Option<Block> {
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|c| c.primary).collect();
    let mut jobs: Vec<Vec<&MetricComparison>> = Vec::new();
    for comparison in primary {
        let same = |job: &&mut Vec<&MetricComparison>| job_name(job[0]) == job_name(comparison);
        match jobs.iter_mut().find(same) {
            Some(job) => job.push(comparison),
            None => jobs.push(vec![comparison]),
        }
    }
    let mut lists: Vec<RawList> = Vec::new();
    for comparisons in jobs.iter().flat_map(|job| by_metric(job)) {
        let mut shared: Option<&[f64]> = None;
        for comparison in comparisons {
            if shared != Some(comparison.baseline_values.as_slice()) {
                shared = Some(&comparison.baseline_values);
                lists.push(raw_list(comparison, &comparison.baseline, &comparison.baseline_values));
            }
            lists.push(raw_list(comparison, &comparison.contender, &comparison.contender_values));
        }
    }
    (!lists.is_empty()).then_some(Block::RawNumbers { lists })
}

fn raw_list(comparison: &MetricComparison, variant: &str, values: &[f64]) -> RawList {
    RawList {
        job: job_name(comparison),
        metric: comparison.metric()
            + if comparison.within_one_run { " (within one run)" } else { "" },
        unit: comparison.unit.symbol().to_owned(),
        variant: variant.to_owned(),
        values: values.to_vec(),
    }
}

fn job_name(comparison: &MetricComparison) -> String {
    let name = format!("{} ({})", comparison.workload, comparison.mode.name());
    if comparison.job.is_empty() { name } else { format!("{name}: {}", comparison.job) }
}

fn row(comparison: &MetricComparison, several_jobs: bool) -> ForestRow {
    let ratio = comparison.ratio.map(|ratio| ratio.value).filter(|ratio| is_positive(*ratio));
    let interval = ratio.and(shown_interval(comparison));
    ForestRow {
        job: if several_jobs { comparison.title.clone() } else { String::new() },
        metric: label(comparison),
        contender: comparison.contender.clone(),
        ratio,
        interval: interval.filter(|(low, high)| is_positive(*low) && is_positive(*high)),
        rounds: round_ratios(comparison),
        unbounded: is_unbounded(comparison),
        verdict: comparison.verdict,
        threshold: threshold(comparison),
        better: comparison.better,
    }
}

/// Ratio of each round; empty where rounds are not paired.
fn round_ratios(comparison: &MetricComparison) -> Vec<f64> {
    if !comparison.paired || comparison.within_one_run {
        return Vec::new();
    }
    let ratios = numbered(comparison).map(|(_, base, value)| value / base);
    ratios.filter(|ratio| is_positive(*ratio)).collect()
}

/// Charts of a metric: one for all contenders, or several when there are too many or they were
/// paired with different baseline trials.
fn of_metric(comparisons: &[&MetricComparison]) -> Vec<Rounds> {
    let mut charts: Vec<Rounds> = Vec::new();
    let mut left: Vec<&MetricComparison> = comparisons.to_vec();
    while let Some(first) = left.first().copied() {
        let mut base: BTreeMap<u32, f64> = BTreeMap::new();
        let mut chosen: Vec<&MetricComparison> = Vec::new();
        left.retain(|comparison| {
            let fits = chosen.len() + 1 < MOST_SIDES
                && comparison.paired == first.paired
                && comparison.baseline == first.baseline
                && (comparison.paired || comparison.baseline_values == first.baseline_values)
                && numbered(comparison).all(|(number, value, _)| {
                    base.get(&number).is_none_or(|known| known.to_bits() == value.to_bits())
                });
            if fits {
                base.extend(numbered(comparison).map(|(number, value, _)| (number, value)));
                chosen.push(*comparison);
            }
            !fits
        });
        charts.push(chart(first, &base, &chosen));
    }
    charts
}

/// Round number and both values of each round of a comparison; empty if unpaired.
fn numbered(comparison: &MetricComparison) -> impl Iterator<Item = (u32, f64, f64)> {
    let values = comparison.baseline_values.iter().zip(&comparison.contender_values);
    comparison.rounds.iter().zip(values).map(|(number, (base, other))| (*number, *base, *other))
}

/// Chart of the baseline with these contenders, paired rounds aligned.
fn chart(
    first: &MetricComparison,
    base: &BTreeMap<u32, f64>,
    contenders: &[&MetricComparison],
) -> Rounds {
    let finite_values =
        |values: &[f64]| -> Vec<Option<f64>> { values.iter().copied().map(finite).collect() };
    let of_rounds = |values: &BTreeMap<u32, f64>| -> Vec<Option<f64>> {
        base.keys().map(|number| values.get(number).copied().and_then(finite)).collect()
    };
    let name = first.baseline.clone();
    let values = if first.paired { of_rounds(base) } else { finite_values(&first.baseline_values) };
    let mut variants = vec![RoundsVariant { name, values, intervals: Vec::new() }];
    variants.extend(contenders.iter().map(|comparison| {
        let own: BTreeMap<u32, f64> =
            numbered(comparison).map(|(number, _, value)| (number, value)).collect();
        let values = if comparison.paired {
            of_rounds(&own)
        } else {
            finite_values(&comparison.contender_values)
        };
        RoundsVariant { name: comparison.contender.clone(), values, intervals: Vec::new() }
    }));
    Rounds {
        metric: label(first),
        unit: first.unit,
        better: first.better,
        paired: first.paired,
        numbers: base.keys().copied().collect(),
        variants,
        by: None,
        keys: Vec::new(),
        times: Vec::new(),
        events: Vec::new(),
        left_out: 0,
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
