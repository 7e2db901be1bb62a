//! Metrics that the jobs of a plan will give, known before it runs, and hints for other names.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use treering_model::metrics::{cpu, is_call_latency, is_observable, observable_names, times};
use treering_model::nearest::{MetricEdits, PHASE_PREFIX};
use treering_model::{Metric, Scope};
use treering_observe::deciding_latency;
use treering_script::{
    Conductor, Job, ParallelGroup, Phase, SessionResult, SessionStop, TargetFacts, TaskListener,
};

use super::PlannedJob;

/// Metrics that a report adds to every trial.
const TRIAL_METRICS: [&str; 3] =
    [times::ELAPSED_SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name, cpu::USER_CPU_SECONDS.name];
/// Metrics that a report adds to each phase.
const PHASE_METRICS: [&str; 2] = [times::ELAPSED_SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name];
/// Metrics that a report adds to each kind of task.
const KIND_METRICS: [&str; 2] = [times::SECONDS.name, cpu::SYSTEM_CPU_SECONDS.name];
/// Maximum number of groups read from a session to list its phases.
const GROUPS_MAX: usize = 1_000;
/// Maximum number of phases that are listed; a job with more has no list.
const PHASES_MAX: usize = 100_000;
/// Maximum number of metric names in a hint.
const NAMES_SHOWN: usize = 8;

/// Phases of a job, listed on first use.
#[derive(Debug, Default)]
pub struct JobPhases(OnceLock<Option<Vec<String>>>);

/// Metrics of a job that are known before it runs.
pub(crate) struct ForeseenMetrics<'j> {
    planned: &'j PlannedJob,
    /// Metrics of the workload, and the latency of its syncs if that is a primary metric.
    pub(crate) metrics: Vec<Metric>,
}

impl<'j> ForeseenMetrics<'j> {
    pub(crate) fn new(planned: &'j PlannedJob) -> Self {
        let job = planned.job.as_ref();
        let mut metrics = job.foreseen_metrics(&TargetFacts::unknown());
        metrics.extend(job.deciding_sync().map(deciding_latency));
        Self { planned, metrics }
    }

    /// True if a trial of the job can have a metric of this name, including metrics that reports
    /// derive from the times of phases and tasks, and metrics of observers.
    pub(crate) fn has(&self, name: &str) -> bool {
        if self.metrics.iter().any(|metric| metric.full_name() == name)
            || TRIAL_METRICS.contains(&name)
        {
            return true;
        }
        let Some((part, last)) = name.rsplit_once('/') else { return self.may_observe(name) };
        if let Some(phase) = part.strip_prefix(PHASE_PREFIX) {
            return (PHASE_METRICS.contains(&last) || self.may_observe(last))
                && self.may_have_phase(phase);
        }
        let is_kind = |metric: &Metric| matches!(&metric.scope, Scope::Kind(kind) if kind == part);
        KIND_METRICS.contains(&last) && self.metrics.iter().any(is_kind)
    }

    /// True if observers can give a metric of this name for the job: calls of other programs are
    /// not timed.
    fn may_observe(&self, name: &str) -> bool {
        is_observable(name) && !(self.planned.job.is_by_program() && is_call_latency(name))
    }

    /// False if the phases of the job are known and do not include this one.
    fn may_have_phase(&self, name: &str) -> bool {
        self.phases().is_none_or(|phases| phases.iter().any(|phase| phase == name))
    }

    /// Names of the phases; `None` if they are not known before the run.
    fn phases(&self) -> Option<&'j [String]> {
        let list = || phases(self.planned.job.as_ref());
        self.planned.phases.0.get_or_init(list).as_deref()
    }
}

/// Metrics of each job that are known before it runs.
pub(crate) fn foreseen(jobs: &[PlannedJob]) -> Vec<ForeseenMetrics<'_>> {
    jobs.iter().map(ForeseenMetrics::new).collect()
}

