//! Worker: runs the code of one task, and measures its time and CPU.
//!
//! [`TaskCalls::call`] is the hottest function of the program: one call of the concrete caller, and
//! a few counters. All allocations happen before or after it.

use std::any::Any;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use treering_model::{Counters, CpuTime, IntervalTotals, Op, OpTotals};
use treering_script::{
    Call, CallError, CallResult, CallSubject, Completion, Credentials, DirEntries, DirSlot,
    FileSlot, Io, ResourceUsage, SchedulingParameters, Script, Stop, Task, TaskUsage,
};
use treering_sys::{
    RunAs, SchedulingGuard, StopFlag, ThreadCpu, ThreadUsage, monotonic_ns, thread_cpu,
    thread_usage,
};

use crate::progress::ProgressLine;
use crate::workers::handicap::slow_down;
use crate::{CallFailure, CallRecorder, CallReply, Caller, HeatBook, TrialClock};

/// Worker and its private state.
#[derive(Debug)]
pub(crate) struct Worker<C> {
    /// Number in the group, counted over all ranks.
    pub(crate) number: usize,
    pub(crate) caller: C,
    pub(crate) recorder: CallRecorder,
    pub(crate) handicap_percent: u32,
    pub(crate) line: Arc<ProgressLine>,
    pub(crate) clock: TrialClock,
}

/// Conditions that end a task early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopConditions<'a> {
    pub(crate) stop: &'a StopFlag,
    /// True if only the run itself ends the task, not a signal.
    pub(crate) finishes: bool,
}

impl StopConditions<'_> {
    #[inline]
    pub(crate) fn is_over(self) -> bool {
        self.stop.is_raised() && (!self.finishes || self.stop.is_halted())
    }
}

/// End of a task.
#[derive(Debug)]
pub(crate) enum TaskEnd {
    /// The script returned.
    Finished,
    /// The stop flag was raised.
    Stopped,
    /// A call failed.
    Failed(Box<CallFailure>),
    /// Defect: the script or the caller panicked, with this message.
    Panicked(String),
    /// The process ended without reporting.
    Lost(String),
}

/// Result of a task, finished or not.
#[derive(Debug)]
pub(crate) struct TaskRun {
    pub(crate) end: TaskEnd,
    pub(crate) began_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu: CpuTime,
    pub(crate) sync: SyncShare,
    pub(crate) files: u64,
    pub(crate) ops: Vec<OpTotals>,
    pub(crate) counters: Counters,
    /// Rates of each second; only of a worker in a process of its own.
    pub(crate) intervals: Vec<IntervalTotals>,
    /// Recorded accesses, if heat is recorded.
    pub(crate) heat: Option<HeatBook>,
}

/// Share of a task spent in syncs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SyncShare {
    pub(crate) wall_ns: u64,
    pub(crate) cpu: CpuTime,
}

/// Counts of a script's run that survive a panic.
#[derive(Debug, Default)]
struct RunTally {
    files: u64,
    sync: SyncShare,
}

impl<C: Caller> Worker<C> {
    /// Runs a task to its end, or until the flag is raised or a call fails. A panic of the script
    /// or of the caller ends the task, not the process.
    pub(crate) fn run(&mut self, task: &mut Task, halting: StopConditions<'_>) -> TaskRun {
        let mut tally = RunTally::default();
        self.caller.use_buffers(task.buffers.clone());
        let queue = self.caller.open_queue(task.queue);
        let paths = self.caller.by_whole_paths(task.whole_paths);
        self.recorder.prepare();
        let before = thread_usage();
        let began_ns = monotonic_ns();
        self.caller.open_through(task.direct, task.synchronous);
        self.caller.by_vectors(task.vectored);
        self.recorder.begin_task(began_ns);
        // The worker's own state is counters; after a panic they are counted out and the run ends.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let _worn = match task.identity.map(run_as).transpose() {
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
            if let Err(error) = paths {
                return TaskEnd::Lost(format!("no way to the directory by its path: {error}"));
            }
            let Self { caller, recorder, line, clock, .. } = self;
            let calls = TaskCalls {
                caller,
                recorder,
                line,
                clock: *clock,
                halting,
                file_op: task.file_op,
                began_ns,
                before,
                timed: None,
                tally: &mut tally,
                failed: FailedCall { op: task.file_op, subject: OwnedSubject::default() },
            };
            let end = calls.follow(task.script.as_mut());
            slow_down(self.handicap_percent, began_ns, halting.stop);
            end
        }));
        let wall_ns = monotonic_ns() - began_ns;
        let TaskUsage { cpu, usage } = spent_since(&before);
        self.caller.close_all();
        let end = ended.unwrap_or_else(|panic| TaskEnd::Panicked(message(panic.as_ref())));
        let ops = self.recorder.end_task();
        let counters = match end {
            TaskEnd::Panicked(_) => Counters::default(),
            _ => {
                task.script.used(usage);
                task.script.counters()
            }
        };
        let (sync, files, intervals) = (tally.sync, tally.files, Vec::new());
        let heat = self.caller.take_heat();
        TaskRun { end, began_ns, wall_ns, cpu, sync, files, ops, counters, intervals, heat }
    }
}

