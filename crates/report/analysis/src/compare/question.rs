//! Questions put to the statistics.

use treering_stats::ComparisonQuestion;

use super::outcome::MetricComparison;

/// A question to the statistics, with the comparison it belongs to.
pub(super) struct PendingComparison {
    pub(super) about: MetricComparison,
    /// Question to judge; `None` for a single run for each variant, and for another unit of a
    /// judged quantity.
    pub(super) question: Option<ComparisonQuestion>,
    /// Index of the question that judges this quantity in another unit.
    pub(super) leader: Option<usize>,
}
