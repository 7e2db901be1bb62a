//! Simulates a run in memory and writes each of its calls.
//!
//! The workers of a parallel group take turns with one call each, so that the order is always the
//! same.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::mem;

use treering_engine::{EntryOrder, MemoryCaller, MemoryFilesystem, SteppedTask};
use treering_fio::rejected_draws;
use treering_model::{Latency, Op, OpTotals, TaskTotals, WorkLimit};
use treering_script::{
    AsyncRequest, Call, CallError, CallResult, CallSubject, Conductor, DirSlot, ExternalProgram,
    FileSlot, Job, ParallelGroup, Phase, ProgramEnd, SessionResult, SessionStop, TargetFacts, Task,
    TaskListener,
};

/// Maximum number of calls printed for a task whose end depends on time.
const TIMED_CALLS: usize = 1000;

/// Limits on the calls printed for a run, and on the tasks of a parallel group: a job file may ask
/// for more than can be simulated in years. The limits are counts instead of times, so that the
/// output is the same on every machine.
const LIMITS: Limits = Limits { calls: 2_000_000, tasks: 4096 };

/// Number of fio's rejected size draws that counts as much as a call.
const DRAWS_OF_A_CALL: u64 = 4096;

/// Maximum numbers of calls and tasks to print.
#[derive(Clone, Copy)]
struct Limits {
    calls: usize,
    tasks: usize,
}

/// Writes the calls of a job, a line each: worker, operation, path, bytes and offset, and the error
/// of a failing call.
///
/// # Errors
/// When the writer fails.
pub(super) fn write_calls(
    job: &dyn Job,
    facts: &TargetFacts,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_limited(job, facts, LIMITS, out)
}

fn write_limited(
    job: &dyn Job,
    facts: &TargetFacts,
    limits: Limits,
    out: &mut dyn Write,
) -> io::Result<()> {
    let calls_max = if job.work() == WorkLimit::Timed { TIMED_CALLS } else { usize::MAX };
    if calls_max < usize::MAX {
        writeln!(out, "# this run ends by time: at most {calls_max} calls of each task are shown")?;
    }
    let mut writer = CallWriter {
        memory: MemoryFilesystem::new(EntryOrder::Creation),
        most: calls_max,
        limits,
        left: limits.calls,
        phases: 0,
        out,
        printed: Ok(()),
    };
    let ran = job.begin(facts).run(&mut writer);
    writer.printed?;
    match ran {
        Err(SessionStop::Failed(why)) => {
            writeln!(writer.out, "# it would end here: {}", why.to_string().escape_debug())
        }
        Err(SessionStop::Ended) | Ok(()) => Ok(()),
    }
}

/// Conducts a session by making its calls in memory and writing them.
struct CallWriter<'o> {
    memory: MemoryFilesystem,
    /// Maximum number of calls printed per task.
    most: usize,
    limits: Limits,
    /// Number of calls that may still be printed.
    left: usize,
    /// Number of phases that have begun.
    phases: u32,
    out: &'o mut dyn Write,
    /// The error that ended the printing.
    printed: io::Result<()>,
}

impl CallWriter<'_> {
    fn keep(&mut self, printed: io::Result<()>) -> SessionResult {
        self.printed = printed;
        if self.printed.is_ok() { Ok(()) } else { Err(SessionStop::Ended) }
    }

    /// Ends the output with the reason why no more calls are shown.
    fn cut(&mut self, reason: &str) -> SessionResult {
        let printed = writeln!(self.out, "# cut here: {reason}");
        self.keep(printed).and(Err(SessionStop::Ended))
    }
}

impl Conductor for CallWriter<'_> {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        self.phases += 1;
        let printed = writeln!(self.out, "phase {}", phase.name.escape_debug());
        self.keep(printed)
    }

    fn group(&mut self, group: ParallelGroup, listener: &mut dyn TaskListener) -> SessionResult {
        let tasks = group.tasks.len();
        if tasks > self.limits.tasks {
            let most = self.limits.tasks;
            return self.cut(&format!("{tasks} tasks at once, {most} are shown at most"));
        }
        match self.perform(group, listener) {
            Ok(true) => Ok(()),
            Ok(false) => self.cut(&format!("it was the work of {} calls", self.limits.calls)),
            Err(error) => self.keep(Err(error)),
        }
    }

    /// Ends the session: the calls of an external program are unknown, so the output ends there.
    fn program(&mut self, _program: ExternalProgram) -> SessionResult<ProgramEnd> {
        Err(SessionStop::Ended)
    }
}

