//! Workers as processes: the tasks of a group, each in a forked child that tells what came of it.
//!
//! The child works with its copy of the worker and ends. What it must tell goes through a pipe;
//! that it is to stop, and how far it is, through memory that both have.

use std::io;

use treering_script::{GroupStart, Task};
use treering_sys::{
    ForkEnd, ForkGate, ForkedProcess, fork_worker, monotonic_ns, own_session, read_answers,
};

use crate::workers::reported::ReportedRun;
use crate::workers::start::cannot_start;
use crate::workers::worker::{Halting, TaskEnd, TaskRun, Worker};
use crate::{Caller, EngineError};

/// No child says more: histograms of all kinds of calls take a few MiB at most.
const ANSWER_MAX: usize = 256 << 20;

/// Runs each task in a process of its own. One that fails stops the others.
pub(crate) fn on_processes<C: Caller>(
    workers: &mut [Worker<C>],
    tasks: &mut [Task],
    start: GroupStart,
    halting: Halting<'_>,
    has_session: bool,
) -> Result<Vec<TaskRun>, EngineError> {
    let runs = forked(workers, tasks, start, halting, has_session);
    halting.stop.lift_halt();
    runs
}

fn forked<C: Caller>(
    workers: &mut [Worker<C>],
    tasks: &mut [Task],
    start: GroupStart,
    halting: Halting<'_>,
    has_session: bool,
) -> Result<Vec<TaskRun>, EngineError> {
    let wanted = tasks.len();
    let cannot = |worker| move |source| cannot_start(worker, wanted, source);
    let gate = match start {
        GroupStart::Together => Some(ForkGate::new().map_err(cannot(0))?),
        GroupStart::AsMade => None,
    };
    let mut children: Vec<ForkedProcess> = Vec::with_capacity(tasks.len());
    for (number, (worker, task)) in workers.iter_mut().zip(tasks).enumerate() {
        let work = || {
            if has_session {
                own_session();
            }
            answer(worker, task, halting)
        };
        // Children that run already are killed when they are dropped.
        children.push(fork_worker(gate.as_ref(), work).map_err(cannot(number))?);
    }
    drop(gate);
    while read_answers(&mut children, ANSWER_MAX).map_err(cannot(0))? {
        if children.iter().any(ForkedProcess::is_silent) {
            // One of them was lost.
            halting.stop.halt();
        }
    }
    Ok(children.into_iter().map(|child| run(child.end())).collect())
}

/// In the child: the work and what came of it.
fn answer<C: Caller>(worker: &mut Worker<C>, task: &mut Task, halting: Halting<'_>) -> Vec<u8> {
    let run = worker.run(task, halting);
    if matches!(run.end, TaskEnd::Failed(_) | TaskEnd::Panicked(_)) {
        halting.stop.halt();
    }
    let intervals = worker.recorder.end_phase();
    let reported = ReportedRun::of(TaskRun { intervals, ..run });
    // Numbers and words: nothing of it can be refused.
    serde_json::to_vec(&reported).unwrap_or_default()
}

/// In the parent: the run of a child that has ended.
fn run(end: ForkEnd) -> TaskRun {
    let reported = match end {
        ForkEnd::Answered(bytes) => serde_json::from_slice::<ReportedRun>(&bytes)
            .map_err(|error| io::Error::from(error).to_string()),
        ForkEnd::Lost(why) => Err(why),
    };
    reported.map_or_else(|why| TaskRun::lost(why, monotonic_ns()), ReportedRun::into_run)
}
