//! Summary of a trial's tasks by kind: duration, rates and CPU cost.

use std::collections::BTreeMap;

use treering_model::{TaskTotals, Trial};

use crate::trend::counted_bytes;
use crate::{KnownTotals, MedianRange, Trend};

/// Bytes in a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;

/// Summary of all tasks of one kind and state in a trial.
///
/// Tasks are distinguished by their state only where it changes the work: a compiled subject has
/// several times the files and bytes of a plain one. When a kind occurs in phases with different
/// names, each name has its own row, since phases differ in their conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct KindSummary {
    /// Kind of the tasks: `create`, `read`, …
    pub kind: String,
    /// True when the trees held build products as the tasks began.
    pub compiled: bool,
    /// Name of the phase; set only when the kind occurs in phases with different names.
    pub phase: Option<String>,
    /// Number of tasks.
    pub tasks: usize,
    /// Duration of a task in seconds, its sync included.
    pub seconds: MedianRange,
    /// Listed bytes (moved bytes where none are listed) in MiB per second, over the tasks that
    /// have bytes and a duration; `None` when none has.
    pub mib_per_second: Option<MedianRange>,
    /// Total bytes of all tasks divided by their total time, in MiB per second; not a mean of
    /// rates.
    pub total_mib_per_second: Option<f64>,
    /// Files per second, over the tasks that have files and a duration; `None` when none has.
    pub files_per_second: Option<MedianRange>,
    /// Total files of all tasks divided by their total time.
    pub total_files_per_second: Option<f64>,
    /// Median CPU seconds of a task in user mode; `None` where a log omits them.
    pub user_seconds: Option<f64>,
    /// Median CPU seconds of a task in the kernel; `None` where a log omits them.
    pub system_seconds: Option<f64>,
    /// CPU time of all tasks in percent of their elapsed time.
    pub cpu_percent: Option<f64>,
    /// Time in the final syncs in percent of the time of all tasks.
    pub sync_percent: Option<f64>,
    /// CPU time in the final syncs in percent of the CPU time of all tasks.
    pub sync_cpu_percent: Option<f64>,
    /// Change of the cost over the run; `None` when there are too few tasks for a trend.
    pub trend: Option<Trend>,
}

impl KindSummary {
    /// Row label in tables: `read`, `read compiled`, `create (initial)`.
    pub fn label(&self) -> String {
        let (kind, phase) = (self.kind.clone(), self.phase.clone());
        KindKey { kind, compiled: self.compiled, phase }.label()
    }

    fn new(key: KindKey, tasks: &[&TaskTotals], known: KnownTotals) -> Option<Self> {
        let wall_ns = sum(tasks, |task| task.wall_ns);
        let cpu_ns = sum(tasks, |task| task.cpu.user_ns) + sum(tasks, |task| task.cpu.system_ns);
        // A value that a log omits for every task is unknown.
        let cpu_ns = known.amount(cpu_ns);
        let sync_ns = known.amount(sum(tasks, |task| task.sync_ns));
        let sync_cpu_ns =
            sum(tasks, |task| task.sync_cpu.user_ns) + sum(tasks, |task| task.sync_cpu.system_ns);
        let rate = |amount: fn(&TaskTotals) -> f64| {
            let rates = tasks.iter().filter_map(|task| per_second(amount(task), walled(task)));
            let total: f64 = tasks.iter().map(|task| amount(task)).sum();
            (MedianRange::from_values(rates), per_second(total, wall_ns))
        };
        let (mib_per_second, total_mib_per_second) = rate(|task| counted_bytes(task) as f64 / MIB);
        let (files_per_second, total_files_per_second) = rate(|task| task.files as f64);
        let middle = |ns: fn(&TaskTotals) -> u64| {
            cpu_ns?;
            Some(MedianRange::from_values(tasks.iter().map(|task| ns(task) as f64 / 1e9))?.median)
        };
        Some(Self {
            kind: key.kind,
            compiled: key.compiled,
            phase: key.phase,
            tasks: tasks.len(),
            seconds: MedianRange::from_values(tasks.iter().map(|task| task.seconds()))?,
            mib_per_second,
            total_mib_per_second,
            files_per_second,
            total_files_per_second,
            user_seconds: middle(|task| task.cpu.user_ns),
            system_seconds: middle(|task| task.cpu.system_ns),
            cpu_percent: cpu_ns.and_then(|cpu_ns| cpu_share(cpu_ns, wall_ns)),
            sync_percent: sync_ns.and_then(|sync_ns| share(sync_ns, wall_ns)),
            sync_cpu_percent: sync_ns.and(cpu_ns).and_then(|cpu_ns| share(sync_cpu_ns, cpu_ns)),
            trend: Trend::fit(tasks),
        })
    }
}

