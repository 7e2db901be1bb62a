//! Totals of each phase, including unfinished phases.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{PhaseTotals, TaskTotals, Trial};

use crate::KnownTotals;
use crate::kind::{MIB, cpu_share, per_second};

/// Figures of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSummary {
    /// Index of the phase, counted from 0.
    pub phase: u32,
    /// Name of the phase; empty for an unfinished phase, since the name is recorded at its end.
    pub name: String,
    /// False when the trial ended during the phase: all totals are then sums over the finished
    /// tasks.
    pub finished: bool,
    /// Number of tasks completed; `None` where an imported log omits it.
    pub tasks: Option<u32>,
    /// Number of files worked on; `None` where none were counted.
    pub files: Option<u64>,
    /// Bytes actually transferred; `None` where an imported log omits them.
    pub bytes: Option<u64>,
    /// Duration in seconds, waiting and syncing included; `None` where an imported log omits it.
    pub seconds: Option<f64>,
    /// Transfer rate over the whole phase in MiB per second; `None` without time or bytes.
    pub mib_per_second: Option<f64>,
    /// Files per second over the whole phase; `None` without time or files.
    pub files_per_second: Option<f64>,
    /// CPU seconds of all workers in user mode; `None` where an imported log omits them.
    pub user_seconds: Option<f64>,
    /// CPU seconds of all workers in the kernel; `None` where an imported log omits them.
    pub system_seconds: Option<f64>,
    /// CPU time in percent of the duration; above 100 when several workers run at once.
    pub cpu_percent: Option<f64>,
}

impl PhaseSummary {
    /// Name of the phase, or its index with a note that it never ended.
    pub fn label(&self) -> String {
        match (self.finished, self.name.is_empty()) {
            (true, false) => self.name.clone(),
            (true, true) => format!("phase {}", self.phase),
            (false, _) => format!("phase {} (unfinished)", self.phase),
        }
    }

    fn new(totals: &PhaseTotals, finished: bool, known: KnownTotals) -> Self {
        let cpu = known.cpu(totals.cpu);
        let all_cpu_ns = cpu.map(|cpu| cpu.user_ns as f64 + cpu.system_ns as f64);
        Self {
            phase: totals.phase,
            name: totals.name.clone(),
            finished,
            tasks: known.amount(totals.tasks),
            files: KnownTotals::files(totals.files),
            bytes: known.amount(totals.bytes),
            seconds: known.amount(totals.wall_ns).map(|ns| ns as f64 / 1e9),
            mib_per_second: per_second(totals.bytes as f64 / MIB, totals.wall_ns as f64),
            files_per_second: per_second(totals.files as f64, totals.wall_ns as f64),
            user_seconds: cpu.map(|cpu| cpu.user_ns as f64 / 1e9),
            system_seconds: cpu.map(|cpu| cpu.system_ns as f64 / 1e9),
            cpu_percent: all_cpu_ns.and_then(|ns| cpu_share(ns, totals.wall_ns as f64)),
        }
    }
}

/// Phase summaries in phase order.
pub(crate) fn of_trial(trial: &Trial) -> Vec<PhaseSummary> {
    let known = KnownTotals::for_trial(trial);
    let mut summaries: Vec<PhaseSummary> =
        trial.phases.iter().map(|totals| PhaseSummary::new(totals, true, known)).collect();
    let finished: BTreeSet<u32> = trial.phases.iter().map(|totals| totals.phase).collect();
    let mut unfinished: BTreeMap<u32, PhaseTotals> = BTreeMap::new();
    for task in trial.tasks.iter().filter(|task| !finished.contains(&task.phase)) {
        let totals = unfinished.entry(task.phase).or_insert_with(|| PhaseTotals {
            phase: task.phase,
            began_ns: task.began_ns,
            ..PhaseTotals::default()
        });
        add_task(totals, task);
    }
    summaries.extend(unfinished.values().map(|totals| PhaseSummary::new(totals, false, known)));
    summaries.sort_by_key(|summary| summary.phase);
    summaries
}

fn add_task(totals: &mut PhaseTotals, task: &TaskTotals) {
    totals.tasks = totals.tasks.saturating_add(1);
    totals.files = totals.files.saturating_add(task.files);
    totals.bytes = totals.bytes.saturating_add(task.bytes);
    let end_ns = totals.began_ns.saturating_add(totals.wall_ns);
    let end_ns = end_ns.max(task.began_ns.saturating_add(task.wall_ns));
    totals.began_ns = totals.began_ns.min(task.began_ns);
    totals.wall_ns = end_ns - totals.began_ns;
    totals.cpu.user_ns = totals.cpu.user_ns.saturating_add(task.cpu.user_ns);
    totals.cpu.system_ns = totals.cpu.system_ns.saturating_add(task.cpu.system_ns);
}
