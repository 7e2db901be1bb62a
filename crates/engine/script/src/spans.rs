//! Latencies of operations that consist of several calls, measured from the start of the first call
//! to the end of the last.

use serde::{Deserialize, Serialize};
use treering_model::Latency;

/// Latencies of operations, by their kind. Every call must be timed
/// ([`crate::Job::times_every_call`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationSpans {
    rows: Vec<SpanRow>,
}

/// Counts and latencies of one operation kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanRow {
    /// Number of operations.
    pub count: u64,
    /// Number of failed operations.
    pub failed: u64,
    /// Total duration in nanoseconds.
    pub total_ns: u64,
    /// Longest duration in nanoseconds.
    pub longest_ns: u64,
    /// Latency distribution.
    pub latency: Latency,
}

impl SpanRow {
    /// Mean in nanoseconds; 0 without operations.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 }
    }
}

impl OperationSpans {
    /// Empty rows for `kinds` kinds.
    pub fn new(kinds: usize) -> Self {
        Self { rows: (0..kinds).map(|_| SpanRow::default()).collect() }
    }

    /// Records an operation of this kind, from the start of its first call to the end of its last.
    /// If either was not timed, the operation counts without a latency.
    #[inline]
    pub fn record(&mut self, kind: usize, failed: bool, began: Option<u64>, ended: Option<u64>) {
        let Some(row) = self.rows.get_mut(kind) else { return };
        row.count += 1;
        row.failed += u64::from(failed);
        if let Some(took_ns) = began.zip(ended).map(|(began, ended)| ended.saturating_sub(began)) {
            row.total_ns = row.total_ns.saturating_add(took_ns);
            row.longest_ns = row.longest_ns.max(took_ns);
            row.latency.record(took_ns);
        }
    }

    /// Clears all rows.
    pub fn reset(&mut self) {
        for row in &mut self.rows {
            (row.count, row.failed, row.total_ns, row.longest_ns) = (0, 0, 0, 0);
            row.latency.clear();
        }
    }

    /// Row of a kind.
    ///
    /// # Panics
    /// When there is no such kind.
    pub fn row(&self, kind: usize) -> &SpanRow {
        &self.rows[kind]
    }

    /// Rows of all kinds, in order.
    pub fn rows(&self) -> &[SpanRow] {
        &self.rows
    }

    /// Adds another's operations; surplus kinds are ignored.
    pub fn merge(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.count += more.count;
            row.failed += more.failed;
            row.total_ns = row.total_ns.saturating_add(more.total_ns);
            row.longest_ns = row.longest_ns.max(more.longest_ns);
            row.latency.merge(&more.latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::OperationSpans;

    #[test]
    fn an_operation_lasts_from_its_first_call_to_its_last() {
        let mut spans = OperationSpans::new(2);
        spans.record(1, false, Some(100), Some(400));
        spans.record(1, true, None, Some(600));
        let row = spans.row(1);
        assert_eq!((row.count, row.failed, row.total_ns, row.longest_ns), (2, 1, 300, 300));
        assert_eq!(row.latency.samples(), 1);
        spans.record(7, false, Some(0), Some(1));
    }

    #[test]
    fn json_keeps_every_bucket() {
        let mut spans = OperationSpans::new(3);
        for took in [10, 1_000, 100_000] {
            spans.record(2, false, Some(0), Some(took));
        }
        let read: OperationSpans = Counters::from_value(&spans).read().unwrap();
        assert_eq!(read.rows(), spans.rows());
        let mut both = read;
        both.merge(&spans);
        assert_eq!(both.row(2).count, 6);
        assert_eq!(both.row(2).latency.samples(), 6);
        both.reset();
        assert_eq!(both.rows(), OperationSpans::new(3).rows());
    }
}
