//! Totals of each phase, those that never ended included.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{PhaseTotals, TaskTotals, Trial};

use crate::kind::{MIB, per_second, share};

/// What a phase came to.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSummary {
    /// The phase, counted from 0.
    pub phase: u32,
    /// Its name; empty when it never ended, since the name comes with the end.
    pub name: String,
    /// False when the trial ended inside it: then everything is the sum of its finished tasks.
    pub finished: bool,
    /// Tasks done.
    pub tasks: u32,
    /// Files worked on.
    pub files: u64,
    /// Bytes really moved.
    pub bytes: u64,
    /// Duration in seconds, waiting and syncing included.
    pub seconds: f64,
    /// Bytes moved in MiB per second over the whole phase; `None` without time or bytes.
    pub mib_per_second: Option<f64>,
    /// Files per second over the whole phase; `None` without time or files.
    pub files_per_second: Option<f64>,
    /// CPU seconds of all workers in user mode.
    pub user_seconds: f64,
    /// CPU seconds of all workers in the kernel.
    pub system_seconds: f64,
    /// CPU in percent of the duration; above 100 when several workers compute at once.
    pub cpu_percent: Option<f64>,
}

impl PhaseSummary {
    /// Its name, or its number and that it never ended.
    pub fn label(&self) -> String {
        match (self.finished, self.name.is_empty()) {
            (true, false) => self.name.clone(),
            (true, true) => format!("phase {}", self.phase),
            (false, _) => format!("phase {} (unfinished)", self.phase),
        }
    }

    fn of(totals: &PhaseTotals, finished: bool) -> Self {
        let cpu_ns = totals.cpu.user_ns as f64 + totals.cpu.system_ns as f64;
        Self {
            phase: totals.phase,
            name: totals.name.clone(),
            finished,
            tasks: totals.tasks,
            files: totals.files,
            bytes: totals.bytes,
            seconds: totals.wall_ns as f64 / 1e9,
            mib_per_second: per_second(totals.bytes as f64 / MIB, totals.wall_ns as f64),
            files_per_second: per_second(totals.files as f64, totals.wall_ns as f64),
            user_seconds: totals.cpu.user_ns as f64 / 1e9,
            system_seconds: totals.cpu.system_ns as f64 / 1e9,
            cpu_percent: share(cpu_ns, totals.wall_ns as f64),
        }
    }
}

/// The phases in the order of their numbers.
pub(crate) fn of_trial(trial: &Trial) -> Vec<PhaseSummary> {
    let mut all: Vec<PhaseSummary> =
        trial.phases.iter().map(|totals| PhaseSummary::of(totals, true)).collect();
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
    all.extend(unfinished.values().map(|totals| PhaseSummary::of(totals, false)));
    all.sort_by_key(|summary| summary.phase);
    all
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
