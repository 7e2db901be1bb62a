//! Totals of a phase, summed over its tasks.

use std::collections::BTreeMap;

use treering_model::{IntervalTotals, Op, OpTotals, PhaseTotals, TaskTotals};
use treering_script::Task;

use crate::TrialClock;
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
pub(crate) fn merge_intervals(
    workers: impl Iterator<Item = Vec<IntervalTotals>>,
) -> Vec<IntervalTotals> {
    let mut seconds = BTreeMap::new();
    for interval in workers.flatten() {
        let second = seconds
            .entry(interval.second)
            .or_insert(IntervalTotals { second: interval.second, ..IntervalTotals::default() });
        second.calls += interval.calls;
        second.bytes += interval.bytes;
    }
    seconds.into_values().collect()
}

/// Totals of a task, by its phase, number and worker.
pub(crate) fn task_totals(
    (phase, number, worker): (u32, u32, u16),
    task: &Task,
    run: TaskRun,
    clock: TrialClock,
) -> TaskTotals {
    TaskTotals {
        phase,
        task: number,
        worker,
        kind: task.kind.clone(),
        subject: task.subject.clone(),
        state: task.state.clone(),
        tally: task.tally.clone(),
        began_ns: clock.at_ns(run.began_ns),
        wall_ns: run.wall_ns,
        sync_ns: run.sync.wall_ns,
        cpu: run.cpu,
        sync_cpu: run.sync.cpu,
        files: run.files,
        bytes: run.ops.iter().map(|op| op.bytes).sum(),
        listed_bytes: task.listed_bytes,
        ops: run.ops,
        direct: task.direct,
        counters: run.counters,
    }
}

/// Extends the span from the first start to the last end by one task.
pub(crate) fn widen(span: &mut Option<(u64, u64)>, run: &TaskRun) {
    let ended_ns = run.began_ns + run.wall_ns;
    let (began, ended) = span.unwrap_or((run.began_ns, ended_ns));
    *span = Some((began.min(run.began_ns), ended.max(ended_ns)));
}
