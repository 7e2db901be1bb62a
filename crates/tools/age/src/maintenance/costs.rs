//! Costs of maintenance: time, CPU time and bytes, and the time to read its files before and after.

use treering_model::metrics::age::{
    MAINTENANCE_BYTES, MAINTENANCE_CPU_SECONDS, MAINTENANCE_SECONDS, PAID_BACK_SECONDS,
    READ_AFTER_SECONDS, READ_BEFORE_SECONDS,
};
use treering_model::{Metric, Op, Scope, TaskTotals};

use super::plan::{MaintenanceKind, MaintenancePart, MaintenancePlan};

/// Sums over the runs of one kind of maintenance.
#[derive(Clone, Debug, Default)]
struct MaintenanceSums {
    runs: u64,
    wall_ns: u64,
    cpu_ns: u64,
    bytes: u64,
    /// Time to read the files before the current run, once it is known, and time of its work.
    before_ns: Option<u64>,
    work_ns: u64,
    /// Sums over runs whose files were read before and after.
    read: ReadingSums,
}

/// Sums over runs whose files were read before and after.
#[derive(Clone, Copy, Debug, Default)]
struct ReadingSums {
    runs: u64,
    before_ns: u64,
    after_ns: u64,
    work_ns: u64,
}

/// Costs of the maintenance of a run.
#[derive(Debug)]
pub(crate) struct MaintenanceCosts {
    sums: Vec<(MaintenancePlan, MaintenanceSums)>,
}

impl MaintenanceCosts {
    pub(crate) fn new(plans: &[MaintenancePlan]) -> Self {
        let sums = plans.iter().map(|plan| (plan.clone(), MaintenanceSums::default()));
        Self { sums: sums.collect() }
    }

    /// Adds the totals of a task of the maintenance with this index.
    pub(crate) fn task_ended(&mut self, index: usize, part: MaintenancePart, totals: &TaskTotals) {
        let Some((plan, sums)) = self.sums.get_mut(index) else { return };
        match part {
            MaintenancePart::ReadBefore => sums.before_ns = Some(totals.wall_ns),
            MaintenancePart::Work => {
                let op = counted_op(plan.kind);
                let bytes = totals.ops.iter().filter(|of| Some(of.op) == op).map(|of| of.bytes);
                sums.runs += 1;
                sums.wall_ns += totals.wall_ns;
                sums.cpu_ns += totals.cpu.total_ns();
                sums.bytes += bytes.sum::<u64>();
                sums.work_ns = totals.wall_ns;
            }
            MaintenancePart::ReadAfter => {
                let Some(before_ns) = sums.before_ns.take() else { return };
                sums.read.runs += 1;
                sums.read.before_ns += before_ns;
                sums.read.after_ns += totals.wall_ns;
                sums.read.work_ns += sums.work_ns;
            }
        }
    }

    /// Metrics of each kind of maintenance: means over its runs.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.sums.iter().flat_map(|(plan, sums)| of_kind(plan, sums)).collect()
    }
}

/// Names of the metrics that the maintenance of a run can have, with placeholder values.
pub(crate) fn maintenance_metrics(plans: &[MaintenancePlan]) -> Vec<Metric> {
    let read = ReadingSums { runs: 1, before_ns: 2, after_ns: 1, work_ns: 1 };
    let of_one = |plan: &MaintenancePlan| {
        let read = if plan.reads { read } else { ReadingSums::default() };
        of_kind(plan, &MaintenanceSums { runs: 1, read, ..MaintenanceSums::default() })
    };
    plans.iter().flat_map(of_one).collect()
}

/// Call whose bytes are the amount of work of this kind of maintenance.
const fn counted_op(kind: MaintenanceKind) -> Option<Op> {
    match kind {
        MaintenanceKind::Read => Some(Op::Read),
        MaintenanceKind::Dedupe => Some(Op::Dedupe),
        // The amount moved or discarded is known at the device only.
        MaintenanceKind::Defrag
        | MaintenanceKind::Trim
        | MaintenanceKind::Balance
        | MaintenanceKind::Snapshot => None,
    }
}

