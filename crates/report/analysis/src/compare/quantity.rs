//! Metrics that express one quantity in several units (MiB/s, files/s and seconds of the same work)
//! and are therefore judged once. The leader is the first primary metric, or the first metric if
//! none is primary; the others take over its verdict and belong to no family.
//!
//! Candidates are found by names and units and checked against the values: if the amount of work
//! differs, rates and times are different quantities. Latency percentiles and CPU time are always
//! quantities of their own.

use treering_model::metrics::dbench::PASS_SECONDS;
use treering_model::metrics::fio::DIRECTION_RUNTIME_SECONDS;
use treering_model::metrics::{rates, times};
use treering_model::{Scope, Trial, Unit, WorkLimit};
use treering_stats::median;

use super::outcome::MetricComparison;
use super::question::PendingComparison;
use super::variant::fact;

/// Tolerance for the log ratios of one quantity in different units.
const SLACK: f64 = 0.02;

/// Name suffixes of rates over a whole scope; the prefix names the kind of work
/// (`read_mib_per_second`).
const RATES: [&str; 3] =
    [rates::MIB_PER_SECOND.name, rates::FILES_PER_SECOND.name, rates::OPERATIONS_PER_SECOND.name];

/// Full names of metrics for the duration of the same work. The last one is the time limit of the
/// trial if a limit ended it.
const TIMES: [&str; 3] = [times::SECONDS.name, PASS_SECONDS.name, ELAPSED];
const ELAPSED: &str = times::ELAPSED_SECONDS.name;

/// Merges the questions of a job and contender about the same quantity; `first` is the index of the
/// first question.
pub(super) fn merge_units(pending: &mut [PendingComparison], first: usize, trials: &[&Trial]) {
    let is_timed =
        trials.iter().any(|trial| fact(trial, WorkLimit::FACT) == Some(WorkLimit::Timed.name()));
    let order = |index: &&usize| !pending[**index].about.primary;
    let questioned: Vec<usize> =
        (0..pending.len()).filter(|&index| pending[index].question.is_some()).collect();
    let mut leaders: Vec<&usize> = questioned.iter().collect();
    leaders.sort_by_key(order);
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for &leader in leaders {
        if joined.iter().any(|(_, member)| *member == leader) {
            continue;
        }
        let taken = |index: usize| joined.iter().any(|&(l, m)| l == index || m == index);
        let about = |index: usize| &pending[index].about;
        let joins_leader = |index: &usize| {
            *index != leader && !taken(*index) && is_same(about(leader), about(*index), is_timed)
        };
        let members: Vec<usize> =
            questioned.iter().copied().filter(|index| joins_leader(index)).collect();
        joined.extend(members.into_iter().map(|member| (leader, member)));
    }
    for (leader, member) in joined {
        let name = pending[leader].about.metric();
        let index = &mut pending[member];
        index.leader = Some(first + leader);
        index.question = None;
        index.about.same_as = Some(name);
        index.about.primary = false;
        index.about.p = None;
    }
}

/// Reports whether two metrics of one job express the same quantity.
fn is_same(leader: &MetricComparison, other: &MetricComparison, is_timed: bool) -> bool {
    if leader.rounds != other.rounds || leader.runs_of_variants() != other.runs_of_variants() {
        return false;
    }
    if is_same_numbers(leader, other) {
        return true;
    }
    let (Some(left), Some(right)) = (sort(leader), sort(other)) else { return false };
    let is_limit = |comparison: &MetricComparison| is_timed && comparison.name == ELAPSED;
    let fits = leader.scope == other.scope && left.work == right.work;
    fits && !is_limit(leader) && !is_limit(other) && ratios_agree(leader, other, left, right)
}

/// Reports whether two metrics have the same noisy values under different names.
fn is_same_numbers(left: &MetricComparison, right: &MetricComparison) -> bool {
    let measured = !matches!(left.unit, Unit::Count | Unit::Bytes | Unit::Percent);
    let noisy =
        |values: &[f64]| values.windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits());
    measured
        && left.unit == right.unit
        && left.baseline_values == right.baseline_values
        && left.contender_values == right.contender_values
        && (noisy(&left.baseline_values) || noisy(&left.contender_values))
}

/// Work and dimension of a metric.
#[derive(Clone, Copy, PartialEq)]
struct MeasuredWork<'m> {
    /// Part of the work: `read` of `read_mib_per_second`; empty for all of it.
    work: &'m str,
    is_time: bool,
}

fn sort(comparison: &MetricComparison) -> Option<MeasuredWork<'_>> {
    comparison.ratio?;
    if TIMES.contains(&comparison.name.as_str()) && comparison.unit == Unit::Seconds {
        return Some(MeasuredWork { work: "", is_time: true });
    }
    if let Some(direction) = DIRECTION_RUNTIME_SECONDS.word_of(&comparison.name) {
        return Some(MeasuredWork { work: direction, is_time: true });
    }
    // A trial-wide rate of reads is part of the trial-wide rate of all requests.
    let work = RATES.iter().find_map(|rate| comparison.name.strip_suffix(rate))?;
    let work = work.trim_end_matches('_');
    let is_rate =
        matches!(comparison.unit, Unit::MibPerSecond | Unit::FilesPerSecond | Unit::OpsPerSecond);
    let directions = ["", "read", "write", "trim"];
    (is_rate && directions.contains(&work) && !is_share(comparison, work))
        .then_some(MeasuredWork { work, is_time: false })
}

/// Reports whether a rate covers only part of the work in its scope.
fn is_share(comparison: &MetricComparison, work: &str) -> bool {
    comparison.scope == Scope::Trial && !work.is_empty()
}

/// Reports whether the median ratios agree, taking times as the inverse of rates.
fn ratios_agree(
    left: &MetricComparison,
    right: &MetricComparison,
    l: MeasuredWork,
    r: MeasuredWork,
) -> bool {
    let sign = if l.is_time == r.is_time { -1.0 } else { 1.0 };
    let ratios = |comparison: &MetricComparison| -> Vec<f64> {
        if !comparison.paired {
            return vec![(comparison.contender_median / comparison.baseline_median).ln()];
        }
        let pairs = comparison.baseline_values.iter().zip(&comparison.contender_values);
        pairs.map(|(base, other)| (other / base).ln()).collect()
    };
    let apart = ratios(left).into_iter().zip(ratios(right)).map(|(l, r)| (l + sign * r).abs());
    median(&apart.collect::<Vec<f64>>()).is_ok_and(|apart| apart <= SLACK)
}
