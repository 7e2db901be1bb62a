//! Headline metrics: throughput and transfer rate of each test.

use treering_model::metrics::rates::{MIB_PER_SECOND, OPERATIONS_PER_SECOND, TRANSFERS_PER_WORKER};
use treering_model::workloads::ior::TransferCounts;
use treering_model::{Metric, Scope, TaskTotals};

use super::shape::{RunShape, TestKind};
use treering_kit::ranks::sums::{RankCounts, RankSums, TestSums};

/// Work of a task, for the headline.
pub(super) fn rank_counts(counts: TransferCounts) -> RankCounts {
    let TransferCounts { transfers, bytes, ended_by_time, is_wear_out, .. } = counts;
    RankCounts { items: transfers, bytes, ended_by_time, is_wear_out }
}

/// Metrics of a run.
pub(super) fn metrics(sums: &RankSums) -> Vec<Metric> {
    sums.metrics(rates, &TRANSFERS_PER_WORKER)
}

fn rates(sums: &TestSums) -> [Metric; 2] {
    let of = || Scope::Kind(sums.kind.clone());
    let mib = sums.bytes as f64 / 1_048_576.0;
    [
        MIB_PER_SECOND
            .of(of(), mib / sums.seconds())
            .primary_if(!sums.kind.ends_with(TestKind::CheckWrite.kind())),
        OPERATIONS_PER_SECOND.of(of(), sums.items as f64 / sums.seconds()),
    ]
}

/// Metrics that a run of this shape will have; the values are meaningless.
pub(super) fn foreseen(shape: &RunShape) -> Vec<Metric> {
    let mut sums = RankSums::default();
    for part in shape.parts().into_iter().filter(|part| *part != TestKind::Remove) {
        let task = TaskTotals { kind: shape.kind(part), wall_ns: 1, ..TaskTotals::default() };
        sums.add(&task, RankCounts { items: 1, bytes: 1, ..RankCounts::default() });
    }
    metrics(&sums)
}
