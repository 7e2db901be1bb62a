//! Headline metrics: operations per second, and the figures that the original counts.

use treering_model::metrics::ffsb::{TRANSACTIONS_PER_SECOND, UNSYNCED_OPERATIONS_PER_SECOND};
use treering_model::metrics::{cpu, rates, times};
use treering_model::{Caution, CautionCode, Metric, OPERATIONS_FEW, Scope, TaskTotals};

use super::operation::Operation;
use super::tally::{OperationCounts, WorkerCounters};
use crate::language::{FileSizes, Profile};
use treering_kit::span::TimeSpan;

/// Sums of a run.
#[derive(Clone, Debug)]
pub(super) struct HeadlineSums {
    setup: TimeSpan,
    /// Counters of each group.
    groups: Vec<WorkerCounters>,
    work: TimeSpan,
    sync: TimeSpan,
    tasks: u64,
    cpu_ns: u64,
}

impl HeadlineSums {
    /// Empty results of a run with `groups` groups.
    pub(super) fn new(groups: usize) -> Self {
        Self {
            setup: TimeSpan::default(),
            groups: vec![WorkerCounters::default(); groups],
            work: TimeSpan::default(),
            sync: TimeSpan::default(),
            tasks: 0,
            cpu_ns: 0,
        }
    }

    /// Adds a task of the setup.
    pub(super) fn set_up(&mut self, task: &TaskTotals) {
        self.setup.add(task);
    }

    /// Adds a worker of a group.
    pub(super) fn worked(&mut self, group: usize, task: &TaskTotals, tally: &WorkerCounters) {
        self.work.add(task);
        self.tasks += 1;
        self.cpu_ns += task.cpu.total_ns();
        if let Some(sum) = self.groups.get_mut(group) {
            sum.add(tally);
        }
    }

    /// Records the sync after the work.
    pub(super) fn synced(&mut self, task: &TaskTotals) {
        self.sync.add(task);
        self.cpu_ns += task.cpu.total_ns();
    }

    /// Sum of all groups.
    fn totals(&self) -> WorkerCounters {
        self.groups.iter().fold(WorkerCounters::default(), |mut sum, group| {
            // Ranges differ between groups and are no headline.
            sum.add(group);
            sum
        })
    }

    /// Metrics of the run so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let total = self.totals();
        let of = || Scope::Trial;
        let mut metrics = vec![times::SETUP_SECONDS.of(of(), self.setup.seconds())];
        // The sync is part of the work, as in the original.
        let elapsed = self.work.until(self.work.ended_ns.max(self.sync.ended_ns));
        let running = self.work.seconds();
        if total.operations() == 0 || elapsed <= 0.0 || running <= 0.0 {
            return self.of_tasks(metrics);
        }
        let operations = total.operations() as f64;
        metrics.extend([
            rates::OPERATIONS_PER_SECOND.of(of(), operations / elapsed).primary(),
            rates::OPERATIONS.of(of(), operations),
            UNSYNCED_OPERATIONS_PER_SECOND.of(of(), operations / running),
            TRANSACTIONS_PER_SECOND.of(of(), total.transactions() as f64 / elapsed),
            times::ELAPSED_SECONDS.of(of(), elapsed),
            times::FINAL_SYNC_SECONDS.of(of(), self.sync.seconds()),
            cpu::CPU_SECONDS.of(of(), self.cpu_ns as f64 / 1e9),
        ]);
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0 / elapsed;
        let bytes = |is: fn(Operation) -> bool| -> u64 {
            let kinds = Operation::ALL.into_iter().filter(|&operation| is(operation));
            kinds.map(|operation| total.done[operation.place()].bytes).sum()
        };
        for (direction, bytes) in
            [("read", bytes(Operation::reads)), ("write", bytes(Operation::writes))]
        {
            if bytes > 0 {
                let rate = rates::DIRECTION_MIB_PER_SECOND;
                metrics.push(rate.of_member(&[direction], of(), mib(bytes)));
            }
        }
        for operation in Operation::ALL {
            let done = total.done[operation.place()];
            if done.operations == 0 {
                continue;
            }
            let kind = || Scope::Kind(operation.name().to_owned());
            let (operations, transactions) = (done.operations as f64, done.transactions as f64);
            metrics.extend([
                rates::OPERATIONS_PER_SECOND.of(kind(), operations / elapsed),
                TRANSACTIONS_PER_SECOND.of(kind(), transactions / elapsed),
            ]);
            if done.bytes > 0 {
                metrics.push(rates::MIB_PER_SECOND.of(kind(), mib(done.bytes)));
            }
        }
        self.of_tasks(metrics)
    }

    fn of_tasks(&self, metrics: Vec<Metric>) -> Vec<Metric> {
        metrics.into_iter().map(|metric| metric.of_tasks(self.tasks)).collect()
    }

    /// Metrics that a run of these operation kinds will have, with meaningless values; without
    /// kinds, those of a setup.
    pub(super) fn foreseen(kinds: impl Iterator<Item = Operation>) -> Vec<Metric> {
        let task = TaskTotals { wall_ns: 1, ..TaskTotals::default() };
        let mut tally = WorkerCounters::default();
        for kind in kinds {
            tally.done[kind.place()] = OperationCounts { operations: 1, transactions: 1, bytes: 1 };
        }
        let mut headline = Self::new(1);
        headline.set_up(&task);
        headline.worked(0, &task, &tally);
        headline.metrics()
    }

    /// Cautions, such as too few operations for the drawn mix to be representative.
    pub(super) fn cautions(&self, profile: &Profile) -> Vec<Caution> {
        let operations = self.totals().operations();
        // A run that has not begun has drawn nothing.
        if self.tasks == 0 || operations >= OPERATIONS_FEW {
            return Vec::new();
        }
        let mut message = format!(
            "only {operations} operations ran; below some {OPERATIONS_FEW} the random draw \
             decides the figures"
        );
        let heaviest =
            profile.filesystems.iter().find_map(|filesystem| heaviest(&filesystem.sizes));
        if let Some((bytes, of_files, of_bytes)) = heaviest {
            message += &format!(
                "; files of {bytes} bytes are {of_files:.1} % of all and hold {of_bytes:.0} % of \
                 the bytes"
            );
        }
        vec![Caution { code: CautionCode::TooFewOperations, message }]
    }
}