/// Reports whether a state's name contains the word `compiled`: `compiled`, `patched-compiled`.
pub fn is_compiled(state: &str) -> bool {
    state.split(|c: char| !c.is_alphanumeric()).any(|word| word == "compiled")
}

/// Grouping key of a summary row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KindKey {
    kind: String,
    compiled: bool,
    phase: Option<String>,
}

impl KindKey {
    /// Row label in tables, from kind, state and phase.
    pub(crate) fn label(&self) -> String {
        let compiled = if self.compiled { " compiled" } else { "" };
        match &self.phase {
            Some(phase) => format!("{}{compiled} ({phase})", self.kind),
            None => format!("{}{compiled}", self.kind),
        }
    }
}

/// Kind summaries of a trial, in the order in which the kinds first occur.
pub(crate) fn of_trial(trial: &Trial) -> Vec<KindSummary> {
    let known = KnownTotals::for_trial(trial);
    let of_group = |(key, tasks): (KindKey, Vec<(usize, &TaskTotals)>)| {
        let tasks: Vec<&TaskTotals> = tasks.into_iter().map(|(_, task)| task).collect();
        KindSummary::new(key, &tasks, known)
    };
    grouped(trial).into_iter().filter_map(of_group).collect()
}

/// Groups the tasks of a trial by kind, each with its index in the trial.
pub(crate) fn grouped(trial: &Trial) -> Vec<(KindKey, Vec<(usize, &TaskTotals)>)> {
    let names: BTreeMap<u32, &str> =
        trial.phases.iter().map(|totals| (totals.phase, totals.name.as_str())).collect();
    let phase_name = |task: &TaskTotals| {
        let name = names.get(&task.phase).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("phase {}", task.phase), |&name| name.to_owned())
    };
    let mut groups: Vec<(KindKey, Vec<(usize, &TaskTotals)>)> = Vec::new();
    for (place, task) in trial.tasks.iter().enumerate() {
        let key = KindKey {
            kind: task.kind.clone(),
            compiled: is_compiled(&task.state),
            phase: Some(phase_name(task)),
        };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, tasks)) => tasks.push((place, task)),
            None => groups.push((key, vec![(place, task)])),
        }
    }
    let keys: Vec<KindKey> = groups.iter().map(|(key, _)| key.clone()).collect();
    for (key, _) in &mut groups {
        let same = |other: &&KindKey| other.kind == key.kind && other.compiled == key.compiled;
        if keys.iter().filter(same).count() == 1 {
            key.phase = None;
        }
    }
    groups
}

fn walled(task: &TaskTotals) -> f64 {
    task.wall_ns as f64
}

fn sum(tasks: &[&TaskTotals], of: fn(&TaskTotals) -> u64) -> f64 {
    tasks.iter().map(|task| of(task) as f64).sum()
}

/// Rate per second; `None` when the amount or the time is zero.
pub(crate) fn per_second(amount: f64, wall_ns: f64) -> Option<f64> {
    (amount > 0.0 && wall_ns > 0.0).then(|| amount / (wall_ns / 1e9))
}

/// `part` in percent of `whole`; `None` when `whole` is zero.
pub(crate) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// CPU in percent of the elapsed time. Kernels that account by clock ticks know nothing of less
/// than one tick, which is 10 ms at 100 Hz: shorter times have no share.
pub(crate) fn cpu_share(cpu_ns: f64, wall_ns: f64) -> Option<f64> {
    (wall_ns >= 10e6).then(|| 100.0 * cpu_ns / wall_ns)
}
