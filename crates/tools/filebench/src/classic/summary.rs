//! IO Summary: totals over all rows of the results.

use super::tally::FlowopCounters;

/// Row of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SummaryRow {
    /// Name of the row.
    pub name: String,
    /// Operation class of its flowops.
    pub class: OperationClass,
}

/// Operation class of a flowop in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationClass {
    /// Read operation.
    Read,
    /// Write operation.
    Write,
    /// Other file operation.
    Other,
    /// Does not count.
    Beside,
}

impl OperationClass {
    /// True if the class counts in the summary.
    pub(crate) const fn counts(self) -> bool {
        !matches!(self, Self::Beside)
    }
}

/// Figures of the IO Summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IoSummary {
    /// Number of file operations.
    pub operations: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Number of timed operations.
    pub timed: u64,
    /// Mean latency of the timed operations.
    pub mean_ns: f64,
}

impl IoSummary {
    /// Sums up all rows.
    pub(crate) fn new(rows: &[SummaryRow], sums: &[FlowopCounters]) -> Self {
        let mut summary = Self::default();
        let (mut total_ns, mut weight) = (0.0, 0_u64);
        for (row, sum) in rows.iter().zip(sums).filter(|(row, _)| row.class.counts()) {
            summary.operations += sum.count;
            summary.bytes = summary.bytes.saturating_add(sum.bytes);
            match row.class {
                OperationClass::Read => summary.reads += sum.count,
                OperationClass::Write => summary.writes += sum.count,
                OperationClass::Other | OperationClass::Beside => {}
            }
            if sum.timed > 0 {
                // A row's sample represents the whole row.
                total_ns += sum.mean_ns() * sum.count as f64;
                weight += sum.count;
                summary.timed += sum.timed;
            }
        }
        summary.mean_ns = if weight > 0 { total_ns / weight as f64 } else { 0.0 };
        summary
    }
}