/// Calls of one task.
struct TaskCalls<'w, C> {
    caller: &'w mut C,
    recorder: &'w mut CallRecorder,
    line: &'w ProgressLine,
    clock: TrialClock,
    halting: StopConditions<'w>,
    file_op: Op,
    began_ns: u64,
    /// Resource usage of the thread at the start of the task.
    before: ThreadUsage,
    /// Start and end of the last call by the monotonic clock, if it was timed.
    timed: Option<(u64, u64)>,
    tally: &'w mut RunTally,
    failed: FailedCall,
}

/// Call that creates or removes a directory directly in the target: the root of a tree.
#[derive(Clone, Copy)]
enum TreeCall<'c> {
    Make(&'c CStr),
    Remove(&'c CStr),
}

impl<'c> TreeCall<'c> {
    #[inline]
    fn from_call(call: &Call<'c>) -> Option<Self> {
        match *call {
            Call::MakeDir { at: DirSlot::TARGET, name }
            | Call::MakePrivateDir { at: DirSlot::TARGET, name } => Some(Self::Make(name)),
            Call::RemoveDir { at: DirSlot::TARGET, name } => Some(Self::Remove(name)),
            _ => None,
        }
    }
}

impl<C: Caller> TaskCalls<'_, C> {
    #[cold]
    fn announce(&mut self, call: &Call<'_>, name: &CStr) -> Result<(), Stop> {
        let announced = self.caller.will_make(name);
        announced.map_err(|error| {
            self.failed.note_call(call);
            Stop::Failed(error)
        })
    }

    /// Records the result of making or removing a tree, outside of the call's time.
    #[cold]
    fn record(
        &mut self,
        of_tree: TreeCall<'_>,
        replied: Result<CallReply, CallError>,
    ) -> Result<CallReply, CallError> {
        match (of_tree, &replied) {
            (TreeCall::Make(name), Ok(_)) => return self.caller.has_made(name).and(replied),
            (TreeCall::Make(name), Err(_)) => self.caller.has_not_made(name),
            (TreeCall::Remove(name), Ok(_)) => self.caller.has_removed(name),
            (TreeCall::Remove(_), Err(_)) => {}
        }
        replied
    }

    /// Runs the code of a task.
    fn follow(mut self, script: &mut dyn Script) -> TaskEnd {
        match script.run(&mut self) {
            Ok(()) => TaskEnd::Finished,
            Err(Stop::Asked) => TaskEnd::Stopped,
            Err(Stop::Failed(error)) => {
                let FailedCall { op, subject } = &self.failed;
                let failure =
                    CallFailure::for_subject(self.caller, *op, subject.as_subject(), error);
                TaskEnd::Failed(Box::new(failure))
            }
        }
    }
}