/// File size that accounts for most of the bytes although few files have it: the size, its
/// percentage of the files, and its percentage of the bytes.
fn heaviest(sizes: &FileSizes) -> Option<(u64, f64, f64)> {
    let FileSizes::Weights(weights) = sizes else { return None };
    let files: f64 = weights.iter().map(|&(_, weight)| weight as f64).sum();
    let bytes: f64 = weights.iter().map(|&(bytes, weight)| bytes as f64 * weight as f64).sum();
    let share = |&(size, weight): &(u64, u64)| {
        let of_files = weight as f64 / files * 100.0;
        (size, of_files, size as f64 * weight as f64 / bytes.max(1.0) * 100.0)
    };
    weights.iter().map(share).find(|&(_, of_files, of_bytes)| of_bytes > 50.0 && of_files < 10.0)
}

#[cfg(test)]
mod tests {
    use super::{HeadlineSums, heaviest};
    use crate::language::FileSizes;
    use crate::tally::{OperationCounts, WorkerCounters};
    use treering_model::TaskTotals;

    fn task(began_ms: u64, wall_ms: u64) -> TaskTotals {
        TaskTotals {
            began_ns: began_ms * 1_000_000,
            wall_ns: wall_ms * 1_000_000,
            ..TaskTotals::default()
        }
    }

    #[test]
    fn rates_include_the_final_sync() {
        let mut headline = HeadlineSums::new(2);
        assert!(headline.metrics().iter().all(|metric| metric.name == "setup_seconds"));
        headline.set_up(&task(0, 500));
        let mut tally = WorkerCounters::default();
        tally.done[1] = OperationCounts { operations: 30, transactions: 300, bytes: 30 << 20 };
        tally.done[3] = OperationCounts { operations: 10, transactions: 80, bytes: 10 << 20 };
        headline.worked(0, &task(1000, 2000), &tally);
        headline.worked(1, &task(1000, 3000), &tally);
        headline.synced(&task(4000, 1000));
        let metrics = headline.metrics();
        let value = |name: &str| {
            let metric = metrics.iter().find(|metric| metric.name == name);
            metric.map_or(f64::NAN, |metric| metric.value)
        };
        for (name, wanted) in [
            ("setup_seconds", 0.5),
            ("operations_per_second", 20.0),
            ("unsynced_operations_per_second", 80.0 / 3.0),
            ("transactions_per_second", 190.0),
            ("elapsed_seconds", 4.0),
            ("final_sync_seconds", 1.0),
            ("read_mib_per_second", 15.0),
            ("write_mib_per_second", 5.0),
        ] {
            assert!((value(name) - wanted).abs() < 1e-9, "{name}: {}", value(name));
        }
        let primary: Vec<_> = metrics.iter().filter(|metric| metric.primary).collect();
        assert_eq!(primary.len(), 1);
    }

    #[test]
    fn large_files_dominate_the_published_mix() {
        let kib = [
            (4, 33),
            (8, 21),
            (16, 13),
            (32, 10),
            (64, 8),
            (128, 5),
            (256, 4),
            (512, 3),
            (8192, 2),
            (32_768, 1),
        ];
        let sizes = FileSizes::Weights(kib.iter().map(|&(k, weight)| (k << 10, weight)).collect());
        let (bytes, of_files, of_bytes) = heaviest(&sizes).unwrap();
        assert_eq!(bytes, 32 << 20);
        assert!((of_files - 1.0).abs() < 1e-9);
        // 32768 of 53,692 KiB in a hundred files.
        assert!((of_bytes - 61.03).abs() < 0.01, "{of_bytes}");
        assert_eq!(heaviest(&FileSizes::Weights(vec![(4096, 1), (8192, 1)])), None);
    }
}
