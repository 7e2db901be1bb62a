//! One quantity in several units: MiB/s, files/s and seconds of the same work say the same thing,
//! so they are judged once. The first that decides leads (else the first of all), the others
//! carry its verdict and are in no family.
//!
//! Which metrics belong together is known by their names and units, and held against the values:
//! where the work differs, rates and times are different quantities. Latency percentiles and CPU
//! time always are.

use treering_model::metrics::dbench::PASS_SECONDS;
use treering_model::metrics::fio::DIRECTION_RUNTIME_SECONDS;
use treering_model::metrics::{rates, times};
use treering_model::{Scope, Trial, Unit, Work};
use treering_stats::median;

use super::outcome::MetricComparison;
use super::question::Asked;
use super::variant::fact;

/// By so much, as a logarithm, ratios of one quantity may differ from unit to unit.
const SLACK: f64 = 0.02;

/// Rates of a whole part of the trial, by the end of their names; what stands before it tells what
/// was done (`read_mib_per_second`).
const RATES: [&str; 3] =
    [rates::MIB_PER_SECOND.name, rates::FILES_PER_SECOND.name, rates::OPERATIONS_PER_SECOND.name];

/// Times that are those of the same work, by their whole names. The last is the time that a trial
/// was given where that is what ends it.
const TIMES: [&str; 3] = [times::SECONDS.name, PASS_SECONDS.name, ELAPSED];
const ELAPSED: &str = times::ELAPSED_SECONDS.name;

/// Puts the questions of a job and contender that are about one quantity together; `first` is where
/// they begin among all.
pub(super) fn join(asked: &mut [Asked], first: usize, trials: &[&Trial]) {
    let is_timed = trials.iter().any(|trial| fact(trial, Work::FACT) == Some(Work::Timed.name()));
    let order = |one: &&usize| !asked[**one].about.primary;
    let all: Vec<usize> = (0..asked.len()).filter(|&one| asked[one].question.is_some()).collect();
    let mut leaders: Vec<&usize> = all.iter().collect();
    leaders.sort_by_key(order);
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for &leader in leaders {
        if joined.iter().any(|(_, member)| *member == leader) {
            continue;
        }
        let taken = |one: usize| joined.iter().any(|&(l, m)| l == one || m == one);
        let about = |one: usize| &asked[one].about;
        let of = |one: &usize| {
            *one != leader && !taken(*one) && is_same(about(leader), about(*one), is_timed)
        };
        let members: Vec<usize> = all.iter().copied().filter(|one| of(one)).collect();
        joined.extend(members.into_iter().map(|member| (leader, member)));
    }
    for (leader, member) in joined {
        let name = asked[leader].about.metric();
        let one = &mut asked[member];
        one.leader = Some(first + leader);
        one.question = None;
        one.about.same_as = Some(name);
        one.about.primary = false;
        one.about.p = None;
    }
}

/// Whether two metrics of one job say the same thing.
fn is_same(leader: &MetricComparison, other: &MetricComparison, is_timed: bool) -> bool {
    if leader.rounds != other.rounds || leader.runs_of_variants() != other.runs_of_variants() {
        return false;
    }
    if is_same_numbers(leader, other) {
        return true;
    }
    let (Some(left), Some(right)) = (sort(leader), sort(other)) else { return false };
    let is_limit = |one: &MetricComparison| is_timed && one.name == ELAPSED;
    let fits = leader.scope == other.scope && left.work == right.work;
    fits && !is_limit(leader) && !is_limit(other) && moves_alike(leader, other, left, right)
}

/// The same noisy numbers under another name.
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

/// What a metric measures of the work.
#[derive(Clone, Copy, PartialEq)]
struct Sort<'m> {
    /// What of the work: `read` of `read_mib_per_second`; empty for all of it.
    work: &'m str,
    is_time: bool,
}

fn sort(one: &MetricComparison) -> Option<Sort<'_>> {
    one.ratio?;
    if TIMES.contains(&one.name.as_str()) && one.unit == Unit::Seconds {
        return Some(Sort { work: "", is_time: true });
    }
    if let Some(direction) = DIRECTION_RUNTIME_SECONDS.word_of(&one.name) {
        return Some(Sort { work: direction, is_time: true });
    }
    // Of the whole trial a rate of reads stands beside the rate of all, of which it is a part.
    let work = RATES.iter().find_map(|rate| one.name.strip_suffix(rate))?;
    let work = work.trim_end_matches('_');
    let is_rate =
        matches!(one.unit, Unit::MibPerSecond | Unit::FilesPerSecond | Unit::OpsPerSecond);
    let directions = ["", "read", "write", "trim"];
    (is_rate && directions.contains(&work) && !is_share(one, work))
        .then_some(Sort { work, is_time: false })
}

/// Whether a rate is only of a part of what its scope did.
fn is_share(one: &MetricComparison, work: &str) -> bool {
    one.scope == Scope::Trial && !work.is_empty()
}

/// Whether the ratios agree in the median round, times being the inverse of rates.
fn moves_alike(left: &MetricComparison, right: &MetricComparison, l: Sort, r: Sort) -> bool {
    let sign = if l.is_time == r.is_time { -1.0 } else { 1.0 };
    let ratios = |one: &MetricComparison| -> Vec<f64> {
        if !one.paired {
            return vec![(one.contender_median / one.baseline_median).ln()];
        }
        let pairs = one.baseline_values.iter().zip(&one.contender_values);
        pairs.map(|(base, other)| (other / base).ln()).collect()
    };
    let apart = ratios(left).into_iter().zip(ratios(right)).map(|(l, r)| (l + sign * r).abs());
    median(&apart.collect::<Vec<f64>>()).is_ok_and(|apart| apart <= SLACK)
}
