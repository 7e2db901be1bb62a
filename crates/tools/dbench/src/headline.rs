//! Headline metrics: the time of a pass, operations per second, and the share of the time that
//! fsync takes.

use treering_model::metrics::dbench::{
    FLUSH_TIME_PERCENT, PASS_SECONDS, PASS_SECONDS_QUANTILE, PASSES, UNEXPECTED_OUTCOMES,
};
use treering_model::metrics::{cpu, latency, rates, times};
use treering_model::{Caution, CautionCode, Latency, Metric, OPERATIONS_FEW, Scope, TaskTotals};
use treering_script::OperationSpans;

use super::account::WorkerReport;
use crate::language::OperationKind;

/// Sums of a run.
#[derive(Clone, Debug)]
pub(super) struct HeadlineSums {
    spans: OperationSpans,
    read: u64,
    written: u64,
    surprises: u64,
    lines: u64,
    /// Passes that lie within the measured time, in nanoseconds.
    passes: Latency,
    passes_ns: u64,
    from_ns: Option<u64>,
    to_ns: u64,
    cpu_ns: u64,
    clients: u64,
}

impl Default for HeadlineSums {
    fn default() -> Self {
        Self {
            spans: OperationSpans::new(OperationKind::COUNT),
            read: 0,
            written: 0,
            surprises: 0,
            lines: 0,
            passes: Latency::new(),
            passes_ns: 0,
            from_ns: None,
            to_ns: 0,
            cpu_ns: 0,
            clients: 0,
        }
    }
}

impl HeadlineSums {
    /// Adds the report of a finished worker.
    pub(super) fn played(&mut self, account: &WorkerReport, task: &TaskTotals) {
        self.cpu_ns += task.cpu.total_ns();
        for client in &account.clients {
            self.clients += 1;
            self.spans.merge(&client.spans);
            self.read += client.read;
            self.written += client.written;
            self.surprises += client.surprises;
            self.lines += client.lines;
            let from_ns = self.from_ns.map_or(client.from_ns, |from| from.min(client.from_ns));
            self.from_ns = Some(from_ns);
            self.to_ns = self.to_ns.max(client.to_ns);
            let warmup_ns = client.from_ns.saturating_sub(task.began_ns);
            for pass in &client.passes {
                if pass.at_ns.saturating_sub(pass.took_ns) >= warmup_ns {
                    self.passes.record(pass.took_ns);
                    self.passes_ns = self.passes_ns.saturating_add(pass.took_ns);
                }
            }
        }
    }

    /// Operations of all kinds.
    pub(super) fn operations(&self) -> u64 {
        self.spans.rows().iter().map(|row| row.count).sum()
    }

