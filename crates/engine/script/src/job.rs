//! Jobs and their runs: phases, groups of tasks, and the scripts of the tasks.
//!
//! A [`Session`] is a function with the loops of the imitated tool: it asks a [`Conductor`] for
//! phases and for groups of tasks, whose scripts run in parallel. The session receives the totals
//! of the tasks, so that a later phase can depend on an earlier one. Nothing here touches a disk.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use treering_model::{Caution, Counters, Fact, Metric, Op, RunMode, TaskTotals, WorkLimit};

use crate::{Buffers, ConfigError, Deadline, Io, ResourceUsage, SessionError, Stop, SyncScope};
use treering_sys::{RequestFlags, SchedulingParameters, SyncMode};

mod device;
mod layouts;
mod program;
mod queue;
mod request;
mod scale;

pub use device::JobDevice;
pub use layouts::LayoutFeed;
pub use program::{ExternalProgram, ProgramEnd, ProgramWatch, ReportedPhase};
pub use queue::{IoQueue, QueueKind};
pub use request::RunRequest;
pub use scale::{ScaleUnit, WorkScale};

/// Treatment of the kernel's caches before a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// Keeps the caches.
    #[default]
    Keep,
    /// Drops page cache, dentries and inodes.
    Drop,
}

/// Code of a task.
pub trait Script: Send {
    /// Runs the task to its end.
    ///
    /// # Errors
    /// The unexpected result of a call, passed on unchanged.
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop>;

    /// Receives the resource usage of the task, at its end.
    fn used(&mut self, _usage: ResourceUsage) {}

    /// Counters for the session and its output, in a struct of the workload.
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
}

/// User and group of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// User ID.
    pub user: u32,
    /// Group ID.
    pub group: u32,
}

/// Named unit of work, done by a single worker.
pub struct Task {
    /// Kind of work, a key of the totals.
    pub kind: String,
    /// File, directory or tree that the task works on.
    pub subject: String,
    /// State of the subject at the start; may be empty.
    pub state: String,
    /// The imitated tool's summary row, empty in native mode.
    pub tally: String,
    /// Bytes named by the list in use, 0 without a list.
    pub listed_bytes: u64,
    /// Expected bytes read and written, for progress; 0 if unknown.
    pub expected_bytes: u64,
    /// Op whose successful calls each count as a file.
    pub file_op: Op,
    /// True if files are opened with `O_DIRECT`.
    pub direct: bool,
    /// Mode of synchronous opens: `O_SYNC`, `O_DSYNC` or neither.
    pub synchronous: SyncMode,
    /// Flags of vectored reads and writes (`preadv2`, `readv`); `None` for plain ones.
    pub vectored: Option<RequestFlags>,
    /// True if calls use the whole path of each item, starting with the path given by the user, and
    /// no directory is opened.
    pub whole_paths: bool,
    /// Queue for asynchronous requests, if any.
    pub queue: Option<IoQueue>,
    /// Buffers for reads and writes; `None` uses the payload.
    pub buffers: Option<Buffers>,
    /// CPU affinity and priorities.
    pub scheduling: SchedulingParameters,
    /// User and group of the worker; `None` keeps those of the process.
    pub identity: Option<Credentials>,
    /// Code of the task.
    pub script: Box<dyn Script>,
}

impl Task {
    /// A task with defaults: without state, tally and expected bytes.
    pub fn new(kind: &str, subject: &str, file_op: Op, script: Box<dyn Script>) -> Self {
        Self {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            state: String::new(),
            tally: String::new(),
            listed_bytes: 0,
            expected_bytes: 0,
            file_op,
            direct: false,
            synchronous: SyncMode::No,
            vectored: None,
            whole_paths: false,
            queue: None,
            buffers: None,
            scheduling: SchedulingParameters::default(),
            identity: None,
            script,
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task({} {})", self.kind, self.subject)
    }
}

/// Kind of worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerKind {
    /// A thread: workers share descriptors and address space.
    #[default]
    Thread,
    /// A process of its own.
    Process,
    /// A process in a session of its own. If the kernel groups by sessions
    /// (`sched_autogroup_enabled`), each worker gets the CPU share of a group.
    Session,
}

