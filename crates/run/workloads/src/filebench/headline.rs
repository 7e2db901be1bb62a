//! The headline numbers: those of the IO Summary, and of each flowop.

use treering_model::{Better, Metric, Scope, TaskTotals, Unit};

use super::plan::{Class, Plan, Row};
use super::tally::{Account, Tally};
use crate::span::Span;

const MIB: f64 = 1_048_576.0;

/// Adds up a run.
#[derive(Clone, Debug)]
pub(super) struct Headline {
    rows: Vec<Row>,
    sums: Vec<Tally>,
    setup: Span,
    work: Span,
    sync_ns: u64,
    tasks: u64,
    cpu_ns: u64,
}

/// The figures of the IO Summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) operations: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) bytes: u64,
    /// How many of them were timed.
    pub(super) timed: u64,
    /// The mean latency of those.
    pub(super) mean_ns: f64,
}

impl Summary {
    /// Of all rows.
    pub(super) fn of(rows: &[Row], sums: &[Tally]) -> Self {
        let mut summary = Self::default();
        let (mut total_ns, mut weight) = (0.0, 0_u64);
        for (row, sum) in rows.iter().zip(sums).filter(|(row, _)| row.class.counts()) {
            summary.operations += sum.count;
            summary.bytes = summary.bytes.saturating_add(sum.bytes);
            match row.class {
                Class::Read => summary.reads += sum.count,
                Class::Write => summary.writes += sum.count,
                Class::Other | Class::Beside => {}
            }
            if sum.timed > 0 {
                // A sample stands for all of its row.
                total_ns += sum.mean_ns() * sum.count as f64;
                weight += sum.count;
                summary.timed += sum.timed;
            }
        }
        summary.mean_ns = if weight > 0 { total_ns / weight as f64 } else { 0.0 };
        summary
    }
}

impl Headline {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rows: plan.rows.clone(),
            sums: vec![Tally::default(); plan.rows.len()],
            setup: Span::default(),
            work: Span::default(),
            sync_ns: 0,
            tasks: 0,
            cpu_ns: 0,
        }
    }

    /// A task of the setup ended.
    pub(super) fn set_up(&mut self, task: &TaskTotals) {
        self.setup.add(task);
    }

    /// A thread ended.
    pub(super) fn worked(&mut self, task: &TaskTotals, account: &Account) {
        self.work.add(task);
        self.tasks += 1;
        self.cpu_ns += task.cpu.total_ns();
        account.add_to(&mut self.sums);
    }

    /// The sync after the work ended.
    pub(super) fn synced(&mut self, task: &TaskTotals) {
        self.sync_ns = task.wall_ns;
    }

    /// Operations on files.
    pub(super) fn operations(&self) -> u64 {
        Summary::of(&self.rows, &self.sums).operations
    }

    /// The numbers so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let (higher, lower) = (Better::Higher, Better::Lower);
        let figure = |name: &str, value, unit, better| {
            Metric::new(name, Scope::Trial, value, unit, better).of_tasks(self.tasks)
        };
        let setup = self.setup.seconds();
        let mut metrics = vec![figure("setup_seconds", setup, Unit::Seconds, lower)];
        let seconds = self.work.seconds();
        let all = Summary::of(&self.rows, &self.sums);
        if all.operations == 0 || seconds <= 0.0 {
            return metrics;
        }
        let (ops, mib) = (Unit::OpsPerSecond, Unit::MibPerSecond);
        let per_second = |count: u64| count as f64 / seconds;
        metrics.push(
            figure("operations_per_second", per_second(all.operations), ops, higher).primary(),
        );
        metrics.push(figure("operations", all.operations as f64, Unit::Count, higher));
        for (name, count) in [("reads_per_second", all.reads), ("writes_per_second", all.writes)] {
            if count > 0 {
                metrics.push(figure(name, per_second(count), ops, higher));
            }
        }
        if all.bytes > 0 {
            metrics.push(figure("mib_per_second", per_second(all.bytes) / MIB, mib, higher));
        }
        if all.mean_ns > 0.0 {
            let name = "latency_mean_nanoseconds";
            let mean = figure(name, all.mean_ns, Unit::Nanoseconds, lower);
            metrics.push(mean.of_tasks(all.timed));
        }
        metrics.push(figure("elapsed_seconds", seconds, Unit::Seconds, lower));
        if self.sync_ns > 0 {
            let sync = self.sync_ns as f64 / 1e9;
            metrics.push(figure("final_sync_seconds", sync, Unit::Seconds, lower));
        }
        let cpu = self.cpu_ns as f64 / all.operations as f64;
        metrics.push(figure("cpu_per_operation_nanoseconds", cpu, Unit::Nanoseconds, lower));
        for (row, sum) in self.rows.iter().zip(&self.sums).filter(|(_, sum)| sum.count > 0) {
            self.row(row, sum, seconds, &mut metrics);
        }
        metrics
    }

    /// The metrics of a run of this plan. Their values mean nothing.
    pub(super) fn foreseen(plan: &Plan) -> Vec<Metric> {
        let mut headline = Self::new(plan);
        let task = TaskTotals { wall_ns: 1, ..TaskTotals::default() };
        headline.set_up(&task);
        headline.work.add(&task);
        (headline.sync_ns, headline.tasks) = (1, 1);
        for sum in &mut headline.sums {
            (sum.count, sum.bytes) = (1, 1);
            sum.took(1);
        }
        headline.metrics()
    }

    fn row(&self, row: &Row, sum: &Tally, seconds: f64, metrics: &mut Vec<Metric>) {
        let (higher, lower) = (Better::Higher, Better::Lower);
        let figure = |name: &str, value, unit, better| {
            let scope = Scope::Kind(row.name.clone());
            Metric::new(name, scope, value, unit, better).of_tasks(self.tasks)
        };
        let latency =
            |name: &str, ns: f64| figure(name, ns, Unit::Nanoseconds, lower).of_tasks(sum.timed);
        let rate = sum.count as f64 / seconds;
        metrics.push(figure("operations_per_second", rate, Unit::OpsPerSecond, higher));
        if sum.bytes > 0 {
            let mib = sum.bytes as f64 / MIB / seconds;
            metrics.push(figure("mib_per_second", mib, Unit::MibPerSecond, higher));
        }
        let Some(taken) = sum.latency.as_ref().filter(|_| sum.is_fair()) else { return };
        metrics.push(latency("latency_mean_nanoseconds", sum.mean_ns()));
        for (name, quantile) in [
            ("latency_p50_nanoseconds", 0.5),
            ("latency_p99_nanoseconds", 0.99),
            ("latency_p999_nanoseconds", 0.999),
        ] {
            metrics.push(latency(name, taken.quantile_ns(quantile) as f64));
        }
        metrics.push(latency("latency_max_nanoseconds", sum.most_ns as f64));
    }
}
