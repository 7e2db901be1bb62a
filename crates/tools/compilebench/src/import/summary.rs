//! Summary of compilebench: printed rows, compared with the sums over its lines.

use std::collections::BTreeMap;

use treering_model::metrics::summary::MEAN_MIB_PER_SECOND;
use treering_model::metrics::{MetricSpec, cpu, rates, times};
use treering_model::{Metric, Scope, TaskTotals};

use super::lines::{SummaryLine, TALLIES, in_seconds};
use treering_kit::import::Remark;

/// Sums over the lines of one row.
#[derive(Clone, Debug, Default)]
struct RowSums {
    runs: u64,
    /// Sum of MB/s as printed, or of seconds.
    figures: f64,
}

/// Printed rows and sums over the lines.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedSummary {
    counted: BTreeMap<&'static str, RowSums>,
    /// Line number and content of each printed row; `None` for `no runs`.
    printed: BTreeMap<&'static str, (usize, Option<SummaryLine>)>,
}

/// Tolerance: two roundings to a hundredth, one of the lines and one of the mean.
const ROUNDING: f64 = 0.0101;

impl ParsedSummary {
    /// Adds an operation.
    pub(super) fn count(&mut self, task: &TaskTotals, mib_per_second: Option<f64>) {
        let Some(tally) = TALLIES.into_iter().find(|tally| *tally == task.tally) else { return };
        let sums = self.counted.entry(tally).or_default();
        sums.runs += 1;
        sums.figures +=
            if in_seconds(tally) { task.seconds() } else { mib_per_second.unwrap_or_default() };
    }

    pub(super) fn row(&mut self, at: usize, row: SummaryLine) {
        self.printed.insert(row.tally, (at, Some(row)));
    }

    pub(super) fn no_runs(&mut self, at: usize, tally: &'static str) {
        self.printed.insert(tally, (at, None));
    }

    pub(super) fn has(&self, tally: &str) -> bool {
        self.printed.contains_key(tally)
    }

    pub(super) fn is_begun(&self) -> bool {
        !self.printed.is_empty()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.printed.len() == TALLIES.len()
    }

    /// True if the lines are less than half of the operations that the rows count: pages show a few
    /// lines of a run.
    pub(super) fn has_sample_lines(&self) -> bool {
        let counted = self.counted.values().map(|sums| sums.runs).sum::<u64>();
        let printed = self.rows().map(|row| row.runs).sum::<u64>();
        counted.saturating_mul(2) < printed
    }

    /// Printed rows of kinds that ran.
    fn rows(&self) -> impl Iterator<Item = &SummaryLine> {
        self.printed.values().filter_map(|(_, row)| row.as_ref()).filter(|row| row.runs > 0)
    }

    /// True if a row counts more operations than the lines have.
    fn lacks_lines(&self, row: &SummaryLine) -> bool {
        self.counted.get(row.tally).is_none_or(|sums| sums.runs < row.runs)
    }

    /// Remarks about printed rows that differ from the lines.
    pub(super) fn disagreements(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for (tally, (at, row)) in &self.printed {
            let counted = self.counted.get(tally).cloned().unwrap_or_default();
            let printed_runs = row.as_ref().map_or(0, |row| row.runs);
            let mut disagree = |message: String| {
                remarks.push(Remark {
                    line: at + 1,
                    what: format!("summary of '{tally}': {message}"),
                });
            };
            if printed_runs != counted.runs {
                disagree(format!("{printed_runs} runs, but the lines have {}", counted.runs));
                continue;
            }
            let Some(row) = row.as_ref().filter(|row| row.runs > 0) else { continue };
            let mean = counted.figures / counted.runs as f64;
            if (mean - row.mean).abs() > ROUNDING {
                disagree(format!("{:.2} on average, but the lines average {mean:.2}", row.mean));
            }
        }
        remarks
    }

    /// Metrics by kind of operation: total work over total time, and seconds per operation; CPU
    /// from the summary. Rows of which lines are missing stand for themselves.
    pub(super) fn metrics(&self, phases: &[Vec<TaskTotals>]) -> Vec<Metric> {
        let lacking: Vec<&SummaryLine> = self.rows().filter(|row| self.lacks_lines(row)).collect();
        let is_whole = |task: &&TaskTotals| {
            !task.tally.is_empty() && !lacking.iter().any(|row| row.tally == task.tally)
        };
        let mut kinds: BTreeMap<&str, Vec<&TaskTotals>> = BTreeMap::new();
        for task in phases.iter().flatten().filter(is_whole) {
            kinds.entry(&task.kind).or_default().push(task);
        }
        let by_lines = kinds.iter().flat_map(|(kind, tasks)| self.kind_metrics(kind, tasks));
        by_lines.chain(lacking.iter().copied().flat_map(Self::row_metrics)).collect()
    }

    /// CPU time of an operation of each row, as printed.
    pub(super) fn cpu_times(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.rows().map(|row| {
            let SummaryLine { user_seconds, system_seconds, .. } = row;
            (row.tally, format!("user {user_seconds} s, system {system_seconds} s"))
        })
    }

    /// Metrics from the printed averages of each row, for a log without lines, whose work and time
    /// are unknown.
    pub(super) fn metrics_alone(&self) -> Vec<Metric> {
        self.rows().flat_map(Self::row_metrics).collect()
    }

    fn row_metrics(row: &SummaryLine) -> [Metric; 2] {
        // The kind has the name used for whole logs where the row is all of it.
        let kind = row.tally.replace("intial", "initial");
        let metric = |spec: MetricSpec, value: f64| {
            spec.of(Scope::Kind(kind.clone()), value).of_tasks(row.runs)
        };
        let mean = if in_seconds(row.tally) { times::SECONDS } else { MEAN_MIB_PER_SECOND };
        let cpu_seconds = row.user_seconds + row.system_seconds;
        [metric(mean, row.mean).primary(), metric(cpu::CPU_SECONDS, cpu_seconds)]
    }

    fn kind_metrics(&self, kind: &str, tasks: &[&TaskTotals]) -> Vec<Metric> {
        let count = tasks.len() as f64;
        let seconds = tasks.iter().map(|task| task.seconds()).sum::<f64>();
        let mib = tasks.iter().map(|task| task.listed_bytes as f64).sum::<f64>() / 1_048_576.0;
        let by_names = matches!(kind, "clean" | "delete" | "stat");
        let metric = |spec: MetricSpec, value: f64| {
            spec.of(Scope::Kind(kind.to_owned()), value).of_tasks(tasks.len() as u64)
        };
        let mut metrics = vec![metric(times::SECONDS, seconds / count).primary_if(by_names)];
        if mib > 0.0 && seconds > 0.0 {
            metrics.push(metric(rates::MIB_PER_SECOND, mib / seconds).primary_if(!by_names));
        }
        // A kind may have two rows: for trees with and without products.
        let tallies: Vec<&str> = tasks.iter().map(|task| task.tally.as_str()).collect();
        let rows = self.printed.values().filter_map(|(_, row)| row.as_ref());
        let rows: Vec<&SummaryLine> = rows.filter(|row| tallies.contains(&row.tally)).collect();
        let runs = rows.iter().map(|row| row.runs).sum::<u64>();
        if runs == tasks.len() as u64 {
            let cpu =
                |row: &&SummaryLine| (row.user_seconds + row.system_seconds) * row.runs as f64;
            let cpu_seconds = rows.iter().map(cpu).sum::<f64>() / count;
            metrics.push(metric(cpu::CPU_SECONDS, cpu_seconds));
        }
        metrics
    }
}
