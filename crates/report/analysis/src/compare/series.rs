//! Series of trial values by metric. Elapsed time and CPU time are added to the recorded metrics.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::metrics::{MetricSpec, cpu, is_counter, is_observation, times};
use treering_model::{Metric, Scope, TaskTotals, Trial};

use super::observed::is_observed;
use super::variant::is_completed;
use crate::KnownTotals;

/// Key of a metric: scope, name and unit.
type MetricKey<'m> = (&'m Scope, &'m str, &'static str);

/// Metrics of trials, indexed by trial and key. A failed trial has no metrics.
pub(super) struct MetricSeries<'m> {
    by_trial: Vec<BTreeMap<MetricKey<'m>, &'m Metric>>,
    /// One metric of each key, in order of first occurrence.
    pub(super) kinds: Vec<&'m Metric>,
}

impl<'m> MetricSeries<'m> {
    /// Builds the series from the metrics of each trial, as [`metrics_of`] returns them.
    pub(super) fn new(metrics: &'m [Vec<Metric>]) -> Self {
        let mut kinds: Vec<&Metric> = Vec::new();
        let mut known = BTreeSet::new();
        let by_trial = metrics.iter().map(|of_trial| {
            let by_key: BTreeMap<MetricKey<'m>, &'m Metric> =
                of_trial.iter().map(|metric| (key(metric), metric)).collect();
            for metric in of_trial {
                if known.insert(key(metric)) {
                    kinds.push(metric);
                }
            }
            by_key
        });
        let by_trial = by_trial.collect();
        Self { by_trial, kinds }
    }

    /// Values of a metric, one for each trial; `None` where a trial lacks it.
    pub(super) fn values(&self, metric: &Metric) -> Vec<Option<f64>> {
        let key = key(metric);
        let value =
            |of_trial: &BTreeMap<MetricKey<'m>, &'m Metric>| of_trial.get(&key).map(|m| m.value);
        self.by_trial.iter().map(value).collect()
    }

    /// Finds the metric with the same key in this series.
    pub(super) fn get(&self, metric: &Metric) -> Option<&'m Metric> {
        let key = key(metric);
        self.by_trial.iter().find_map(|of_trial| of_trial.get(&key).copied())
    }

    /// Reports whether any trial has this metric.
    pub(super) fn has(&self, metric: &Metric) -> bool {
        self.get(metric).is_some()
    }
}

fn key(metric: &Metric) -> MetricKey<'_> {
    (&metric.scope, &metric.name, metric.unit.symbol())
}

/// Metrics of a trial: the recorded ones, then elapsed and CPU seconds of the trial, of each phase
/// if there are several, and of the operations by kind if tasks were read. Empty for a failed
/// trial; only observer metrics for a trial under observation.
pub(super) fn metrics_of(trial: &Trial) -> Vec<Metric> {
    if !is_completed(trial) {
        return Vec::new();
    }
    let mut metrics = trial.metrics.clone();
    if is_observed(trial) {
        // Times, and time-based metrics of the workload, include the overhead of the observers.
        // Counters are taken from the measured rounds.
        metrics.retain(|metric| is_observation(&metric.name) && !is_counter(&metric.name));
        return metrics;
    }
    let named: BTreeSet<&str> = trial.metrics.iter().filter_map(kind_of).collect();
    let known = KnownTotals::for_trial(trial);
    let mut add = |scope: Scope, spec: MetricSpec, seconds: f64, tasks: u64| {
        let same = |metric: &Metric| metric.scope == scope && metric.name == spec.name;
        // Totals that an imported log omits are 0.
        if known.amount(seconds).is_some() && !metrics.iter().any(same) {
            metrics.push(spec.of(scope, seconds).of_tasks(tasks));
        }
    };
    // Kinds of task that the workload itself does not count are preparations.
    let counts = |kind: &str| named.is_empty() || named.contains(kind);
    for (kind, tasks) in by_kind(&trial.tasks).into_iter().filter(|(kind, _)| counts(kind)) {
        let count = tasks.len() as u64;
        let mean = |ns: fn(&TaskTotals) -> u64| {
            tasks.iter().map(|task| ns(task) as f64 / 1e9).sum::<f64>() / count.max(1) as f64
        };
        let scope = || Scope::Kind(kind.to_owned());
        add(scope(), times::SECONDS, mean(|task| task.wall_ns), count);
        add(scope(), cpu::SYSTEM_CPU_SECONDS, mean(|task| task.cpu.system_ns), count);
    }
    let phases = by_phase(trial);
    if phases.len() > 1 {
        for (name, sums) in &phases {
            let scope = || Scope::Phase((*name).to_owned());
            add(scope(), times::ELAPSED_SECONDS, sums.wall_ns as f64 / 1e9, sums.tasks);
            add(scope(), cpu::SYSTEM_CPU_SECONDS, sums.system_ns as f64 / 1e9, sums.tasks);
        }
    }
    let total = |of: fn(&PhaseSums) -> u64| phases.iter().map(|(_, sums)| of(sums)).sum::<u64>();
    if trial.wall_ns > 0 {
        let seconds = trial.wall_ns as f64 / 1e9;
        add(Scope::Trial, times::ELAPSED_SECONDS, seconds, total(|sums| sums.tasks));
    }
    if !phases.is_empty() {
        let system = total(|sums| sums.system_ns) as f64 / 1e9;
        let user = total(|sums| sums.user_ns) as f64 / 1e9;
        add(Scope::Trial, cpu::SYSTEM_CPU_SECONDS, system, total(|sums| sums.tasks));
        add(Scope::Trial, cpu::USER_CPU_SECONDS, user, total(|sums| sums.tasks));
    }
    metrics
}

/// Kind of task in a metric's scope.
fn kind_of(metric: &Metric) -> Option<&str> {
    match &metric.scope {
        Scope::Kind(kind) => Some(kind),
        Scope::Trial | Scope::Phase(_) => None,
    }
}

/// Sums over all phases with the same name.
#[derive(Clone, Copy, Default)]
struct PhaseSums {
    wall_ns: u64,
    user_ns: u64,
    system_ns: u64,
    tasks: u64,
}

fn by_phase(trial: &Trial) -> Vec<(&str, PhaseSums)> {
    let mut phases: Vec<(&str, PhaseSums)> = Vec::new();
    for phase in &trial.phases {
        let place = phases.iter().position(|(name, _)| *name == phase.name);
        let place = place.unwrap_or_else(|| {
            phases.push((&phase.name, PhaseSums::default()));
            phases.len() - 1
        });
        let sums = &mut phases[place].1;
        sums.wall_ns = sums.wall_ns.saturating_add(phase.wall_ns);
        sums.user_ns = sums.user_ns.saturating_add(phase.cpu.user_ns);
        sums.system_ns = sums.system_ns.saturating_add(phase.cpu.system_ns);
        sums.tasks += u64::from(phase.tasks);
    }
    phases
}

/// Groups tasks by kind, sorted by the kind's name.
fn by_kind(tasks: &[TaskTotals]) -> BTreeMap<&str, Vec<&TaskTotals>> {
    let mut kinds: BTreeMap<&str, Vec<&TaskTotals>> = BTreeMap::new();
    for task in tasks {
        kinds.entry(&task.kind).or_default().push(task);
    }
    kinds
}
