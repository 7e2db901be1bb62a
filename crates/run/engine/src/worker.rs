//! A worker: runs the script of one task, and takes its time and CPU.
//!
//! The loop here is the hottest of the program: per step one call of the script, one of the
//! concrete caller, a few counters. Everything that allocates happens before or after it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use treering_model::{Cpu, Interval, Op, OpTotals};
use treering_script::{Completion, Identity, Outcome, Scheduling, Script, Task, Usage};
use treering_sys::{
    Disguise, Scheduled, StopFlag, ThreadCpu, monotonic_ns, thread_cpu, thread_usage,
};

use crate::handicap::lag;
use crate::progress::ProgressLine;
use crate::{CallFailure, Caller, HeatBook, Recorder, TrialClock};

/// One worker with all that is its own.
#[derive(Debug)]
pub(crate) struct Worker<C> {
    pub(crate) caller: C,
    pub(crate) recorder: Recorder,
    pub(crate) handicap_percent: u32,
    pub(crate) line: Arc<ProgressLine>,
    pub(crate) clock: TrialClock,
}

/// What can end a task early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halting<'a> {
    pub(crate) stop: &'a StopFlag,
    /// Whether only the run itself does, and no signal.
    pub(crate) finishes: bool,
}

impl Halting<'_> {
    #[inline]
    fn is_over(self) -> bool {
        self.stop.is_raised() && (!self.finishes || self.stop.is_halted())
    }
}

/// How a task ended.
#[derive(Debug)]
pub(crate) enum TaskEnd {
    /// Its script has no more steps.
    Finished,
    /// The stop flag was raised.
    Stopped,
    /// A call failed.
    Failed(Box<CallFailure>),
    /// A defect.
    Panicked(String),
    /// Its process ended without a word.
    Lost(String),
}

/// What a task came to, finished or not.
#[derive(Debug)]
pub(crate) struct TaskRun {
    pub(crate) end: TaskEnd,
    pub(crate) began_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu: Cpu,
    pub(crate) sync: SyncShare,
    pub(crate) files: u64,
    pub(crate) ops: Vec<OpTotals>,
    pub(crate) notes: Vec<u64>,
    /// The rate of each second, of a worker in a process of its own.
    pub(crate) intervals: Vec<Interval>,
    /// What it read and wrote, where a book of it is kept.
    pub(crate) heat: Option<HeatBook>,
}

/// What syncs took of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SyncShare {
    pub(crate) wall_ns: u64,
    pub(crate) cpu: Cpu,
}

/// What a script's run leaves, also when it ends in a panic.
#[derive(Debug, Default)]
struct Tally {
    files: u64,
    sync: SyncShare,
}