/// A completed call: its line of output, and its contribution to the task's totals.
struct MadeCall {
    line: String,
    op: Op,
    is_done: bool,
    bytes: u64,
}

/// A task in progress.
struct RunningTask {
    actor: SteppedTask<MadeCall>,
    file_op: Op,
    totals: TaskTotals,
    ops: BTreeMap<&'static str, OpTotals>,
    calls: usize,
}

impl RunningTask {
    fn new(task: Task, memory: &MemoryFilesystem, phase: u32, worker: u16) -> Self {
        let mut lines = CallFormatter::default();
        let describe = move |call: &Call<'_>, done: Result<CallResult, CallError>| MadeCall {
            line: match done {
                Ok(_) => lines.line(call),
                // The call would fail the same way in a real directory; the script may expect that.
                Err(error) => format!("{}: {}", lines.line(call), error.errno),
            },
            op: call.op(),
            is_done: done.is_ok(),
            bytes: if let Ok(CallResult::Bytes(bytes)) = done { bytes } else { 0 },
        };
        let actor = SteppedTask::new(task.script, MemoryCaller::new(memory), describe);
        let (kind, subject) = (task.kind, task.subject);
        let totals = TaskTotals { phase, worker, kind, subject, ..TaskTotals::default() };
        Self { actor, file_op: task.file_op, totals, ops: BTreeMap::new(), calls: 0 }
    }

    /// Makes the next call, unless the task has made `most` calls.
    fn step(&mut self, most: usize) -> Option<MadeCall> {
        let made = self.actor.next().filter(|_| self.calls < most)?;
        self.calls += 1;
        self.totals.files += u64::from(made.is_done && made.op == self.file_op);
        self.totals.bytes += made.bytes;
        let none = |op| OpTotals { op, calls: 0, errors: 0, bytes: 0, latency: Latency::new() };
        let op = self.ops.entry(made.op.name()).or_insert_with(|| none(made.op));
        op.calls += 1;
        op.bytes += made.bytes;
        op.errors += u64::from(!made.is_done);
        Some(made)
    }

    /// Closes the script and returns the totals of the task.
    fn end(self) -> TaskTotals {
        let counters = self.actor.end().map(|mut script| script.counters()).unwrap_or_default();
        TaskTotals { counters, ops: self.ops.into_values().collect(), ..self.totals }
    }
}

impl CallWriter<'_> {
    /// Runs the tasks of a group. Returns false if they make more calls than may still be printed.
    fn perform(
        &mut self,
        group: ParallelGroup,
        listener: &mut dyn TaskListener,
    ) -> io::Result<bool> {
        let phase = self.phases - 1;
        let mut drawn = rejected_draws();
        let mut working: Vec<Option<RunningTask>> = (0..)
            .zip(group.tasks)
            .map(|(worker, task)| Some(RunningTask::new(task, &self.memory, phase, worker)))
            .collect();
        let mut ended: Vec<Option<TaskTotals>> = working.iter().map(|_| None).collect();
        while working.iter().any(Option::is_some) {
            for (worker, (task, end)) in working.iter_mut().zip(&mut ended).enumerate() {
                match task.as_mut().map(|task| task.step(self.most)) {
                    Some(Some(_)) if self.left == 0 => return Ok(false),
                    Some(Some(made)) => {
                        let before = mem::replace(&mut drawn, rejected_draws());
                        let work = (drawn - before) / DRAWS_OF_A_CALL + 1;
                        let work = usize::try_from(work).unwrap_or(usize::MAX);
                        self.left = self.left.saturating_sub(work);
                        writeln!(self.out, "{worker} {}", made.line)?;
                    }
                    Some(None) => *end = task.take().map(RunningTask::end),
                    None => {}
                }
            }
        }
        ended.iter().flatten().for_each(|totals| listener.task_ended(totals));
        Ok(true)
    }
}

/// Formats calls as lines; tracks the paths of open directories and files by slot.
#[derive(Debug, Default)]
struct CallFormatter {
    dirs: HashMap<DirSlot, String>,
    files: HashMap<FileSlot, String>,
}

