//! Totals of a phase, summed over its tasks.

use std::collections::BTreeMap;

use treering_model::{Interval, Op, OpTotals, PhaseTotals};

use crate::workers::worker::TaskRun;

/// Adds a task's run, finished or not, to the totals of its phase.
pub(crate) fn add_run(totals: &mut PhaseTotals, run: &TaskRun) {
    totals.files += run.files;
    totals.bytes += run.ops.iter().map(|op| op.bytes).sum::<u64>();
    totals.cpu = totals.cpu.plus(run.cpu);
    for op in &run.ops {
        add_op(&mut totals.ops, op);
    }
}

/// Adds calls of one kind; the list stays in the order of the kinds.
pub(crate) fn add_op(ops: &mut Vec<OpTotals>, more: &OpTotals) {
    let number = |op: Op| op as usize;
    match ops.binary_search_by_key(&number(more.op), |op| number(op.op)) {
        Err(place) => ops.insert(place, more.clone()),
        Ok(place) => {
            let op = &mut ops[place];
            op.calls += more.calls;
            op.errors += more.errors;
            op.bytes += more.bytes;
            op.latency.merge(&more.latency);
        }
    }
}

/// Sum of several workers' calls and bytes in each second.
pub(crate) fn merge_intervals(workers: impl Iterator<Item = Vec<Interval>>) -> Vec<Interval> {
    let mut seconds = BTreeMap::new();
    for interval in workers.flatten() {
        let second = seconds
            .entry(interval.second)
            .or_insert(Interval { second: interval.second, ..Interval::default() });
        second.calls += interval.calls;
        second.bytes += interval.bytes;
    }
    seconds.into_values().collect()
}
