//! The charts of a comparison and its raw numbers, put together from the comparisons of a job.

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
    let mut charts: Vec<Rounds> =
        by_metric(primary).iter().flat_map(|one| of_metric(one)).collect();
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
        metric: one.metric(),
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

/// One chart for all contenders of a metric, or several where there are too many, or where the
/// rounds of a contender are not among those of the others.
fn of_metric(comparisons: &[&MetricComparison]) -> Vec<Rounds> {
    let mut charts: Vec<Rounds> = Vec::new();
    let mut left: Vec<&MetricComparison> = comparisons.to_vec();
    // The baseline with the most rounds has those of the others among its own.
    while let Some(widest) = left.iter().copied().reduce(|one, other| {
        if other.baseline_values.len() > one.baseline_values.len() { other } else { one }
    }) {
        let base = &widest.baseline_values;
        let mut chart = start(widest);
        left.retain(|one| {
            let free = chart.sides.len() < MOST_SIDES && one.paired == chart.paired;
            let places = if free { places(base, &one.baseline_values) } else { None };
            let Some(places) = places else { return true };
            let values = if one.paired {
                let mut values = vec![None; base.len()];
                for (place, value) in places.into_iter().zip(&one.contender_values) {
                    values[place] = finite(*value);
                }
                values
            } else {
                one.contender_values.iter().copied().map(finite).collect()
            };
            chart.sides.push(RoundsSide { name: one.contender.clone(), values });
            false
        });
        let stuck = chart.sides.len() < 2;
        charts.push(chart);
        if stuck {
            break;
        }
    }
    charts
}

/// A chart with the baseline alone.
fn start(one: &MetricComparison) -> Rounds {
    let values = one.baseline_values.iter().copied().map(finite).collect();
    Rounds {
        metric: label(one),
        unit: one.unit,
        better: one.better,
        paired: one.paired,
        sides: vec![RoundsSide { name: one.baseline.clone(), values }],
        left_out: 0,
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Where the values stand among all, in their order; `None` when one is not there.
fn places(all: &[f64], values: &[f64]) -> Option<Vec<usize>> {
    let mut next = 0;
    let mut place = |value: &f64| {
        let found = next + all.get(next..)?.iter().position(|other| other == value)?;
        next = found + 1;
        Some(found)
    };
    values.iter().map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn rounds_that_were_dropped_leave_a_gap() {
        assert_eq!(places(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 4.0]), Some(vec![0, 2, 3]));
        assert_eq!(places(&[1.0, 1.0, 2.0], &[1.0, 1.0]), Some(vec![0, 1]));
        assert_eq!(places(&[1.0, 2.0], &[2.0, 1.0]), None);
        assert_eq!(places(&[1.0], &[]), Some(Vec::new()));
    }
}