impl CallFormatter {
    fn line(&mut self, call: &Call<'_>) -> String {
        let path = match call.subject() {
            CallSubject::Below(at, name) => self.below(at, &name.to_string_lossy()),
            CallSubject::Directory(dir) => self.dirs.get(&dir).cloned().unwrap_or_default(),
            CallSubject::File(file) => self.files.get(&file).cloned().unwrap_or_default(),
        };
        match *call {
            Call::OpenDir { into, .. } => _ = self.dirs.insert(into, path.clone()),
            Call::Create { into, .. } | Call::Open { into, .. } => {
                self.files.insert(into, path.clone());
            }
            _ => {}
        }
        let detail = self.detail(call);
        let path = if path.is_empty() { ".".to_owned() } else { path.escape_debug().to_string() };
        format!("{} {path}{detail}", call.op())
    }

    fn below(&self, at: DirSlot, name: &str) -> String {
        match self.dirs.get(&at) {
            Some(dir) if !dir.is_empty() => format!("{dir}/{name}"),
            _ => name.to_owned(),
        }
    }

    /// Arguments of a call after its path: bytes, offset, second path.
    fn detail(&self, call: &Call<'_>) -> String {
        match *call {
            Call::ReadAt { bytes, position, .. }
            | Call::WriteAt { bytes, position, .. }
            | Call::ReadMapped { bytes, position, .. }
            | Call::WriteMapped { bytes, position, .. }
            | Call::Write { bytes, position, .. }
            | Call::WriteEach { bytes, position, .. } => format!(" {bytes} at {position}"),
            Call::Read { bytes, .. } | Call::ReadEach { bytes, .. } => format!(" {bytes}"),
            Call::Seek { position, .. } => format!(" to {position}"),
            Call::Truncate { bytes, .. } => format!(" to {bytes}"),
            Call::Rename { to_at, to, .. } | Call::Link { to_at, to, .. } => {
                let to = self.below(to_at, &to.to_string_lossy());
                format!(" to {}", to.escape_debug())
            }
            Call::Submit { requests } => {
                let verb = |writes| if writes { "write" } else { "read" };
                let request = |one: &AsyncRequest| {
                    format!("{} {} at {}", verb(one.writes), one.bytes, one.position)
                };
                format!(" {}", requests.iter().map(request).collect::<Vec<_>>().join(", "))
            }
            Call::Pause { ns } => format!(" {ns} ns"),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use treering_script::{Settings, TargetFacts};

    use super::{LIMITS, Limits, write_limited};
    use crate::trial::beginning::named;

    fn printed(options: &[(&str, &str)], limits: Limits) -> String {
        let option_pairs = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let workload = named(treering_registry::workloads(), "fs_mark").unwrap();
        let job = workload.native(&Settings::new(option_pairs.collect())).unwrap();
        let mut out = Vec::new();
        write_limited(job.as_ref(), &TargetFacts::unknown(), limits, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn calls(text: &str) -> usize {
        text.lines().filter(|line| line.starts_with(|one: char| one.is_ascii_digit())).count()
    }

    #[test]
    fn runs_with_too_many_calls_end_with_a_message() {
        let options = [("files", "5"), ("threads", "2")];
        let whole = printed(&options, LIMITS);
        assert!(!whole.contains("# cut"), "{whole}");
        let count = calls(&whole);
        assert_eq!(printed(&options, Limits { calls: count, ..LIMITS }), whole);
        for most in [0, 1, count - 1] {
            let cut = printed(&options, Limits { calls: most, ..LIMITS });
            assert_eq!(calls(&cut), most, "{cut}");
            let words = format!("# cut here: it was the work of {most} calls\n");
            assert!(cut.ends_with(&words), "{cut}");
            assert!(whole.starts_with(cut.strip_suffix(&words).unwrap()), "{cut}");
        }
    }

    #[test]
    fn groups_with_too_many_tasks_are_not_begun() {
        let options = [("files", "5"), ("threads", "3")];
        assert!(!printed(&options, Limits { tasks: 3, ..LIMITS }).contains("# cut"));
        let cut = printed(&options, Limits { tasks: 2, ..LIMITS });
        assert!(cut.ends_with("# cut here: 3 tasks at once, 2 are shown at most\n"), "{cut}");
    }
}