/// Hint for a metric that no job has: the name that was probably meant, and the most similar names
/// of the jobs' metrics.
pub(crate) fn metric_hint(unknown: &str, jobs: &[ForeseenMetrics<'_>]) -> String {
    let mut names = similar_metrics(unknown, jobs);
    let is_meant = names.iter().any(|name| MetricEdits::between(unknown, name).are_slips());
    // A name unlike any metric keeps the order of the list, with primary metrics first.
    if is_meant || unknown.contains('/') {
        names.sort_by_cached_key(|name| MetricEdits::between(unknown, name).sum());
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).take(NAMES_SHOWN).collect();
    let more = match names.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hint = format!("metrics of its jobs: {}{more}", shown.join(", "));
    match names.first().filter(|_| is_meant) {
        Some(first) => format!("did you mean `{first}`? {hint}"),
        None => hint,
    }
}

/// Names of the jobs' metrics: workload metrics, primary ones first; metrics of each phase if
/// `unknown` names a phase; and metrics of observers with similar names.
fn similar_metrics(unknown: &str, jobs: &[ForeseenMetrics<'_>]) -> Vec<String> {
    let metrics = jobs.iter().flat_map(|job| &job.metrics);
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) = metrics.partition(|one| one.primary);
    let of_workloads = primary.into_iter().chain(others).map(Metric::full_name);
    let mut names: Vec<String> = of_workloads.chain(TRIAL_METRICS.map(str::to_owned)).collect();
    if let Some((part, last)) = unknown.rsplit_once('/')
        && part.starts_with(PHASE_PREFIX)
    {
        let phases = jobs.iter().filter_map(ForeseenMetrics::phases).flatten();
        let observable =
            Some(last).filter(|last| is_observable(last) && !PHASE_METRICS.contains(last));
        let lasts: Vec<&str> = PHASE_METRICS.into_iter().chain(observable).collect();
        names.extend(phases.flat_map(|phase| {
            let name = move |last: &&str| Scope::Phase(phase.clone()).metric_name(last);
            lasts.iter().map(name).collect::<Vec<_>>()
        }));
    }
    let observed = observable_names().into_iter();
    let may_be_meant = |name: &String| {
        MetricEdits::between(unknown, name).are_slips()
            && jobs.iter().any(|job| job.may_observe(name))
    };
    names.extend(observed.filter(may_be_meant));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Names of the phases of a job, from a session that runs nothing; `None` if they depend on the
/// results of the work.
fn phases(job: &dyn Job) -> Option<Vec<String>> {
    if job.is_by_program() {
        return None;
    }
    let mut list = PhaseList { names: Vec::new(), groups_left: GROUPS_MAX };
    match job.begin(&TargetFacts::unknown()).run(&mut list) {
        Ok(()) => Some(list.names),
        Err(SessionStop::Ended | SessionStop::Failed(_)) => None,
    }
}

/// Conductor that lists the phases of a session and runs nothing.
struct PhaseList {
    names: Vec<String>,
    groups_left: usize,
}

impl Conductor for PhaseList {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        if self.names.len() == PHASES_MAX {
            return Err(SessionStop::Ended);
        }
        self.names.push(phase.name);
        Ok(())
    }

    fn group(&mut self, _: ParallelGroup, _: &mut dyn TaskListener) -> SessionResult {
        self.groups_left = self.groups_left.checked_sub(1).ok_or(SessionStop::Ended)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ForeseenMetrics, metric_hint, phases};
    use crate::plan::PlannedJob;
    use treering_script::{Settings, Workload};

    fn planned(workload: &'static dyn Workload, options: &[(&str, &str)]) -> PlannedJob {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = Settings::new(options.iter().map(own).collect());
        let name = workload.manifest().name.to_owned();
        PlannedJob::plain(&name, &settings, workload.native(&settings).unwrap())
    }

    fn named(name: &str) -> &'static dyn Workload {
        let mut all = treering_registry::workloads().iter();
        *all.find(|workload| workload.manifest().name == name).unwrap()
    }

    #[test]
    fn phases_are_listed_without_running_the_work() {
        let phases_of = |name: &str, options: &[(&str, &str)]| {
            phases(planned(named(name), options).job.as_ref())
        };
        let list = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(
            phases_of("fs_mark", &[("files", "10"), ("iterations", "2")]),
            list(&["setup", "iteration 1", "unlink 1", "iteration 2", "unlink 2"])
        );
        assert_eq!(phases_of("ior", &[]), list(&["write", "read", "remove"]));
        assert_eq!(phases_of("age", &[("until", "operations=100")]), None);
    }

    #[test]
    fn metrics_of_missing_phases_are_unknown() {
        let job = planned(named("fs_mark"), &[("files", "10")]);
        let metrics = ForeseenMetrics::new(&job);
        for known in [
            "create/files_per_second",
            "elapsed_seconds",
            "phase iteration 1/elapsed_seconds",
            "phase iteration 1/layout_score_percent",
            "phase iteration 1/fsync_call_latency_p99_nanoseconds",
            "device_flushes",
        ] {
            assert!(metrics.has(known), "{known}");
        }
        for unknown in [
            "phase nonsense/elapsed_seconds",
            "phase iteration 1/nonsense",
            "phase iteration 1/layout_nonsense",
            "creat/files_per_second",
            "/layout_score_percent",
            "layout_nonsense",
            "nonsense_call_latency_p99_nanoseconds",
            "fsync_call_latency_p98_nanoseconds",
            "",
        ] {
            assert!(!metrics.has(unknown), "{unknown}");
        }
    }

    #[test]
    fn names_near_an_unknown_metric_come_first() {
        let jobs = [planned(named("fs_mark"), &[("files", "10")])];
        let metrics = [ForeseenMetrics::new(&jobs[0])];
        for (unknown, meant) in [
            ("creat/files", "create/files_per_second"),
            ("phase iteraton 1/elapsed_seconds", "phase iteration 1/elapsed_seconds"),
            ("layout_scor_percent", "layout_score_percent"),
        ] {
            let hint = metric_hint(unknown, &metrics);
            assert!(hint.starts_with(&format!("did you mean `{meant}`?")), "{unknown}: {hint}");
        }
        let hint = metric_hint("moon", &metrics);
        assert!(hint.starts_with("metrics of its jobs: create/files_per_second"), "{hint}");
        let hint = metric_hint("phase nonsense/elapsed_seconds", &metrics);
        assert!(hint.starts_with("metrics of its jobs: phase "), "{hint}");
    }
}