fn of_kind(plan: &MaintenancePlan, sums: &MaintenanceSums) -> Vec<Metric> {
    if sums.runs == 0 {
        return Vec::new();
    }
    let scope = || Scope::Phase(plan.name.clone());
    let seconds = |ns: u64, runs: u64| ns as f64 / 1e9 / runs as f64;
    let mut metrics = vec![
        MAINTENANCE_SECONDS.of(scope(), seconds(sums.wall_ns, sums.runs)),
        MAINTENANCE_CPU_SECONDS.of(scope(), seconds(sums.cpu_ns, sums.runs)),
    ];
    if counted_op(plan.kind).is_some() {
        metrics.push(MAINTENANCE_BYTES.of(scope(), sums.bytes as f64 / sums.runs as f64));
    }
    let read = sums.read;
    if read.runs > 0 {
        metrics.push(READ_BEFORE_SECONDS.of(scope(), seconds(read.before_ns, read.runs)));
        metrics.push(READ_AFTER_SECONDS.of(scope(), seconds(read.after_ns, read.runs)));
        metrics.extend(paid_back(read).map(|value| PAID_BACK_SECONDS.of(scope(), value)));
    }
    metrics.into_iter().map(|metric| metric.of_tasks(sums.runs)).collect()
}

/// Amount of reading, in seconds at the old speed, after which the time saved equals the time of
/// the work; `None` if reading did not become faster.
fn paid_back(read: ReadingSums) -> Option<f64> {
    let saved_ns = read.before_ns.checked_sub(read.after_ns).filter(|saved| *saved > 0)?;
    let work_seconds = read.work_ns as f64 / 1e9 / read.runs as f64;
    Some(work_seconds * read.before_ns as f64 / saved_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::{MaintenanceCosts, MaintenancePart};
    use crate::maintenance::plan::{MaintenanceKind, MaintenancePlan};
    use treering_model::TaskTotals;

    /// Metrics by name after runs with these times: reading before, the work, reading after.
    fn metrics(runs: &[[u64; 3]]) -> Vec<(String, f64)> {
        let plan = MaintenancePlan {
            kind: MaintenanceKind::Defrag,
            every: None,
            files: None,
            share: 1.0,
            reads: true,
            keep: 0,
            usage: 100,
            name: "defrag".to_owned(),
        };
        let mut costs = MaintenanceCosts::new(std::slice::from_ref(&plan));
        for run in runs {
            for (part, seconds) in MaintenancePart::of(&plan).iter().zip(run) {
                let wall_ns = seconds * 1_000_000_000;
                costs.task_ended(0, *part, &TaskTotals { wall_ns, ..TaskTotals::default() });
            }
        }
        costs.metrics().iter().map(|metric| (metric.full_name(), metric.value)).collect()
    }

    #[test]
    fn work_is_paid_back_by_what_reading_saves() {
        let found = metrics(&[[10, 60, 5], [12, 60, 6]]);
        let value = |name: &str| found.iter().find(|(known, _)| known == name).map(|(_, v)| *v);
        assert_eq!(value("phase defrag/maintenance_seconds"), Some(60.0));
        assert_eq!(value("phase defrag/read_before_seconds"), Some(11.0));
        // Each second of reading saves half a second.
        assert_eq!(value("phase defrag/paid_back_seconds"), Some(120.0));
    }

    #[test]
    fn work_that_makes_reading_no_faster_is_never_paid_back() {
        let found = metrics(&[[10, 60, 10], [10, 60, 11]]);
        assert!(found.iter().all(|(name, _)| !name.ends_with("paid_back_seconds")), "{found:?}");
        assert!(metrics(&[]).is_empty());
    }
}
