//! Compact table for logs with tens of thousands of phases that all have the same metrics. Rows are
//! stored as numbers, and converted to phases and metrics one at a time on demand.

use treering_model::metrics::MetricSpec;
use treering_model::{Metric, PhaseTotals, Scope};

/// Metric that every phase of a table has.
#[derive(Clone, Debug, PartialEq)]
struct MetricColumn {
    metric: &'static MetricSpec,
    /// Words that select the member of a metric family.
    words: Vec<String>,
}

/// Phases of a table, a row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseRows {
    /// Name of the phases, before their number.
    name: &'static str,
    columns: Vec<MetricColumn>,
    /// Files and bytes of each row.
    amounts: Vec<(u64, u64)>,
    /// Values of all columns, row by row.
    values: Vec<f64>,
}

impl PhaseRows {
    /// Creates an empty table of phases with this name, followed by their number.
    pub fn named(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds a metric to all rows; `words` select the member of a family.
    pub fn column(&mut self, metric: &'static MetricSpec, words: &[&str]) {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        self.columns.push(MetricColumn { metric, words });
    }

    /// Adds a row, with a value for each column.
    pub fn push(&mut self, files: u64, bytes: u64, values: impl Iterator<Item = f64>) {
        self.amounts.push((files, bytes));
        self.values.extend(values);
        self.values.resize(self.amounts.len() * self.columns.len(), 0.0);
    }

    /// Number of phases.
    pub fn len(&self) -> usize {
        self.amounts.len()
    }

    /// Number of metrics of all phases.
    pub fn metrics_count(&self) -> usize {
        self.values.len()
    }

    /// True if there are no phases.
    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    fn name(&self, row: usize) -> String {
        format!("{}{}", self.name, row + 1)
    }

    /// Iterates over the phases.
    pub fn phases(&self) -> impl Iterator<Item = PhaseTotals> {
        let phase = |(row, (files, bytes)): (usize, &(u64, u64))| PhaseTotals {
            phase: u32::try_from(row).unwrap_or(u32::MAX),
            name: self.name(row),
            files: *files,
            bytes: *bytes,
            ..PhaseTotals::default()
        };
        self.amounts.iter().enumerate().map(phase)
    }

    /// Iterates over the metrics of all phases.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let rows = self.values.chunks_exact(self.columns.len().max(1)).enumerate();
        rows.flat_map(move |(row, values)| {
            self.columns.iter().zip(values).map(move |(column, value)| {
                let words: Vec<&str> = column.words.iter().map(String::as_str).collect();
                column.metric.of_member(&words, Scope::Phase(self.name(row)), *value)
            })
        })
    }
}
