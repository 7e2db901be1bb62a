//! Observers: read-only views of the machine and the target during a trial.
//!
//! One folder per observer, and one line in [`ALL`].

pub mod block_trace;
mod call_latencies;
pub mod census;
mod cgroup;
mod conditions;
mod disk_probe;
mod environment;
mod function_latencies;
pub mod hot;
mod hot_error;
mod hot_requests;
mod kernel_counters;
pub mod layout;
mod noise;
mod places;
mod played_disk;
mod scan;
pub mod tree;

pub use call_latencies::deciding_latency;
pub use conditions::HostWatch;
pub use disk_probe::probe_disk;
pub use function_latencies::FunctionName;
pub use noise::{ProbeResult, detectable_difference, probe_noise};
pub use played_disk::{played_below, played_disk_at};

use std::path::Path;
use std::time::Duration;

use treering_model::{Artifact, Caution, Fact, Metric, Op, PhaseTotals, TaskTotals};

/// Scope of an observation.
#[derive(Clone, Debug)]
pub struct ObserverContext<'a> {
    /// Directory under test.
    pub target: &'a Path,
    /// Optional observations.
    pub options: ObserverOptions,
}

/// Optional observations, which take time between phases or load the machine during them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObserverOptions {
    /// Layout surveys.
    pub layout: Option<layout::LayoutSchedule>,
    /// Half-life of the temperature for the detection of hot data, which the engine performs.
    pub heat_half_life: Option<Duration>,
    /// Request tracing of the devices.
    pub trace: bool,
    /// Functions of the kernel whose latencies are measured.
    pub functions: Vec<FunctionName>,
    /// Call that the job makes often and waits for, such as fsync: its p99 is primary.
    pub deciding_sync: Option<Op>,
}

/// Terms on which deferred work is watched after the last phase.
pub struct SettleTerms<'a> {
    /// Longest time to watch.
    pub limit: Duration,
    /// True if the filesystem was created for the trial, so that unwritten data counts as the
    /// trial's deferred work: it is synced at the beginning of the watch, as an unmount would do.
    pub syncs: bool,
    /// Reports whether the watch must end at once.
    pub stop: &'a dyn Fn() -> bool,
}

/// Findings of an observer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Facts about the environment.
    pub facts: Vec<Fact>,
    /// Cautions about the trial.
    pub cautions: Vec<Caution>,
    /// Metrics, comparable like those of the workload.
    pub metrics: Vec<Metric>,
    /// Artifacts beyond single numbers.
    pub artifacts: Vec<Artifact>,
}

impl Findings {
    /// Merges the findings of two observers.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.facts.extend(other.facts);
        self.cautions.extend(other.cautions);
        self.metrics.extend(other.metrics);
        self.artifacts.extend(other.artifacts);
        self
    }
}

/// Observer of a trial: looks before it, and optionally watches it. Missing information is omitted
/// and never an error.
pub trait Observer: Sync {
    /// Name of the observer.
    fn name(&self) -> &'static str;

    /// Findings before the trial.
    fn look(&self, scene: &ObserverContext<'_>) -> Findings;

    /// Starts watching; `None` if there is nothing to watch.
    fn watch(&self, _scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        None
    }
}

/// Active observer of a running trial.
pub trait TrialWatch {
    /// Called before the first call of a phase. The phase clock is already running.
    fn phase_begins(&mut self, _phase: u32, _name: &str) {}

    /// Called when all tasks of a group have ended, once per task with its totals. The workload
    /// waits while the phase clock runs on.
    fn task_ended(&mut self, _totals: &TaskTotals) -> Findings {
        Findings::default()
    }

    /// Called at the end of a phase with its totals; returns the findings. The workload waits, and
    /// the target is as the phase left it.
    fn phase_ended(&mut self, _totals: &PhaseTotals) -> Findings {
        Findings::default()
    }

