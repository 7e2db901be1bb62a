//! Headline metrics: the rate of each test.

use treering_model::metrics::rates::{ITEMS_PER_WORKER, OPERATIONS_PER_SECOND};
use treering_model::workloads::mdtest::ItemCounts;
use treering_model::{Metric, Scope, TaskTotals};

use super::shape::IterationStep;
use treering_kit::ranks::sums::{RankCounts, RankSums, TestSums};

/// Work of a task, for the headline.
pub(super) fn rank_counts(counts: ItemCounts) -> RankCounts {
    let ItemCounts { done, ended_by_time, is_wear_out, .. } = counts;
    RankCounts { items: done, bytes: 0, ended_by_time, is_wear_out }
}

/// Metrics of a run.
pub(super) fn metrics(sums: &RankSums) -> Vec<Metric> {
    sums.metrics(rate, &ITEMS_PER_WORKER)
}

fn rate(sums: &TestSums) -> [Metric; 1] {
    let value = sums.items as f64 / sums.seconds();
    let rate = OPERATIONS_PER_SECOND.of(Scope::Kind(sums.kind.clone()), value);
    [rate.primary_if(is_deciding(&sums.kind))]
}

/// True if the rate of these tasks decides a comparison: trees have few operations, and no other
/// tool measures renames.
fn is_deciding(kind: &str) -> bool {
    !kind.starts_with("tree") && !kind.ends_with("rename")
}

/// Metrics that a run of these parts will have; the values are meaningless.
pub(super) fn foreseen(parts: &[IterationStep]) -> Vec<Metric> {
    let mut sums = RankSums::default();
    for part in parts {
        let task = TaskTotals { kind: part.kind().to_owned(), wall_ns: 1, ..TaskTotals::default() };
        sums.add(&task, RankCounts { items: 1, ..RankCounts::default() });
    }
    metrics(&sums)
}
