//! Workers as processes: each task of a group runs in a forked child, which reports its result.
//!
//! The child works with its copy of the worker and then exits. It reports its result through a
//! pipe; the stop flag and its progress are in shared memory.

use std::io;
use std::time::{Duration, Instant};

use treering_script::{GroupStart, Task};
use treering_sys::{
    ForkEnd, ForkGate, ForkedProcess, fork_worker, monotonic_ns, own_session, read_answers,
};

use crate::workers::process_watch::{CHECK_EVERY, ProcessAction, ProcessState, ProcessWatch};
use crate::workers::reported::ReportedRun;
use crate::workers::start::cannot_start;
use crate::workers::worker::{StopConditions, TaskEnd, TaskRun, Worker};
use crate::{Caller, EngineError};

/// Maximum size of a child's result in bytes; histograms of all kinds of calls take a few MiB.
const RESULT_BYTES_MAX: usize = 256 << 20;

/// Options for the worker processes of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessOptions {
    /// Start mode.
    pub(crate) start: GroupStart,
    /// Give each process a session of its own.
    pub(crate) has_session: bool,
    /// Longest time that a process may be stopped by a signal before the run ends.
    pub(crate) stopped_max: Duration,
}

/// Runs each task in a process of its own. A task that fails, or a process that stays stopped,
/// stops the others.
pub(crate) fn on_processes<C: Caller>(
    workers: &mut [Worker<C>],
    tasks: &mut [Task],
    options: ProcessOptions,
    halting: StopConditions<'_>,
) -> Result<Vec<TaskRun>, EngineError> {
    let runs = forked(workers, tasks, options, halting);
    halting.stop.lift_halt();
    runs
}

fn forked<C: Caller>(
    workers: &mut [Worker<C>],
    tasks: &mut [Task],
    options: ProcessOptions,
    halting: StopConditions<'_>,
) -> Result<Vec<TaskRun>, EngineError> {
    let wanted = tasks.len();
    let cannot = |worker| move |source| cannot_start(worker, wanted, source);
    let gate = match options.start {
        GroupStart::Together => Some(ForkGate::new().map_err(cannot(0))?),
        GroupStart::AsMade => None,
    };
    let mut children: Vec<ForkedProcess> = Vec::with_capacity(tasks.len());
    for (number, (worker, task)) in workers.iter_mut().zip(tasks).enumerate() {
        let prepare = || {
            worker.recorder.prepare();
            (worker, task)
        };
        let work = |(worker, task): (&mut Worker<C>, &mut Task)| {
            if options.has_session {
                own_session();
            }
            answer(worker, task, halting)
        };
        // Children that run already are killed when they are dropped.
        children.push(fork_worker(gate.as_ref(), prepare, work).map_err(cannot(number))?);
    }
    drop(gate);
    let watches = watch(&mut children, options.stopped_max, halting).map_err(cannot(0))?;
    let ends = children.into_iter().map(ForkedProcess::end);
    Ok(ends.zip(watches).map(|(end, watch)| run(end, watch.into_fault())).collect())
}

/// Reads the results of all children until they are complete, and deals with children that are
/// stopped or do not end.
fn watch(
    children: &mut [ForkedProcess],
    stopped_max: Duration,
    halting: StopConditions<'_>,
) -> io::Result<Vec<ProcessWatch>> {
    let mut watches: Vec<_> = children.iter().map(|_| ProcessWatch::new(stopped_max)).collect();
    let mut checked = Instant::now();
    while read_answers(children, RESULT_BYTES_MAX, CHECK_EVERY)? {
        if children.iter().any(ForkedProcess::is_lost) {
            halting.stop.halt();
        }
        let since_last = checked.elapsed();
        if since_last < CHECK_EVERY {
            continue;
        }
        checked = Instant::now();
        let running = children.iter_mut().zip(&mut watches).filter(|(child, _)| !child.is_over());
        for (child, watch) in running {
            let state = ProcessState {
                is_stopped: child.is_stopped(),
                may_work: !halting.is_over(),
                is_flagged: halting.stop.is_raised(),
            };
            match watch.check(state, since_last) {
                None => {}
                Some(ProcessAction::Halt) => halting.stop.halt(),
                Some(ProcessAction::Resume) => child.resume(),
                Some(ProcessAction::Terminate) => child.terminate(),
                Some(ProcessAction::Kill) => child.kill(),
            }
        }
    }
    Ok(watches)
}

/// Runs the task in the child; returns its serialized result.
fn answer<C: Caller>(
    worker: &mut Worker<C>,
    task: &mut Task,
    halting: StopConditions<'_>,
) -> Vec<u8> {
    let run = worker.run(task, halting);
    if matches!(run.end, TaskEnd::Failed(_) | TaskEnd::Panicked(_)) {
        halting.stop.halt();
    }
    let intervals = worker.recorder.end_phase();
    let reported = ReportedRun::from_run(TaskRun { intervals, ..run });
    // Numbers and words: nothing of it can be refused.
    serde_json::to_vec(&reported).unwrap_or_default()
}

/// Result of a child that has ended, in the parent; a child with a fault is lost, whatever it
/// reported.
fn run(end: ForkEnd, fault: Option<String>) -> TaskRun {
    let reported = match end {
        ForkEnd::Answered(bytes) => serde_json::from_slice::<ReportedRun>(&bytes)
            .map_err(|error| io::Error::from(error).to_string()),
        ForkEnd::Lost(why) => Err(why),
    };
    match (reported, fault) {
        (Ok(report), None) => report.into_run(),
        (Ok(report), Some(fault)) => TaskRun { end: TaskEnd::Lost(fault), ..report.into_run() },
        (Err(why), fault) => TaskRun::lost(fault.unwrap_or(why), monotonic_ns()),
    }
}
