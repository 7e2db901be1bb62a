//! Measured time of a primary metric, for any workload; too short a time is not conclusive.

use treering_model::metrics::times;
use treering_model::{Accelerator, Metric, Scope, Trial, Unit};
use treering_stats::median;

use crate::compare::outcome::metric_name;
use crate::compare::terms::ComparisonTerms;

/// Measured time in seconds below which a single kernel write-back or journal commit (every five
/// seconds) weighs as much as the work.
pub(super) const SHORT_SECONDS: f64 = 1.0;

/// Describes the primary metrics that were measured for too short a time, by the median time of the
/// variant that took less. A deliberate time limit is treated alike.
pub(super) fn too_short(
    baseline: &[&Trial],
    contender: &[&Trial],
    terms: &ComparisonTerms,
) -> Vec<String> {
    let Some(first) = baseline.first() else { return Vec::new() };
    // Counted instructions are as exact in a short time as in a long one.
    let is_counted =
        |trial: &&Trial| trial.fact(Accelerator::FACT) == Some(Accelerator::Icount.name());
    if baseline.iter().chain(contender).all(is_counted) {
        return Vec::new();
    }
    let decides = |metric: &&Metric| {
        terms.is_primary(&metric_name(&metric.scope, &metric.name), metric.primary)
    };
    let primary = first.metrics.iter().filter(decides).filter(|metric| metric.value > 0.0);
    let short = primary.filter_map(|metric| {
        let median_of = |trials: &[&Trial]| {
            let measured = trials.iter().filter_map(|trial| measured_seconds(trial, metric));
            median(&measured.collect::<Vec<f64>>()).ok()
        };
        let seconds = median_of(baseline)?.min(median_of(contender)?);
        let name = metric_name(&metric.scope, &metric.name);
        (seconds < SHORT_SECONDS).then(|| format!("{name} {seconds:.2} s"))
    });
    short.collect()
}

/// Measured time of a metric in a trial, in seconds: the metric's own time, otherwise the time of
/// its tasks, otherwise an upper bound; `None` if unknown.
fn measured_seconds(trial: &Trial, metric: &Metric) -> Option<f64> {
    let in_same_scope = |name: &str| {
        let is_it = |candidate: &&Metric| candidate.scope == metric.scope && candidate.name == name;
        trial.metrics.iter().find(is_it)
    };
    if let Some(elapsed) = in_same_scope(times::ELAPSED_SECONDS.name) {
        return Some(elapsed.value);
    }
    // Dividing an amount by its rate gives the time.
    let own = trial
        .metrics
        .iter()
        .find(|candidate| candidate.scope == metric.scope && candidate.name == metric.name);
    if let Some(rate) = own
        && let Some(amount) = rate.name.strip_suffix("_per_second").and_then(in_same_scope)
        && amount.unit == Unit::Count
        && rate.value > 0.0
        && amount.value > 0.0
    {
        return Some(amount.value / rate.value);
    }
    let phases = |is_it: &dyn Fn(&str) -> bool| {
        let phases = trial.phases.iter().filter(|phase| is_it(&phase.name));
        seconds(phases.map(|phase| phase.wall_ns).fold(0, u64::saturating_add))
    };
    let wall = seconds(trial.wall_ns);
    match &metric.scope {
        Scope::Trial => {
            let setup = in_same_scope(times::SETUP_SECONDS.name).map_or(0.0, |setup| setup.value);
            wall.map(|wall| (wall - setup).max(0.0))
        }
        Scope::Phase(name) => phases(&|phase| phase == name),
        Scope::Kind(kind) => {
            let mean = in_same_scope("seconds").map(|mean| mean.value * mean.tasks as f64);
            let own = || phases(&|phase| phase == kind);
            mean.or_else(|| of_tasks(trial, kind)).or_else(own).or_else(|| phases(&|_| true))
        }
    }
}

/// Time in seconds during which at least one task of a kind was running; `None` when tasks were not
/// read.
fn of_tasks(trial: &Trial, kind: &str) -> Option<f64> {
    let own = trial.tasks.iter().filter(|task| task.kind == kind);
    let mut spans: Vec<(u64, u64)> =
        own.map(|task| (task.began_ns, task.began_ns.saturating_add(task.wall_ns))).collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0_u64, 0_u64);
    for (from, to) in spans {
        sum = sum.saturating_add(to.saturating_sub(from.max(until)));
        until = until.max(to);
    }
    seconds(sum)
}

fn seconds(ns: u64) -> Option<f64> {
    (ns > 0).then_some(ns as f64 / 1e9)
}
