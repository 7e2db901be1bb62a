//! The charts of a comparison and its raw numbers, put together from the comparisons of a job.

use std::collections::BTreeMap;

use treering_analysis::compare::{MetricComparison, Outcome};

use super::comparison_tables::label;
use crate::charts::MOST_SIDES;
use crate::{Block, Chart, Forest, ForestRow, RawList, Rounds, RoundsSide};

/// Charts of rounds that a job has at most.
const MOST_CHARTS: usize = 12;

/// The ratios of the primary metrics of a job, metric by metric.
pub(super) fn forest(primary: &[&MetricComparison]) -> Chart {
    let baseline = primary.first().map_or_else(String::new, |first| first.baseline.clone());
    let rows = by_metric(primary).into_iter().flatten().map(row).collect();
    Chart::Forest(Forest { baseline, rows })
}

/// The values of the primary metrics of a job, round by round, in at most so many charts.
pub(super) fn rounds(primary: &[&MetricComparison], most: usize) -> Vec<Chart> {
    // Operations of one run are no rounds.
    let of_rounds: Vec<&MetricComparison> =
        primary.iter().copied().filter(|one| !one.within_one_run).collect();
    let mut charts: Vec<Rounds> =
        by_metric(&of_rounds).iter().flat_map(|one| of_metric(one)).collect();
    let most = most.min(MOST_CHARTS);
    let left_out = charts.len().saturating_sub(most);
    charts.truncate(most);
    if let Some(last) = charts.last_mut() {
        last.left_out = left_out;
    }
    charts.into_iter().map(Chart::Rounds).collect()
}

/// What was measured of the primary metrics. A baseline that several contenders share stands once.
pub(super) fn raw_numbers(outcome: &Outcome) -> Option<Block> {
    let primary: Vec<&MetricComparison> =
        outcome.comparisons.iter().filter(|c| c.primary).collect();
    let mut jobs: Vec<Vec<&MetricComparison>> = Vec::new();
    for one in primary {
        let same = |job: &&mut Vec<&MetricComparison>| job_name(job[0]) == job_name(one);
        match jobs.iter_mut().find(same) {
            Some(job) => job.push(one),
            None => jobs.push(vec![one]),
        }
    }
    let mut lists: Vec<RawList> = Vec::new();
    for comparisons in jobs.iter().flat_map(|job| by_metric(job)) {
        let mut shared: Option<&[f64]> = None;
        for one in comparisons {
            if shared != Some(one.baseline_values.as_slice()) {
                shared = Some(&one.baseline_values);
                lists.push(raw_list(one, &one.baseline, &one.baseline_values));
            }
            lists.push(raw_list(one, &one.contender, &one.contender_values));
        }
    }
    (!lists.is_empty()).then_some(Block::RawNumbers { lists })
}

fn raw_list(one: &MetricComparison, side: &str, values: &[f64]) -> RawList {
    RawList {
        job: job_name(one),
        metric: one.metric() + if one.within_one_run { " (within one run)" } else { "" },
        unit: one.unit.symbol().to_owned(),
        side: side.to_owned(),
        values: values.to_vec(),
    }
}

fn job_name(one: &MetricComparison) -> String {
    let name = format!("{} ({})", one.workload, one.mode.name());
    if one.job.is_empty() { name } else { format!("{name}: {}", one.job) }
}

/// The comparisons of each metric, which are those of different contenders.
fn by_metric<'c>(comparisons: &[&'c MetricComparison]) -> Vec<Vec<&'c MetricComparison>> {
    let mut metrics: Vec<Vec<&MetricComparison>> = Vec::new();
    for one in comparisons {
        let same = |metric: &&mut Vec<&MetricComparison>| {
            let first = metric[0];
            first.scope == one.scope && first.name == one.name && first.unit == one.unit
        };
        match metrics.iter_mut().find(same) {
            Some(metric) => metric.push(one),
            None => metrics.push(vec![one]),
        }
    }
    metrics
}

fn row(one: &MetricComparison) -> ForestRow {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    let ratio = one.ratio.filter(|ratio| positive(ratio.value));
    let interval = ratio.and_then(|ratio| ratio.interval);
    ForestRow {
        metric: label(one),
        contender: one.contender.clone(),
        ratio: ratio.map(|ratio| ratio.value),
        interval: interval.filter(|(low, high)| positive(*low) && positive(*high)),
        verdict: one.verdict,
        threshold: if positive(one.threshold) { one.threshold } else { 0.0 },
        better: one.better,
    }
}

/// One chart for all contenders of a metric, or several where there are too many, or where they
/// were not compared with the same trials of the baseline.
fn of_metric(comparisons: &[&MetricComparison]) -> Vec<Rounds> {
    let mut charts: Vec<Rounds> = Vec::new();
    let mut left: Vec<&MetricComparison> = comparisons.to_vec();
    while let Some(first) = left.first().copied() {
        let mut base: BTreeMap<u32, f64> = BTreeMap::new();
        let mut chosen: Vec<&MetricComparison> = Vec::new();
        left.retain(|one| {
            let fits = chosen.len() + 1 < MOST_SIDES
                && one.paired == first.paired
                && (one.paired || one.baseline_values == first.baseline_values)
                && numbered(one).all(|(number, value, _)| {
                    base.get(&number).is_none_or(|known| known.to_bits() == value.to_bits())
                });
            if fits {
                base.extend(numbered(one).map(|(number, value, _)| (number, value)));
                chosen.push(*one);
            }
            !fits
        });
        charts.push(chart(first, &base, &chosen));
    }
    charts
}

/// The rounds of a comparison: the number of each with both values; none when not paired.
fn numbered(one: &MetricComparison) -> impl Iterator<Item = (u32, f64, f64)> {
    let values = one.baseline_values.iter().zip(&one.contender_values);
    one.rounds.iter().zip(values).map(|(number, (base, other))| (*number, *base, *other))
}

/// The baseline with these contenders; paired rounds stand below each other.
fn chart(
    first: &MetricComparison,
    base: &BTreeMap<u32, f64>,
    contenders: &[&MetricComparison],
) -> Rounds {
    let all = |values: &[f64]| -> Vec<Option<f64>> { values.iter().copied().map(finite).collect() };
    let of_rounds = |values: &BTreeMap<u32, f64>| -> Vec<Option<f64>> {
        base.keys().map(|number| values.get(number).copied().and_then(finite)).collect()
    };
    let name = first.baseline.clone();
    let values = if first.paired { of_rounds(base) } else { all(&first.baseline_values) };
    let mut sides = vec![RoundsSide { name, values }];
    sides.extend(contenders.iter().map(|one| {
        let own: BTreeMap<u32, f64> =
            numbered(one).map(|(number, _, value)| (number, value)).collect();
        let values = if one.paired { of_rounds(&own) } else { all(&one.contender_values) };
        RoundsSide { name: one.contender.clone(), values }
    }));
    Rounds {
        metric: label(first),
        unit: first.unit,
        better: first.better,
        paired: first.paired,
        numbers: base.keys().copied().collect(),
        sides,
        left_out: 0,
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