/// Start of the workers of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupStart {
    /// Workers start together.
    #[default]
    Together,
    /// Each worker starts as soon as it is created.
    AsMade,
}

/// Effect of a stop signal on a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignalEffect {
    /// Tasks stop at the next step.
    #[default]
    Stop,
    /// Tasks are finished first.
    Finish,
}

/// Treatment of tasks that ended early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnfinishedTasks {
    /// Discards unfinished tasks: only finished ones are reported.
    #[default]
    Dropped,
    /// Reports the work done so far as if the task were finished.
    Reported,
}

/// Time limit of a group.
#[derive(Clone, Debug)]
pub struct TimeLimit {
    /// Duration from the start of the group.
    pub after: Duration,
    /// Deadline that expires then.
    pub deadline: Deadline,
}

/// Concurrent execution of the tasks of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelOptions {
    /// Kind of workers.
    pub workers: WorkerKind,
    /// Start of the workers.
    pub start: GroupStart,
    /// Effect of a stop signal.
    pub on_signal: SignalEffect,
    /// Treatment of tasks that end early.
    pub unfinished: UnfinishedTasks,
}

/// Tasks that run in parallel between two barriers, each on a worker of its own.
#[derive(Debug, Default)]
pub struct ParallelGroup {
    /// Shell command that is run before everything else. The user is responsible for its effects.
    pub command: Option<String>,
    /// Treatment of the caches before the group.
    pub caches: CachePolicy,
    /// True if the filesystem is remounted before everything else.
    pub remount: bool,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Concurrent execution of the tasks.
    pub side_by_side: ParallelOptions,
    /// Time limit, for groups that are ended by time.
    pub time_limit: Option<TimeLimit>,
    /// Interval of ticks, at which the session reports progress and its output.
    pub tick_every: Option<Duration>,
}

impl ParallelGroup {
    /// A group with defaults: without a time limit, on threads.
    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

/// Part of a trial between barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// Number of tasks in the phase.
    pub tasks: u32,
}

impl Phase {
    /// A phase of a number of tasks, capped at `u32::MAX`.
    pub fn new(name: impl Into<String>, tasks: impl TryInto<u32>) -> Self {
        Self { name: name.into(), tasks: tasks.try_into().unwrap_or(u32::MAX) }
    }
}

/// Receives the results of a group while it works.
///
/// A closure over the totals of a task is a listener that ignores ticks and the tasks of other
/// ranks.
pub trait TaskListener {
    /// Receives the totals of a task, tasks of a group in the order of their workers.
    fn task_ended(&mut self, totals: &TaskTotals);

    /// Receives the totals of a task of another rank, if each rank runs the whole session in a
    /// directory of its own. The task is the counterpart of one that runs here.
    fn others_task_ended(&mut self, _totals: &TaskTotals) {}

    /// Is called each [`ParallelGroup::tick_every`] while the group works, with the nanoseconds
    /// since its start. Returns the counters to report to the sinks, empty for none.
    fn tick(&mut self, _elapsed_ns: u64) -> Counters {
        Counters::default()
    }
}

impl<F: FnMut(&TaskTotals)> TaskListener for F {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self(totals);
    }
}

/// A listener that passes the totals of all ranks to a closure.
#[derive(Clone, Copy, Debug)]
pub struct AllRanks<F>(pub F);

impl<F: FnMut(&TaskTotals)> TaskListener for AllRanks<F> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self.0(totals);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.0(totals);
    }
}

/// A listener that ignores the totals, for groups that are not measured.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl TaskListener for NoListener {
    fn task_ended(&mut self, _totals: &TaskTotals) {}
}

/// Reason for an early end of a session, passed on with `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStop {
    /// The session cannot go on.
    Failed(SessionError),
    /// The conductor ended the run. It keeps the error, if there is one.
    Ended,
}

