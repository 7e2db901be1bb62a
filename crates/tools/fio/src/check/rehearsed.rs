//! Request sequences of native jobs, found by running the jobs in memory, without a disk.

use std::collections::HashMap;
use std::ops::ControlFlow;

use treering_engine::{
    Caller as _, EntryOrder, MemoryCaller, MemoryFilesystem, SessionRequest, rehearse,
    rehearse_session,
};
use treering_model::TaskTotals;
use treering_script::{
    Call, FileSlot, Job, ParallelGroup, SessionError, TargetFacts, Task, TaskListener,
};

use super::Moved;

/// Calls after which a job without requests is given up.
const CALLS_MAX: usize = 50_000_000;

/// First requests of each task, in all phases but the first; `wanted` is the number of requests of
/// each task.
///
/// # Errors
/// When the job cannot go on in memory.
pub fn rehearsed_requests(
    job: &dyn Job,
    wanted: &[usize],
) -> Result<Vec<Vec<Moved>>, SessionError> {
    let memory = MemoryFilesystem::new(EntryOrder::Creation);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut all = Vec::new();
    let mut phases = 0;
    let mut perform = |group: ParallelGroup, phase: u32, listener: &mut dyn TaskListener| {
        for (worker, mut task) in (0..).zip(group.tasks) {
            let count = wanted.get(all.len()).copied().filter(|_| phase > 0);
            let made = drive(&mut task, &memory, count)?;
            if phase > 0 {
                all.push(made);
            }
            let (kind, counters) = (task.kind.clone(), task.script.counters());
            let totals = TaskTotals { phase, worker, kind, counters, ..TaskTotals::default() };
            listener.task_ended(&totals);
        }
        Ok(())
    };
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| match request {
        SessionRequest::Phase(_) => {
            phases += 1;
            Ok(())
        }
        SessionRequest::Group(group, listener) => perform(group, phases - 1, listener),
    });
    rehearsed?;
    Ok(all)
}

/// Runs a task until its end, or until it has made the wanted number of requests.
fn drive(
    task: &mut Task,
    memory: &MemoryFilesystem,
    count: Option<usize>,
) -> Result<Vec<Moved>, SessionError> {
    let mut caller = MemoryCaller::new(memory);
    caller.open_queue(task.queue).map_err(|error| SessionError::new(error.to_string()))?;
    let (mut notes, mut calls) = (RequestNotes::default(), 0);
    let mut watch = |call: &Call<'_>, _done| {
        calls += 1;
        notes.note(call);
        let is_enough = count.is_some_and(|count| notes.made.len() >= count) || calls > CALLS_MAX;
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    rehearse(task.script.as_mut(), &mut caller, 1, &mut watch)
        .map_err(|error| SessionError::new(error.errno.to_string()))?;
    notes.made.truncate(count.unwrap_or(usize::MAX));
    Ok(notes.made)
}

/// Open files, and the requests recorded so far.
#[derive(Default)]
struct RequestNotes {
    names: HashMap<FileSlot, String>,
    /// File position, in bytes, of the next read or write without an explicit offset.
    places: HashMap<FileSlot, u64>,
    made: Vec<Moved>,
}

impl RequestNotes {
    fn take(&mut self, file: FileSlot, writes: bool, offset: u64, bytes: u32) {
        let name = self.names.get(&file).cloned().unwrap_or_default();
        self.made.push(Moved { file: name, writes, offset, bytes: bytes.into() });
    }

    fn take_next(&mut self, file: FileSlot, writes: bool, bytes: u32) {
        let place = self.places.entry(file).or_default();
        let offset = *place;
        *place += u64::from(bytes);
        self.take(file, writes, offset, bytes);
    }

    /// Records the requests of a call.
    fn note(&mut self, call: &Call<'_>) {
        match *call {
            Call::Create { path, into, .. } | Call::Open { path, into, .. } => {
                self.names.insert(into, path.to_string_lossy().into_owned());
                self.places.insert(into, 0);
            }
            Call::Seek { file, position } => {
                self.places.insert(file, position);
            }
            Call::Read { file, bytes } => self.take_next(file, false, bytes),
            Call::Write { file, bytes, .. } => self.take_next(file, true, bytes),
            Call::ReadAt { file, bytes, position } | Call::ReadMapped { file, bytes, position } => {
                self.take(file, false, position, bytes);
            }
            Call::WriteAt { file, bytes, position }
            | Call::WriteMapped { file, bytes, position } => {
                self.take(file, true, position, bytes);
            }
            Call::Submit { requests } => requests.iter().for_each(|request| {
                self.take(request.file, request.writes, request.position, request.bytes);
            }),
            _ => {}
        }
    }
}
