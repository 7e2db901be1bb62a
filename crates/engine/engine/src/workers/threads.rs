//! Workers as threads: each task of a group runs on a thread of its own.

use std::io;
use std::thread;

use treering_script::{GroupStart, Task};

use crate::workers::gate::StartGate;
use crate::workers::start::cannot_start;
use crate::workers::worker::{StopConditions, TaskEnd, TaskRun, Worker};
use crate::{Caller, EngineError};

/// Runs each task on a thread of its own; the group decides when they start. A failing task stops
/// the others.
pub(crate) fn on_threads<C: Caller>(
    workers: &mut [Worker<C>],
    tasks: &mut [Task],
    start: GroupStart,
    halting: StopConditions<'_>,
) -> Result<Vec<TaskRun>, EngineError> {
    let stop = halting.stop;
    let wanted = tasks.len();
    let gate = StartGate::new(if start == GroupStart::Together { tasks.len() } else { 1 });
    let runs = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(tasks.len());
        for (number, (worker, task)) in workers.iter_mut().zip(tasks).enumerate() {
            let gate = &gate;
            let work = move || {
                worker.recorder.prepare();
                let run = gate.pass().then(|| worker.run(task, halting))?;
                if matches!(run.end, TaskEnd::Failed(_) | TaskEnd::Panicked(_)) {
                    stop.halt();
                }
                Some(run)
            };
            let name = format!("worker {number}");
            match thread::Builder::new().name(name).spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    gate.cancel();
                    // Workers that did not wait at the gate end as soon as they can.
                    stop.halt();
                    return Err(cannot_start(number, wanted, source));
                }
            }
        }
        // A worker catches the panics of its task; one outside of that is reported as a missing
        // run.
        Ok(threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>())
    });
    stop.lift_halt();
    let missing = |worker| EngineError::Start {
        worker,
        source: io::Error::other("the worker's thread ended before its task"),
    };
    let runs = runs?.into_iter().enumerate();
    runs.map(|(worker, run)| run.ok_or_else(|| missing(worker))).collect()
}
