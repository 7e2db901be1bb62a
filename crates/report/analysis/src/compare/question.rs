//! What is put to the statistics.

use treering_stats::Question;

use super::outcome::MetricComparison;

/// A question put to the statistics, and what is known of it beside the numbers.
pub(super) struct Asked {
    pub(super) about: MetricComparison,
    /// `None` where nothing is to be judged: of one run a variant, or the same in another unit.
    pub(super) question: Option<Question>,
    /// Where the question stands whose quantity this is in another unit.
    pub(super) leader: Option<usize>,
}
