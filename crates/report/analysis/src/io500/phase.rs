//! Phase of a rehearsal, assembled from its tasks.

use treering_model::workloads::io500::{FindCounts, Io500Benchmark, Io500Phase, StepKind};
use treering_model::workloads::ior::TransferCounts;
use treering_model::workloads::mdtest::ItemCounts;
use treering_model::{PhaseTotals, TaskTotals, Trial};

use super::GIB;

/// A task with its counts.
#[derive(Clone, Copy)]
pub(super) struct CountedTask<'t> {
    pub(super) task: &'t TaskTotals,
    /// Number of items or transfers.
    pub(super) items: u64,
    /// Number of items that are missing or have wrong data.
    pub(super) faults: u64,
    pub(super) was_ended_by_time: bool,
    is_wear_out: bool,
}

impl<'t> CountedTask<'t> {
    fn new(step: &Io500Phase, task: &'t TaskTotals) -> Self {
        let counters = &task.counters;
        let (items, faults, is_wear_out, was_ended_by_time) = if step.moves_data() {
            let counts = counters.read::<TransferCounts>().unwrap_or_default();
            (counts.transfers, counts.wrong, counts.is_wear_out, counts.ended_by_time)
        } else if step.kind == StepKind::Find {
            (counters.read::<FindCounts>().unwrap_or_default().files, 0, false, false)
        } else {
            let counts = counters.read::<ItemCounts>().unwrap_or_default();
            let faults = counts.wrong + counts.missed;
            (counts.done, faults, counts.is_wear_out, counts.ended_by_time)
        };
        Self { task, items, faults, was_ended_by_time, is_wear_out }
    }

    /// Duration of the task in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.task.wall_ns.max(1) as f64 / 1e9
    }
}

/// A phase of the rehearsal with its tasks.
pub(super) struct RehearsedPhase<'t> {
    pub(super) step: &'static Io500Phase,
    pub(super) totals: Option<&'t PhaseTotals>,
    pub(super) tasks: Vec<CountedTask<'t>>,
    began_ns: u64,
    ended_ns: u64,
}

impl<'t> RehearsedPhase<'t> {
    /// Collects the tasks of a step; `None` if there are none.
    pub(super) fn from_trial(trial: &'t Trial, step: &'static Io500Phase) -> Option<Self> {
        let tasks = trial.tasks.iter().filter(|task| task.kind == step.name);
        let tasks: Vec<CountedTask<'t>> = tasks.map(|task| CountedTask::new(step, task)).collect();
        let began_ns = tasks.iter().map(|counted| counted.task.began_ns).min()?;
        let ended_ns =
            tasks.iter().map(|counted| counted.task.began_ns + counted.task.wall_ns).max()?;
        let totals = trial.phases.iter().find(|phase| phase.name == step.name);
        let ended_ns = ended_ns.max(began_ns + 1);
        let phase = Self { step, totals, tasks, began_ns, ended_ns };
        (phase.items() > 0).then_some(phase)
    }

    /// Items or transfers of all workers.
    pub(super) fn items(&self) -> u64 {
        self.tasks.iter().map(|task| task.items).sum()
    }

    /// Time from the first start to the last end, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        (self.ended_ns - self.began_ns) as f64 / 1e9
    }

    /// Rate in items a second.
    pub(super) fn per_second(&self) -> f64 {
        self.items() as f64 / self.seconds()
    }

    /// Converts items a second to the unit of IO500: GiB/s, or thousands a second.
    pub(super) fn in_its_unit(&self, per_second: f64) -> f64 {
        match self.step.test().and_then(Io500Benchmark::transfer_bytes) {
            Some(bytes) => per_second * f64::from(bytes) / GIB,
            None => per_second / 1000.0,
        }
    }

    /// First task of each worker, without the tasks that complete the missing items after the time
    /// limit.
    pub(super) fn first(&self) -> impl Iterator<Item = &CountedTask<'t>> {
        self.tasks.iter().filter(|task| !task.is_wear_out)
    }
}
