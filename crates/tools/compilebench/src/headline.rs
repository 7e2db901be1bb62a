//! Headline metrics of a run: for each kind of operation, total work over total time.
//!
//! These are not the means of rates that the original prints: few large operations dominate those.

use std::collections::BTreeMap;

use treering_model::metrics::{MetricSpec, cpu, rates, times};
use treering_model::{Metric, Scope, TaskTotals};

use treering_kit::span::TimeSpan;

#[derive(Clone, Copy, Debug, Default)]
struct KindSums {
    tasks: u64,
    wall_ns: u64,
    cpu_ns: u64,
    files: u64,
    bytes: u64,
}

/// Accumulator of sums by kind of operation.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadlineSums {
    kinds: BTreeMap<String, KindSums>,
    /// Time span of the last operation, over all ranks.
    last: TimeSpan,
}

impl HeadlineSums {
    /// Adds an operation.
    pub(super) fn add(&mut self, task: &TaskTotals) {
        self.last = TimeSpan::default();
        self.beside(task);
        self.kinds.entry(task.kind.clone()).or_default().tasks += 1;
    }

    /// Adds the same operation of another rank to the last one: together they last from the first
    /// beginning to the last end.
    pub(super) fn beside(&mut self, task: &TaskTotals) {
        let before_ns = self.last.ns();
        self.last.add(task);
        let sums = self.kinds.entry(task.kind.clone()).or_default();
        sums.wall_ns += self.last.ns() - before_ns;
        sums.cpu_ns += task.cpu.total_ns();
        sums.files += task.files;
        sums.bytes += if task.listed_bytes == 0 { task.bytes } else { task.listed_bytes };
    }

    /// Metrics per kind: the primary rate (bytes where the work moves data, files where it changes
    /// names), mean seconds and CPU seconds per operation; and the total CPU and time.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics: Vec<Metric> =
            self.kinds.iter().flat_map(|(kind, sums)| kind_metrics(kind, *sums)).collect();
        let total = |sum: fn(&KindSums) -> u64| self.kinds.values().map(sum).sum::<u64>();
        let tasks = total(|sums| sums.tasks);
        if tasks > 0 {
            for (spec, ns) in [
                (times::OPERATION_SECONDS, total(|sums| sums.wall_ns)),
                (cpu::OPERATION_CPU_SECONDS, total(|sums| sums.cpu_ns)),
            ] {
                metrics.push(spec.of(Scope::Trial, ns as f64 / 1e9).of_tasks(tasks));
            }
        }
        metrics
    }
}

/// Metrics of a run with operations of these kinds, on files that are not all empty; the values are
/// meaningless.
pub(super) fn foreseen<'k>(kinds: impl Iterator<Item = &'k str>) -> Vec<Metric> {
    let mut headline = HeadlineSums::default();
    for kind in kinds {
        let task = TaskTotals { wall_ns: 1, files: 1, bytes: 1, ..TaskTotals::default() };
        headline.add(&TaskTotals { kind: kind.to_owned(), ..task });
    }
    headline.metrics()
}

fn kind_metrics(kind: &str, sums: KindSums) -> Vec<Metric> {
    let seconds = sums.wall_ns.max(1) as f64 / 1e9;
    let tasks = sums.tasks as f64;
    let by_names = matches!(kind, "clean" | "delete" | "stat");
    let metric = |spec: MetricSpec, value: f64| {
        spec.of(Scope::Kind(kind.to_owned()), value).of_tasks(sums.tasks)
    };
    let mib = sums.bytes as f64 / 1_048_576.0;
    let files = sums.files as f64;
    let cpu_seconds = sums.cpu_ns as f64 / 1e9;
    let mut metrics = vec![
        metric(rates::MIB_PER_SECOND, mib / seconds).primary_if(!by_names),
        metric(rates::FILES_PER_SECOND, files / seconds).primary_if(by_names),
        metric(times::SECONDS, seconds / tasks),
        metric(cpu::CPU_SECONDS, cpu_seconds / tasks),
    ];
    if sums.bytes == 0 {
        // Operations on names move no data: a rate of bytes would be a meaningless zero.
        metrics.remove(0);
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::{HeadlineSums, TaskTotals};

    #[test]
    fn parallel_operation_lasts_from_first_start_to_last_end() {
        let task = |began_s: u64| TaskTotals {
            kind: "delete".to_owned(),
            began_ns: began_s * 1_000_000_000,
            wall_ns: 1_000_000_000,
            files: 30,
            ..TaskTotals::default()
        };
        let mut headline = HeadlineSums::default();
        for began_s in [0, 10] {
            headline.add(&task(began_s));
            headline.beside(&task(began_s + 1));
        }
        let metrics = headline.metrics();
        let value = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!(value("files_per_second"), 4.0 * 30.0 / 4.0);
        assert_eq!(value("seconds"), 2.0, "of one operation");
    }
}