impl<C: Caller> Worker<C> {
    /// Runs a task to its end, or until the flag is raised or a call fails. A panic of the script
    /// or of the caller ends the task, not the process.
    pub(crate) fn run(&mut self, task: &mut Task, halting: Halting<'_>) -> TaskRun {
        let mut tally = Tally::default();
        let queue = self.caller.open_queue(task.queue);
        let before = thread_usage();
        let began_ns = monotonic_ns();
        self.caller.open_through(task.direct, task.synchronous);
        self.caller.by_vectors(task.vectored);
        self.caller.use_buffers(task.buffers.clone());
        self.recorder.begin_task(began_ns);
        // The worker's own state is counters; after a panic they are counted out and the run ends.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let _worn = match task.identity.map(disguise).transpose() {
                Ok(worn) => worn,
                Err(why) => return TaskEnd::Lost(why),
            };
            let _scheduled = match scheduled(&task.scheduling) {
                Ok(scheduled) => scheduled,
                Err(why) => return TaskEnd::Lost(why),
            };
            if let Err(error) = queue {
                return TaskEnd::Lost(format!("no queue for its requests: {error}"));
            }
            task.script.began(self.clock.at_ns(began_ns));
            let end = self.follow(task.script.as_mut(), task.file_op, halting, &mut tally);
            lag(self.handicap_percent, began_ns, halting.stop);
            end
        }));
        let wall_ns = monotonic_ns() - began_ns;
        let after = thread_usage();
        let cpu = in_words(after.cpu).minus(in_words(before.cpu));
        self.caller.close_all();
        let end = ended.unwrap_or_else(|panic| TaskEnd::Panicked(message(panic.as_ref())));
        let ops = self.recorder.end_task();
        let notes = match end {
            TaskEnd::Panicked(_) => Vec::new(),
            _ => {
                task.script.used(Usage {
                    switches: after.switches - before.switches,
                    major_faults: after.major_faults - before.major_faults,
                    minor_faults: after.minor_faults - before.minor_faults,
                });
                task.script.notes()
            }
        };
        let (sync, files, intervals) = (tally.sync, tally.files, Vec::new());
        let heat = self.caller.take_heat();
        TaskRun { end, began_ns, wall_ns, cpu, sync, files, ops, notes, intervals, heat }
    }

    fn follow(
        &mut self,
        script: &mut dyn Script,
        file_op: Op,
        halting: Halting<'_>,
        tally: &mut Tally,
    ) -> TaskEnd {
        let Self { caller, recorder, line, clock, .. } = self;
        let mut outcome = Outcome::Start;
        loop {
            if halting.is_over() {
                return TaskEnd::Stopped;
            }
            // By reference: a step is not copied for the sake of its option.
            let next = script.next(outcome);
            let Some(step) = &next else {
                return TaskEnd::Finished;
            };
            let op = step.call.op();
            let sync_began = if op == Op::Sync { Some(SyncTimer::begin()) } else { None };
            let began = recorder.before(op);
            let reply = match caller.call(step) {
                Ok(reply) => reply,
                Err(failure) => {
                    recorder.after(op, began, failure.calls, failure.bytes, true);
                    line.add(failure.calls, failure.bytes, 0);
                    return TaskEnd::Failed(failure);
                }
            };
            let (bytes, refused) = match reply.outcome {
                Outcome::Bytes(bytes) => (bytes, false),
                Outcome::Refused | Outcome::Failed(_) => (0, true),
                Outcome::Full(bytes) => (bytes, true),
                Outcome::Reaped(completions) => (moved(completions), false),
                Outcome::Start
                | Outcome::Done
                | Outcome::Entries(_)
                | Outcome::Size(_)
                | Outcome::Taken(_)
                | Outcome::Room(_) => (0, false),
            };
            let timed = recorder.after(op, began, reply.calls, bytes, refused);
            if let Some((began_ns, ended_ns)) = timed {
                script.timed(clock.at_ns(began_ns), clock.at_ns(ended_ns));
            }
            if let Some(timer) = sync_began {
                timer.end(&mut tally.sync);
            }
            let files = u64::from(op == file_op && !refused);
            tally.files += files;
            line.add(reply.calls, bytes, files);
            outcome = reply.outcome;
        }
    }
}

/// Takes the share of a sync.
struct SyncTimer {
    cpu: Cpu,
    began_ns: u64,
}

impl SyncTimer {
    #[cold]
    fn begin() -> Self {
        Self { cpu: cpu_now(), began_ns: monotonic_ns() }
    }

    #[cold]
    fn end(self, share: &mut SyncShare) {
        share.wall_ns += monotonic_ns() - self.began_ns;
        share.cpu = share.cpu.plus(cpu_now().minus(self.cpu));
    }
}

/// The bytes of requests that have ended.
fn moved(completions: &[Completion]) -> u64 {
    completions.iter().filter_map(|one| one.result.ok()).map(u64::from).sum()
}

/// The worker works as somebody else until this is dropped.
fn disguise(identity: Identity) -> Result<Disguise, String> {
    let Identity { user, group } = identity;
    Disguise::put_on(user, group)
        .map_err(|errno| format!("cannot work as user {user}, group {group}: {errno}"))
}

/// The worker is scheduled as its task asks until this is dropped.
fn scheduled(asked: &Scheduling) -> Result<Option<Scheduled>, String> {
    if *asked == Scheduling::default() {
        return Ok(None);
    }
    let put_on = Scheduled::put_on(asked);
    put_on.map(Some).map_err(|errno| format!("cannot be scheduled as it asks: {errno}"))
}

/// CPU of the calling thread, in the model's word.
fn cpu_now() -> Cpu {
    in_words(thread_cpu())
}

fn in_words(cpu: ThreadCpu) -> Cpu {
    Cpu { user_ns: cpu.user_ns, system_ns: cpu.system_ns }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a word".to_owned())
}