    fn seconds(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns.unwrap_or(self.to_ns)) as f64 / 1e9
    }

    /// Percentage of the time of all operations that fsync takes.
    fn flush_percent(&self) -> f64 {
        let total_ns: u64 = self.spans.rows().iter().map(|row| row.total_ns).sum();
        let flush = self.spans.row(OperationKind::Flush as usize).total_ns;
        flush as f64 / total_ns.max(1) as f64 * 100.0
    }

    /// Metrics that clients with operations of these kinds, and passes, will have; the values are
    /// meaningless.
    pub(super) fn foreseen(kinds: impl Iterator<Item = OperationKind>) -> Vec<Metric> {
        let mut headline =
            Self { passes_ns: 1, from_ns: Some(0), to_ns: 1, clients: 1, ..Self::default() };
        headline.passes.record(1);
        for kind in kinds {
            headline.spans.record(kind as usize, false, Some(0), Some(1));
        }
        headline.metrics()
    }

    /// Metrics of the run so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let seconds = self.seconds();
        let operations = self.operations();
        if operations == 0 || seconds <= 0.0 {
            return Vec::new();
        }
        let mut metrics = self.passes();
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0 / seconds;
        let moved = rates::DIRECTION_MIB_PER_SECOND;
        let of = Scope::Trial;
        metrics.extend([
            rates::OPERATIONS_PER_SECOND.of(of.clone(), operations as f64 / seconds).primary(),
            rates::OPERATIONS.of(of.clone(), operations as f64),
            FLUSH_TIME_PERCENT.of(of.clone(), self.flush_percent()),
            moved.of_member(&["read"], of.clone(), mib(self.read)),
            moved.of_member(&["write"], of.clone(), mib(self.written)),
            times::ELAPSED_SECONDS.of(of.clone(), seconds),
            cpu::CPU_SECONDS.of(of.clone(), self.cpu_ns as f64 / 1e9),
            UNEXPECTED_OUTCOMES.of(of, self.surprises as f64),
        ]);
        for kind in OperationKind::ALL {
            let row = self.spans.row(kind as usize);
            if row.count == 0 {
                continue;
            }
            let scope = Scope::Kind(kind.name().to_owned());
            let rate = row.count as f64 / seconds;
            metrics.push(rates::OPERATIONS_PER_SECOND.of(scope.clone(), rate));
            metrics.push(rates::CALLS.of(scope, row.count as f64));
        }
        let mut metrics: Vec<Metric> =
            metrics.into_iter().map(|metric| metric.of_tasks(self.clients)).collect();
        metrics.extend(OperationKind::ALL.into_iter().flat_map(|kind| self.latencies(kind)));
        metrics
    }

    /// Metrics of the passes, if any was completed.
    fn passes(&self) -> Vec<Metric> {
        let passes = self.passes.samples();
        if passes == 0 {
            return Vec::new();
        }
        let quantile = |word: &str, ns: u64| {
            PASS_SECONDS_QUANTILE.of_member(&[word], Scope::Trial, ns as f64 / 1e9)
        };
        let mean = self.passes_ns as f64 / 1e9 / passes as f64;
        vec![
            PASS_SECONDS.of(Scope::Trial, mean).primary(),
            quantile("p50", self.passes.quantile_ns(0.5)),
            quantile("max", self.passes.max_ns()),
            PASSES.of(Scope::Trial, passes as f64),
        ]
    }

    /// Latency metrics of one operation kind; empty if its calls were not timed.
    fn latencies(&self, kind: OperationKind) -> Vec<Metric> {
        let row = self.spans.row(kind as usize);
        let samples = row.latency.samples();
        if row.count == 0 || samples == 0 {
            return Vec::new();
        }
        let quantile = |at: f64| row.latency.quantile_ns(at) as f64;
        let figures = [
            ("mean", row.mean_ns()),
            ("p50", quantile(0.5)),
            ("p99", quantile(0.99)),
            ("p999", quantile(0.999)),
            ("max", row.longest_ns as f64),
        ];
        let of = |(statistic, ns): (&str, f64)| {
            let scope = Scope::Kind(kind.name().to_owned());
            latency::LATENCY_NS.of_member(&[statistic], scope, ns).of_tasks(samples)
        };
        figures.into_iter().map(of).collect()
    }

    /// Cautions, such as too few operations for a meaningful result.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let operations = self.operations();
        if self.clients == 0 || operations >= OPERATIONS_FEW {
            return Vec::new();
        }
        let message = format!(
            "{operations} operations ran; which part of the load they were decides the figures"
        );
        vec![Caution { code: CautionCode::TooFewOperations, message }]
    }
}

#[cfg(test)]
mod tests {
    use treering_model::TaskTotals;

    use super::HeadlineSums;
    use crate::account::{ClientAccount, LoadPass, WorkerReport};
    use crate::language::OperationKind;

    #[test]
    fn warm_up_passes_are_excluded_and_flush_is_accounted() {
        let mut headline = HeadlineSums::default();
        assert!(headline.metrics().is_empty() && headline.cautions().is_empty());
        let mut client = ClientAccount::new(0);
        (client.from_ns, client.to_ns) = (3_000_000_000, 5_000_000_000);
        (client.read, client.written) = (4 << 20, 2 << 20);
        for (kind, took_ns) in [(OperationKind::Flush, 300), (OperationKind::ReadX, 100)] {
            client.spans.record(kind as usize, false, Some(0), Some(took_ns));
        }
        // The task began at 1 s, the measured time at 3 s: 2 s later.
        for (took_ns, at_ns) in [(1_500_000_000, 2_000_000_000), (500_000_000, 2_600_000_000)] {
            client.passed(LoadPass { took_ns, at_ns });
        }
        let account = WorkerReport { clients: vec![client], ..WorkerReport::default() };
        let task = TaskTotals { began_ns: 1_000_000_000, ..TaskTotals::default() };
        headline.played(&account, &task);
        let metrics = headline.metrics();
        let figure = |name: &str| {
            metrics.iter().find(|metric| metric.name == name).map_or(f64::NAN, |value| value.value)
        };
        assert_eq!(figure("passes"), 1.0);
        assert!((figure("pass_seconds") - 0.5).abs() < 0.001);
        assert_eq!(figure("operations_per_second"), 1.0);
        assert_eq!(figure("flush_time_percent"), 75.0);
        assert_eq!((figure("read_mib_per_second"), figure("write_mib_per_second")), (2.0, 1.0));
        let primary: Vec<&str> = metrics
            .iter()
            .filter(|metric| metric.primary)
            .map(|metric| metric.name.as_str())
            .collect();
        assert_eq!(primary, ["pass_seconds", "operations_per_second"]);
        assert_eq!(headline.cautions().len(), 1);
    }
}
