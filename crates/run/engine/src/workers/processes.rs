//! Workers as processes: the tasks of a group, each in a forked child that tells what came of it.
//!
//! The child works with its copy of the worker and ends. What it must tell goes through a pipe;
//! that it is to stop, and how far it is, through memory that both have.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};
use treering_model::{Counters, Cpu, Interval, Op, OpTotals};
use treering_script::{GroupStart, Task};
use treering_sys::{
    ForkEnd, ForkGate, Forked, fork_worker, hear_forked, monotonic_ns, own_session,
};

use crate::workers::start::cannot_start;
use crate::workers::worker::{Halting, SyncShare, TaskEnd, TaskRun, Worker};
use crate::{CallFailure, Caller, EngineError, HeatBook};

/// No child says more: histograms of all kinds of calls take a few MiB at most.
const ANSWER_MAX: usize = 256 << 20;

/// What a child tells.
#[derive(Debug, Serialize, Deserialize)]
struct Reported {
    end: ReportedEnd,
    began_ns: u64,
    wall_ns: u64,
    cpu: Cpu,
    sync_wall_ns: u64,
    sync_cpu: Cpu,
    files: u64,
    ops: Vec<OpTotals>,
    /// The text of their JSON, and what is not kept.
    counters: (String, Vec<u64>),
    intervals: Vec<Interval>,
    heat: Option<HeatBook>,
}

#[derive(Debug, Serialize, Deserialize)]
enum ReportedEnd {
    Finished,
    Stopped,
    Failed { op: Op, path: Vec<u8>, errno: i32, calls: u32, bytes: u64 },
    Panicked(String),
    Lost(String),
}

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
    let mut children: Vec<Forked> = Vec::with_capacity(tasks.len());
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
    while hear_forked(&mut children, ANSWER_MAX).map_err(cannot(0))? {
        if children.iter().any(Forked::is_silent) {
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
    let end = match run.end {
        TaskEnd::Finished => ReportedEnd::Finished,
        TaskEnd::Stopped => ReportedEnd::Stopped,
        TaskEnd::Panicked(message) => ReportedEnd::Panicked(message),
        TaskEnd::Lost(why) => ReportedEnd::Lost(why),
        TaskEnd::Failed(failure) => {
            let CallFailure { op, path, errno, calls, bytes } = *failure;
            ReportedEnd::Failed { op, path: path.into_os_string().into_vec(), errno, calls, bytes }
        }
    };
    let reported = Reported {
        end,
        began_ns: run.began_ns,
        wall_ns: run.wall_ns,
        cpu: run.cpu,
        sync_wall_ns: run.sync.wall_ns,
        sync_cpu: run.sync.cpu,
        files: run.files,
        ops: run.ops,
        counters: run.counters.into_parts(),
        intervals: worker.recorder.end_phase(),
        heat: run.heat,
    };
    // Numbers and words: nothing of it can be refused.
    serde_json::to_vec(&reported).unwrap_or_default()
}

/// In the parent: the run of a child that has ended.
fn run(end: ForkEnd) -> TaskRun {
    let reported = match end {
        ForkEnd::Answered(bytes) => serde_json::from_slice::<Reported>(&bytes)
            .map_err(|error| io::Error::from(error).to_string()),
        ForkEnd::Lost(why) => Err(why),
    };
    let reported = reported.unwrap_or_else(|why| Reported {
        end: ReportedEnd::Lost(why),
        began_ns: monotonic_ns(),
        wall_ns: 0,
        cpu: Cpu::default(),
        sync_wall_ns: 0,
        sync_cpu: Cpu::default(),
        files: 0,
        ops: Vec::new(),
        counters: Default::default(),
        intervals: Vec::new(),
        heat: None,
    });
    let end = match reported.end {
        ReportedEnd::Finished => TaskEnd::Finished,
        ReportedEnd::Stopped => TaskEnd::Stopped,
        ReportedEnd::Panicked(message) => TaskEnd::Panicked(message),
        ReportedEnd::Lost(why) => TaskEnd::Lost(why),
        ReportedEnd::Failed { op, path, errno, calls, bytes } => {
            let path = OsStr::from_bytes(&path).into();
            TaskEnd::Failed(Box::new(CallFailure { op, path, errno, calls, bytes }))
        }
    };
    TaskRun {
        end,
        began_ns: reported.began_ns,
        wall_ns: reported.wall_ns,
        cpu: reported.cpu,
        sync: SyncShare { wall_ns: reported.sync_wall_ns, cpu: reported.sync_cpu },
        files: reported.files,
        ops: reported.ops,
        counters: Counters::from_json(reported.counters.0).with_bulk(reported.counters.1),
        intervals: reported.intervals,
        heat: reported.heat,
    }
}