impl SessionStop {
    /// Converts an optional error to a result.
    ///
    /// # Errors
    /// The error, if there is one.
    pub fn check(failure: Option<SessionError>) -> Result<(), Self> {
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl From<SessionError> for SessionStop {
    fn from(error: SessionError) -> Self {
        Self::Failed(error)
    }
}

/// Result of a session or of a request to its conductor.
pub type SessionResult<T = ()> = Result<T, SessionStop>;

/// Carries out the phases and groups of a session: at a real place, in memory, or by printing them.
pub trait Conductor {
    /// Ends the current phase, if there is one, and begins this one.
    ///
    /// # Errors
    /// When the run must end.
    fn phase(&mut self, phase: Phase) -> SessionResult;

    /// Runs a group of the current phase to its end.
    ///
    /// # Errors
    /// When the run must end. The listener has received all tasks that finished before.
    fn group(&mut self, group: ParallelGroup, listener: &mut dyn TaskListener) -> SessionResult;

    /// Syncs between two groups. The sync belongs to no task and is not in its time.
    ///
    /// # Errors
    /// When the run must end.
    fn sync(&mut self, _scope: SyncScope) -> SessionResult {
        Ok(())
    }

    /// Returns true while the current phase may go on. Sessions whose phases may be cut short ask
    /// before each group.
    fn wants_more(&mut self) -> bool {
        true
    }

    /// Ends the current phase and runs another program to its end.
    ///
    /// # Errors
    /// When the run must end.
    fn program(&mut self, _program: ExternalProgram) -> SessionResult<ProgramEnd> {
        Err(SessionError::new("no other program can run here").into())
    }

    /// Reports the phases of the program that ran last.
    ///
    /// # Errors
    /// When the run must end.
    fn report(&mut self, _phases: Vec<ReportedPhase>) -> SessionResult {
        Ok(())
    }
}

impl dyn Conductor + '_ {
    /// Runs a phase of one task.
    ///
    /// # Errors
    /// As [`Conductor::phase`] and [`Conductor::group`].
    pub fn run_task(
        &mut self,
        phase: &str,
        task: Task,
        listener: &mut dyn TaskListener,
    ) -> SessionResult {
        self.phase(Phase::new(phase, 1))?;
        self.group(ParallelGroup::new(vec![task]), listener)
    }
}

/// Run of a job.
pub trait Session: Send {
    /// Runs the job: asks the conductor for phases and groups, in the order of the tool's loops.
    ///
    /// # Errors
    /// When the session cannot go on, or the conductor ended the run.
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult;

    /// Feed of the layouts after every task and phase, for sessions that base decisions on layouts.
    /// Called once, before the run.
    fn layouts(&self) -> Option<LayoutFeed> {
        None
    }

    /// Facts about the tools that the session used, at the end.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Headline metrics of the work done so far.
    fn metrics(&self) -> Vec<Metric>;

    /// Cautions raised by the run so far.
    fn cautions(&self) -> Vec<Caution> {
        Vec::new()
    }

    /// Names of the trees left in place, for messages. Trees are removed by the record of the run,
    /// not by these names.
    fn remains(&self) -> Vec<String>;

    /// Files and trees that the imitated tool always removes itself. They are also removed after a
    /// classic run that ended early.
    fn left_paths(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Space and inodes that a job needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Maximum number of files at the same time.
    pub peak_files: u64,
    /// Maximum number of directories at the same time.
    pub peak_dirs: u64,
    /// Maximum bytes of content at the same time.
    pub peak_bytes: u64,
    /// Maximum content at the same time, in bytes rounded up to blocks of the target.
    pub peak_block_bytes: u64,
    /// Total number of files written.
    pub written_files: u64,
    /// Total bytes written.
    pub written_bytes: u64,
}

/// Facts about the target that a job may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Names of existing entries in the target directory.
    pub existing: Vec<String>,
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Capacity of the filesystem in bytes.
    pub capacity_bytes: u64,
    /// Bytes available to this user.
    pub free_bytes: u64,
    /// Number of available inodes; `None` if the filesystem does not report one.
    pub free_inodes: Option<u64>,
    /// True if the free bytes do not have to hold inodes.
    pub has_inode_tables: bool,
    /// Filesystem type, if known.
    #[serde(default)]
    pub filesystem: Option<String>,
}

impl TargetFacts {
    /// Facts about an empty target of unknown size, which a dry run assumes.
    pub const fn unknown() -> Self {
        Self {
            existing: Vec::new(),
            block_bytes: 4096,
            capacity_bytes: u64::MAX,
            free_bytes: u64::MAX,
            free_inodes: None,
            has_inode_tables: false,
            filesystem: None,
        }
    }
}

/// Use that a job makes of files that are already in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFiles {
    /// The job only reads them.
    Read,
    /// The job overwrites them, so that they have to belong to the run.
    Rewritten,
}

