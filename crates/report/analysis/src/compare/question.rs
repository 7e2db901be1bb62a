//! Questions to the statistics.

use treering_stats::{ComparisonQuestion, CorrectionRole};

use super::outcome::MetricComparison;

/// A question to the statistics, with the comparison it belongs to.
pub(super) struct PendingComparison {
    pub(super) about: MetricComparison,
    /// Question to judge; `None` for a single run for each variant, and for a quantity that is
    /// judged in another unit.
    pub(super) question: Option<ComparisonQuestion>,
    /// Index of the question that judges this quantity in another unit.
    pub(super) leader: Option<usize>,
}

impl PendingComparison {
    /// Reports whether the question is a test of the primary family.
    pub(super) fn is_primary_test(&self) -> bool {
        self.question.is_some_and(|asked| {
            asked.criteria.role == CorrectionRole::Primary && asked.comparison.p_value.is_some()
        })
    }
}
