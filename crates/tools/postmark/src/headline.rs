//! Headline metrics: the rates of the original's report, computed from times in nanoseconds.

use treering_model::metrics::{cpu, rates, times};
use treering_model::{Metric, Scope, TaskTotals};

use super::report::{CREATE, DELETE, TRANSACTION, within_transactions};
use super::worker::TaskCounts;

/// Totals and counts of the measured tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadlineSums {
    tasks: Vec<(TaskTotals, TaskCounts)>,
}

impl HeadlineSums {
    /// Returns the metrics that a run has, with made-up values.
    pub(super) fn foreseen() -> Vec<Metric> {
        let counts = TaskCounts {
            transactions: 1,
            created: 1,
            read: 1,
            appended: 1,
            deleted: 1,
            read_bytes: 1,
            written_bytes: 1,
        };
        let task = |kind: &str| TaskTotals { kind: kind.to_owned(), ..TaskTotals::default() };
        let tasks = [CREATE, TRANSACTION, DELETE].map(|kind| (task(kind), counts)).to_vec();
        Self { tasks }.metrics()
    }

    /// Adds the totals of a finished task.
    pub(super) fn add(&mut self, task: &TaskTotals) {
        let counts = task.counters.read().unwrap_or_default();
        let kept = TaskTotals {
            kind: task.kind.clone(),
            began_ns: task.began_ns,
            wall_ns: task.wall_ns,
            cpu: task.cpu,
            ..TaskTotals::default()
        };
        self.tasks.push((kept, counts));
    }

    /// Computes the metrics of the tasks so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        self.tasks
            .iter()
            .flat_map(|(task, counts)| of_kind(task, counts))
            .chain(self.totals())
            .collect()
    }

    /// Computes the metrics of the whole run.
    fn totals(&self) -> Vec<Metric> {
        let ends = self.tasks.iter().map(|(task, _)| task.began_ns.saturating_add(task.wall_ns));
        let began = self.tasks.iter().map(|(task, _)| task.began_ns).min();
        let Some((began, ended)) = began.zip(ends.max()) else { return Vec::new() };
        let elapsed = seconds(ended.saturating_sub(began).max(1));
        let cpu_ns: u64 = self.tasks.iter().map(|(task, _)| task.cpu.total_ns()).sum();
        let rate = |direction: &str, bytes: fn(&TaskCounts) -> u64| {
            let bytes: u64 = self.tasks.iter().map(|(_, counts)| bytes(counts)).sum();
            let mib = bytes as f64 / 1_048_576.0;
            rates::DIRECTION_MIB_PER_SECOND.of_member(&[direction], Scope::Trial, mib / elapsed)
        };
        vec![
            times::ELAPSED_SECONDS.of(Scope::Trial, elapsed),
            rate("read", |counts| counts.read_bytes),
            rate("write", |counts| counts.written_bytes),
            cpu::CPU_SECONDS.of(Scope::Trial, seconds(cpu_ns)),
        ]
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Computes the metrics of one task.
fn of_kind(task: &TaskTotals, counts: &TaskCounts) -> Vec<Metric> {
    let taken = seconds(task.wall_ns.max(1));
    let scope = || Scope::Kind(task.kind.clone());
    let files = |scope: Scope, count: u32| {
        (count > 0).then(|| rates::FILES_PER_SECOND.of(scope, f64::from(count) / taken))
    };
    let mut metrics = Vec::new();
    match task.kind.as_str() {
        CREATE => metrics.extend(files(scope(), counts.created)),
        DELETE => metrics.extend(files(scope(), counts.deleted)),
        _ => {
            let rate = f64::from(counts.transactions) / taken;
            metrics.push(rates::OPERATIONS_PER_SECOND.of(scope(), rate).primary());
            let halves = [
                ("create", counts.created),
                ("read", counts.read),
                ("append", counts.appended),
                ("delete", counts.deleted),
            ];
            let rates = halves.map(|(name, count)| files(within_transactions(name), count));
            metrics.extend(rates.into_iter().flatten());
        }
    }
    metrics.push(times::SECONDS.of(scope(), taken));
    metrics
}