/// Line of a dry run: a task in the words of the tool, without time and rate.
pub type OutlineLine = String;

/// A configured workload, ready to run.
pub trait Job: Send + Sync {
    /// Request that the job was made from.
    fn request(&self) -> &RunRequest;

    /// Parameters of the request.
    fn parameters(&self) -> Vec<(String, String)> {
        self.request().parameters.clone()
    }

    /// Classic or native.
    fn mode(&self) -> RunMode {
        self.request().mode
    }

    /// Checks that the job can run on the target; returns cautions about it.
    ///
    /// # Errors
    /// When it cannot run there; says why and what to do.
    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError>;

    /// Space and inodes that the job needs on the target.
    fn footprint(&self, facts: &TargetFacts) -> Footprint;

    /// Lines that describe the tasks in order, without running them.
    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine>;

    /// Metrics that the session will have, as far as they are known before the run, in the
    /// session's order; those that decide comparisons are marked primary. The values are
    /// meaningless. The list may include metrics that a run turns out not to have.
    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric>;

    /// Full name of the metric that represents the whole run, if any. Decides comparisons with a
    /// single metric for each workload.
    fn overall_metric(&self) -> Option<&'static str> {
        None
    }

    /// Call by which the job repeatedly makes its data durable and waits for it; `None` if there is
    /// none. The p99 of its latency decides comparisons, beside the job's own metrics.
    fn deciding_sync(&self) -> Option<Op> {
        None
    }

    /// Kind of limit on the amount of work.
    fn work(&self) -> WorkLimit {
        WorkLimit::Fixed
    }

    /// True if the duration of the job does not follow from the bytes and files that it writes: it
    /// waits for single requests, or another program does the work.
    fn waits_for_requests(&self) -> bool {
        self.deciding_sync().is_some() || self.is_by_program()
    }

    /// Option by which the job can be made as long as it needs to be, with the time of its phases;
    /// `None` for a job that cannot be scaled.
    fn scale(&self) -> Option<WorkScale> {
        None
    }

    /// True if the job needs the latency of every call.
    fn times_every_call(&self) -> bool {
        false
    }

    /// True if the job remounts the filesystem during the run.
    fn remounts(&self) -> bool {
        false
    }

    /// True if each of several ranks does all of the work in a directory of its own, instead of a
    /// share of it in a common one.
    fn works_apart(&self) -> bool {
        false
    }

    /// True if another program does the work, so that the engine cannot change its calls and
    /// payload.
    fn is_by_program(&self) -> bool {
        false
    }

    /// Reason why the job cannot run on several ranks, unless the workload itself excludes them.
    fn refuses_ranks(&self) -> Option<&'static str> {
        self.is_by_program().then_some("another program does the work")
    }

    /// Use of files that are in the directory before the run; `None` for a job that makes its own.
    fn existing_files(&self) -> Option<ExistingFiles> {
        None
    }

    /// Block devices to which the requests go.
    fn devices(&self) -> Vec<JobDevice> {
        Vec::new()
    }

    /// Number of tasks in a run, for progress.
    fn tasks(&self, facts: &TargetFacts) -> u64 {
        self.outline(facts).len() as u64
    }

    /// Begins a run.
    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_>;
}