impl<C: Caller> Io for TaskCalls<'_, C> {
    #[inline]
    fn call(&mut self, call: &Call<'_>) -> Result<CallResult, Stop> {
        if self.halting.is_over() {
            return Err(Stop::Asked);
        }
        let op = call.op();
        let sync_began = if op == Op::Sync { Some(SyncTimer::begin()) } else { None };
        let of_tree = matches!(op, Op::MakeDir | Op::RemoveDir).then(|| TreeCall::from_call(call));
        let of_tree = of_tree.flatten();
        if let Some(TreeCall::Make(name)) = of_tree {
            self.announce(call, name)?;
        }
        let began = self.recorder.before(op);
        let replied = self.caller.call(call);
        let (calls, bytes) = match &replied {
            Ok(CallReply { done: CallResult::Bytes(bytes), calls }) => (*calls, *bytes),
            Ok(CallReply { done: CallResult::Reaped, calls }) => {
                (*calls, moved(self.caller.reaped()))
            }
            Ok(CallReply { calls, .. }) => (*calls, 0),
            Err(error) => (error.calls, error.bytes),
        };
        self.timed = self.recorder.after(op, began, calls, bytes, replied.is_err());
        if let Some(timer) = sync_began {
            timer.end(&mut self.tally.sync);
        }
        let replied = match of_tree {
            None => replied,
            Some(of_tree) => self.record(of_tree, replied),
        };
        let files = u64::from(op == self.file_op && replied.is_ok());
        self.tally.files += files;
        self.line.add(calls, bytes, files);
        match replied {
            Ok(reply) => Ok(reply.done),
            Err(error) => {
                self.failed.note_call(call);
                Err(Stop::Failed(error))
            }
        }
    }

    fn reaches_kernel(&self) -> bool {
        self.caller.reaches_kernel()
    }

    fn entries(&self) -> DirEntries<'_> {
        self.caller.entries()
    }

    fn reaped(&self) -> &[Completion] {
        self.caller.reaped()
    }

    #[inline]
    fn timed(&self) -> Option<(u64, u64)> {
        let (began_ns, ended_ns) = self.timed?;
        Some((self.clock.at_ns(began_ns), self.clock.at_ns(ended_ns)))
    }

    fn began_ns(&self) -> u64 {
        self.clock.at_ns(self.began_ns)
    }

    fn spent(&self) -> TaskUsage {
        spent_since(&self.before)
    }
}

/// Resource usage of the calling thread since `before`.
fn spent_since(before: &ThreadUsage) -> TaskUsage {
    let now = thread_usage();
    TaskUsage {
        cpu: in_words(now.cpu).minus(in_words(before.cpu)),
        usage: ResourceUsage {
            switches: now.switches - before.switches,
            major_faults: now.major_faults - before.major_faults,
            minor_faults: now.minor_faults - before.minor_faults,
        },
    }
}

/// Last failed call, named if the task ends by it. Since many failures are expected, only kind and
/// name are kept for each.
#[derive(Debug)]
struct FailedCall {
    op: Op,
    subject: OwnedSubject,
}

/// Owned copy of a [`CallSubject`].
#[derive(Debug, Default)]
struct OwnedSubject {
    at: DirSlot,
    file: Option<FileSlot>,
    /// Name with its terminating NUL; empty for the directory itself.
    name: Vec<u8>,
}

impl FailedCall {
    fn note_call(&mut self, call: &Call<'_>) {
        self.op = call.op();
        self.subject.name.clear();
        self.subject.file = None;
        match call.subject() {
            CallSubject::Below(at, name) => {
                self.subject.at = at;
                self.subject.name.extend_from_slice(name.to_bytes_with_nul());
            }
            CallSubject::Directory(at) => self.subject.at = at,
            CallSubject::File(file) => self.subject.file = Some(file),
        }
    }
}

impl OwnedSubject {
    fn as_subject(&self) -> CallSubject<'_> {
        match (self.file, CStr::from_bytes_with_nul(&self.name)) {
            (Some(file), _) => CallSubject::File(file),
            (None, Ok(name)) => CallSubject::Below(self.at, name),
            (None, Err(_)) => CallSubject::Directory(self.at),
        }
    }
}

/// Timer of the sync share of a task.
struct SyncTimer {
    cpu: CpuTime,
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

/// Bytes moved by completed requests.
fn moved(completions: &[Completion]) -> u64 {
    completions.iter().filter_map(|completion| completion.result.ok()).map(u64::from).sum()
}

/// Switches the worker to another identity until the result is dropped.
fn run_as(identity: Credentials) -> Result<RunAs, String> {
    let Credentials { user, group } = identity;
    RunAs::put_on(user, group)
        .map_err(|errno| format!("cannot work as user {user}, group {group}: {errno}"))
}

/// Applies the scheduling parameters of the task until the guard is dropped.
fn scheduled(parameters: &SchedulingParameters) -> Result<Option<SchedulingGuard>, String> {
    if *parameters == SchedulingParameters::default() {
        return Ok(None);
    }
    let put_on = SchedulingGuard::put_on(parameters);
    put_on.map(Some).map_err(|errno| format!("cannot be scheduled as it asks: {errno}"))
}

/// CPU time of the calling thread.
fn cpu_now() -> CpuTime {
    in_words(thread_cpu())
}

fn in_words(cpu: ThreadCpu) -> CpuTime {
    CpuTime { user_ns: cpu.user_ns, system_ns: cpu.system_ns }
}

/// Text of a panic payload.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a word".to_owned())
}
