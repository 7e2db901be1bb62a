//! Headline metrics: those of the IO Summary, and of each flowop.

use treering_model::metrics::filebench::{READS_PER_SECOND, WRITES_PER_SECOND};
use treering_model::metrics::latency::LATENCY_NANOSECONDS;
use treering_model::metrics::{cpu, rates, times};
use treering_model::{Metric, Scope, TaskTotals};

use super::plan::Plan;
use super::summary::{IoSummary, SummaryRow};
use super::tally::{FlowopCounters, WorkerReport};
use treering_kit::span::TimeSpan;

const MIB: f64 = 1_048_576.0;

/// Sums of a run.
#[derive(Clone, Debug)]
pub(super) struct HeadlineSums {
    rows: Vec<SummaryRow>,
    sums: Vec<FlowopCounters>,
    setup: TimeSpan,
    work: TimeSpan,
    sync_ns: u64,
    tasks: u64,
    cpu_ns: u64,
}

impl HeadlineSums {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rows: plan.rows.clone(),
            sums: vec![FlowopCounters::default(); plan.rows.len()],
            setup: TimeSpan::default(),
            work: TimeSpan::default(),
            sync_ns: 0,
            tasks: 0,
            cpu_ns: 0,
        }
    }

    /// Adds a task of the setup.
    pub(super) fn set_up(&mut self, task: &TaskTotals) {
        self.setup.add(task);
    }

    /// Adds a thread that ended.
    pub(super) fn add_work(&mut self, task: &TaskTotals, account: &WorkerReport) {
        self.work.add(task);
        self.tasks += 1;
        self.cpu_ns += task.cpu.total_ns();
        account.add_to(&mut self.sums);
    }

    /// Records the sync after the work.
    pub(super) fn synced(&mut self, task: &TaskTotals) {
        self.sync_ns = task.wall_ns;
    }

    /// Number of file operations.
    pub(super) fn operations(&self) -> u64 {
        IoSummary::new(&self.rows, &self.sums).operations
    }

    /// Metrics so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let of = || Scope::Trial;
        let mut metrics = vec![times::SETUP_SECONDS.of(of(), self.setup.seconds())];
        let seconds = self.work.seconds();
        let total = IoSummary::new(&self.rows, &self.sums);
        if total.operations == 0 || seconds <= 0.0 {
            return self.of_tasks(metrics);
        }
        let per_second = |count: u64| count as f64 / seconds;
        metrics.extend([
            rates::OPERATIONS_PER_SECOND.of(of(), per_second(total.operations)).primary(),
            rates::OPERATIONS.of(of(), total.operations as f64),
        ]);
        for (spec, count) in [(READS_PER_SECOND, total.reads), (WRITES_PER_SECOND, total.writes)] {
            if count > 0 {
                metrics.push(spec.of(of(), per_second(count)));
            }
        }
        if total.bytes > 0 {
            metrics.push(rates::MIB_PER_SECOND.of(of(), per_second(total.bytes) / MIB));
        }
        metrics.push(times::ELAPSED_SECONDS.of(of(), seconds));
        if self.sync_ns > 0 {
            metrics.push(times::FINAL_SYNC_SECONDS.of(of(), self.sync_ns as f64 / 1e9));
        }
        let cpu_ns = self.cpu_ns as f64 / total.operations as f64;
        metrics.push(cpu::CPU_PER_OPERATION_NANOSECONDS.of(of(), cpu_ns));
        let mut metrics = self.of_tasks(metrics);
        if total.mean_ns > 0.0 {
            let mean = LATENCY_NANOSECONDS.of_member(&["mean"], of(), total.mean_ns);
            metrics.push(mean.of_tasks(total.timed));
        }
        for (row, sum) in self.rows.iter().zip(&self.sums).filter(|(_, sum)| sum.count > 0) {
            self.row(row, sum, seconds, &mut metrics);
        }
        metrics
    }

    /// Metrics that a run of this plan will have. The values are meaningless.
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

    fn of_tasks(&self, metrics: Vec<Metric>) -> Vec<Metric> {
        metrics.into_iter().map(|metric| metric.of_tasks(self.tasks)).collect()
    }

    fn row(&self, row: &SummaryRow, sum: &FlowopCounters, seconds: f64, metrics: &mut Vec<Metric>) {
        let of = || Scope::Kind(row.name.clone());
        let mut figures = vec![
            rates::OPERATIONS_PER_SECOND.of(of(), sum.count as f64 / seconds),
            rates::CALLS.of(of(), sum.count as f64),
        ];
        if sum.bytes > 0 {
            let mib = sum.bytes as f64 / MIB / seconds;
            figures.push(rates::MIB_PER_SECOND.of(of(), mib));
        }
        metrics.extend(self.of_tasks(figures));
        let Some(taken) = sum.latency.as_ref().filter(|_| sum.is_fair()) else { return };
        let quantile = |quantile: f64| taken.quantile_ns(quantile) as f64;
        let latencies = [
            ("mean", sum.mean_ns()),
            ("p50", quantile(0.5)),
            ("p99", quantile(0.99)),
            ("p999", quantile(0.999)),
            ("max", sum.most_ns as f64),
        ];
        metrics.extend(latencies.into_iter().map(|(statistic, ns)| {
            LATENCY_NANOSECONDS.of_member(&[statistic], of(), ns).of_tasks(sum.timed)
        }));
    }
}