    /// Called after the last phase of a completed trial, outside of all measured time; may wait for
    /// deferred work.
    fn settle(&mut self, _terms: &SettleTerms<'_>) -> Findings {
        Findings::default()
    }

    /// Called at the end of the trial; returns the findings.
    fn end(self: Box<Self>) -> Findings;
}

/// All observers. They are notified of the beginning of a phase in reverse order, so that the first
/// ones read closest to the phase.
pub const ALL: &[&dyn Observer] = &[
    &environment::EnvironmentObserver,
    &kernel_counters::CounterObserver,
    &cgroup::CgroupObserver,
    &conditions::ConditionsObserver,
    &layout::LayoutObserver,
    &block_trace::BlockTrace,
    &played_disk::PlayedDisks,
    &call_latencies::CallLatencies,
    &function_latencies::FunctionLatencies,
];

/// Findings of all observers before the trial.
pub fn look(scene: &ObserverContext<'_>) -> Findings {
    ALL.iter().map(|observer| observer.look(scene)).fold(Findings::default(), Findings::join)
}

/// Facts about a block device: position on its disk, queue settings, alignment.
pub fn look_at_device(node: &Path) -> Findings {
    environment::look_at_device(node)
}

/// Active observers of a trial.
pub struct ActiveObservers(Vec<Box<dyn TrialWatch>>);

/// Starts all observers.
pub fn watch(scene: &ObserverContext<'_>) -> ActiveObservers {
    ActiveObservers::new(ALL.iter().filter_map(|observer| observer.watch(scene)).collect())
}

impl ActiveObservers {
    /// Combines these observers.
    pub fn new(watches: Vec<Box<dyn TrialWatch>>) -> Self {
        Self(watches)
    }

    /// Notifies all observers of the start of a phase.
    pub fn phase_begins(&mut self, phase: u32, name: &str) {
        self.0.iter_mut().rev().for_each(|watch| watch.phase_begins(phase, name));
    }

    /// Notifies all observers of the end of a task; returns their findings.
    pub fn task_ended(&mut self, totals: &TaskTotals) -> Findings {
        let seen = self.0.iter_mut().map(|watch| watch.task_ended(totals));
        seen.fold(Findings::default(), Findings::join)
    }

    /// Notifies all observers of the end of a phase; returns their findings.
    pub fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let seen = self.0.iter_mut().map(|watch| watch.phase_ended(totals));
        seen.fold(Findings::default(), Findings::join)
    }

    /// Lets all observers watch deferred work; returns their findings.
    pub fn settle(&mut self, terms: &SettleTerms<'_>) -> Findings {
        let seen = self.0.iter_mut().map(|watch| watch.settle(terms));
        seen.fold(Findings::default(), Findings::join)
    }

    /// Ends the observation; returns all findings.
    pub fn end(self) -> Findings {
        self.0.into_iter().map(TrialWatch::end).fold(Findings::default(), Findings::join)
    }
}

/// Release of the running kernel; empty without `/proc`.
pub fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{ALL, ObserverContext, ObserverOptions, look, watch};
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn facts_have_one_value_each() {
        let seen = look(&ObserverContext {
            target: Path::new("/proc"),
            options: ObserverOptions::default(),
        })
        .facts;
        let names: HashSet<&str> = seen.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names.len(), seen.len());
        assert!(names.contains("kernel.release"), "{names:?}");
        assert_eq!(ALL[0].name(), "environment");
    }

    #[test]
    fn a_missing_target_still_has_machine_facts() {
        let seen = look(&ObserverContext {
            target: Path::new("/nowhere/at/all"),
            options: ObserverOptions::default(),
        })
        .facts;
        assert!(seen.iter().any(|fact| fact.name == "memory.bytes"));
    }

    #[test]
    fn activity_during_a_watch_is_reported() {
        let watching =
            watch(&ObserverContext { target: Path::new("/"), options: ObserverOptions::default() });
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = watching.end();
        assert!(seen.facts.iter().any(|fact| fact.name == "conditions.load_average"), "{seen:?}");
    }
}
