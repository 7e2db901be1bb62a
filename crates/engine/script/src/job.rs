//! A job and its run: phases, groups of tasks, and the scripts of the tasks.
//!
//! The engine asks a [`Session`] for one phase after the other, for the groups of each phase, and
//! runs the scripts of a group side by side. What it learnt goes back to the session as totals, so
//! that a later phase can depend on an earlier one. Nothing here touches a disk.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use treering_model::{
    Caution, Counters, Cpu, Fact, Layout, Metric, Mode, Op, PhaseTotals, TaskTotals, Work,
};

use crate::{Buffers, ConfigError, Deadline, Io, SessionError, Stop, SyncScope, Usage};
use treering_sys::{Scheduling, Synchronous};

/// Whether the kernel's caches are dropped before a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caches {
    /// They stay.
    #[default]
    Keep,
    /// Page cache, dentries and inodes are dropped.
    Drop,
}

/// The code of one task.
pub trait Script: Send {
    /// Does it, from its beginning to its end.
    ///
    /// # Errors
    /// What a call ended with that the code does not expect: to be handed on as it is.
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop>;

    /// Receives what the task used, at its end.
    fn used(&mut self, _usage: Usage) {}

    /// What it counted for its session and its output, in a struct of its workload.
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
}

/// What carries out the requests of a task while its script goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// By which calls.
    pub kind: QueueKind,
    /// How many may be under way at a time, at least 1.
    pub depth: u16,
}

/// A kind of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Linux AIO: `io_submit` and `io_getevents`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
}

/// A user and a group, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

/// A named unit of work, done by one worker.
pub struct Task {
    /// What kind of work.
    pub kind: String,
    /// What it is done to.
    pub subject: String,
    /// The subject's state at the start, empty where there is none.
    pub state: String,
    /// The imitated tool's summary row, empty in native mode.
    pub tally: String,
    /// Bytes that the list in use names, 0 where there is none.
    pub listed_bytes: u64,
    /// Bytes it is expected to move, for progress; 0 when unknown.
    pub expected_bytes: u64,
    /// Each successful call of this kind counts as one file.
    pub file_op: Op,
    /// Whether its files are opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether its files are opened with `O_SYNC` or `O_DSYNC`.
    pub synchronous: Synchronous,
    /// Whether it reads and writes by the calls that take vectors (`preadv2`, `readv`).
    pub vectored: bool,
    /// Whether it gives the kernel the whole path of each item, from where the user's own words
    /// begin, and opens no directory.
    pub whole_paths: bool,
    /// What carries its requests out, when it makes any.
    pub queue: Option<Queue>,
    /// What it writes and reads into, where that is not the payload.
    pub buffers: Option<Buffers>,
    /// Where and how urgently it runs.
    pub scheduling: Scheduling,
    /// As whom it works; as ourselves where nobody is named.
    pub identity: Option<Identity>,
    /// Its code.
    pub script: Box<dyn Script>,
}

impl Task {
    /// A task of which no more is known: without state, tally and expected bytes.
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
            synchronous: Synchronous::No,
            vectored: false,
            whole_paths: false,
            queue: None,
            buffers: None,
            scheduling: Scheduling::default(),
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

/// What a worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerKind {
    /// A thread: workers share what is open and the memory they live in.
    #[default]
    Thread,
    /// A process of its own.
    Process,
    /// A process in a session of its own: where the kernel groups by sessions, each worker has the
    /// share of a group (`sched_autogroup_enabled`).
    Session,
}

/// When the workers of a group go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupStart {
    /// All at once.
    #[default]
    Together,
    /// Each as soon as it is there.
    AsMade,
}

/// What a signal that asks to stop does to a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnSignal {
    /// Its tasks stop at the next step.
    #[default]
    Stop,
    /// Its tasks are finished first.
    Finish,
}

/// What becomes of the tasks that had to end early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// They are none: only finished tasks are reported.
    #[default]
    Dropped,
    /// What they did until then counts, and is reported as if they were finished.
    Reported,
}

/// For how long a group works.
#[derive(Clone, Debug)]
pub struct TimeLimit {
    /// So long, from its start.
    pub after: Duration,
    /// What rings then.
    pub deadline: Deadline,
}

/// How the tasks of a group run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideBySide {
    /// What does them.
    pub workers: WorkerKind,
    /// When they go.
    pub start: GroupStart,
    /// What ends them early.
    pub on_signal: OnSignal,
    /// What becomes of those that end early.
    pub unfinished: Unfinished,
}

/// The tasks that run side by side between two barriers, one a worker.
#[derive(Debug, Default)]
pub struct ParallelGroup {
    /// A command for the shell before everything else. What comes of it is the user's.
    pub command: Option<String>,
    /// What happens to the caches before.
    pub caches: Caches,
    /// Whether the place is unmounted and mounted again before everything else.
    pub remount: bool,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// A sync after them that belongs to none of them and is not in their times.
    pub sync_after: Option<SyncScope>,
    /// How they run side by side.
    pub side_by_side: SideBySide,
    /// For how long they work, where it is time that ends them.
    pub time_limit: Option<TimeLimit>,
    /// How often the session is asked how far it is, and its output reported.
    pub tick_every: Option<Duration>,
}

/// A part of a trial between barriers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How many tasks it will have.
    pub tasks: u32,
}

/// Another program that does the work of a run, in a directory below the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is started: a path, or a name that is looked for as the shell does.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it reads from its standard input.
    pub input: Vec<u8>,
    /// The directory below the target in which it is started; empty for the target itself.
    pub directory: String,
    /// How it is watched; not at all where it is trusted to end what it starts.
    pub watch: Option<Watch>,
}

/// How a program is run of which nothing is known.
///
/// `{dir}` in its arguments stands for the directory in which it is started, and so does the
/// variable [`Watch::DIRECTORY`]. A signal that asks to stop ends its process group. What it
/// started and left is ended after the last program of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The phase that it is, which begins with it and ends with the first phase told of it.
    pub phase: String,
    /// So many bytes of what it says are kept from the beginning, and as many from the end.
    pub kept_bytes: usize,
    /// Whether the target is synced after its end.
    pub sync_after: bool,
}

impl Watch {
    /// What stands for the directory in an argument.
    pub const PLACE: &str = "{dir}";
    /// The variable of its environment with the directory.
    pub const DIRECTORY: &str = "TREERING_DIR";
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to its standard output, up to a length that no report has.
    pub output: Vec<u8>,
    /// What it wrote to its standard error, likewise.
    pub errors: Vec<u8>,
    /// When it was started, in nanoseconds from the start of the trial.
    pub began_ns: u64,
    /// How long it was there.
    pub wall_ns: u64,
    /// The signal that ended it, of a program that is watched.
    pub signal: Option<i32>,
    /// Why it could not be started, of a program that is watched.
    pub not_started: Option<String>,
    /// CPU time that it used, with those of its children that it waited for; if watched.
    pub cpu: Cpu,
    /// Bytes that they read from storage, likewise.
    pub read_bytes: u64,
    /// Bytes that they wrote to storage, likewise.
    pub written_bytes: u64,
    /// How long the sync after it took, 0 where there was none.
    pub sync_ns: u64,
}

/// A phase of which a program reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedPhase {
    /// The phase. Its number is counted on by the engine, and its sums are made of its tasks.
    pub totals: PhaseTotals,
    /// Its tasks, in the order of their workers.
    pub tasks: Vec<TaskTotals>,
}

/// Layouts that were measured while a session ran, in the order in which they were.
#[derive(Clone, Debug, Default)]
pub struct LayoutFeed {
    layouts: Arc<Mutex<Vec<Layout>>>,
}

impl LayoutFeed {
    /// Adds one, from the observer.
    pub fn push(&self, layout: Layout) {
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner).push(layout);
    }

    /// Whether none was added since the last time.
    pub fn is_empty(&self) -> bool {
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Those that were added since the last time, for the session.
    pub fn take(&self) -> Vec<Layout> {
        std::mem::take(&mut self.layouts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One run of a job.
pub trait Session: Send {
    /// The next phase; `None` ends the run.
    fn next_phase(&mut self) -> Option<Phase>;

    /// The next group of the present phase; `None` ends the phase.
    fn next_group(&mut self) -> Option<ParallelGroup>;

    /// Receives the totals of a task, tasks of a group in the order of their workers.
    fn task_ended(&mut self, totals: &TaskTotals);

    /// Receives the totals of a task that another rank did, where each does the whole session in a
    /// directory of its own: as if the worker here had done it a second time, beside the first.
    fn others_task_ended(&mut self, _totals: &TaskTotals) {}

    /// Is asked each [`ParallelGroup::tick_every`] while a group works, so many nanoseconds from
    /// its start, for what its output is to hear.
    fn tick(&mut self, _elapsed_ns: u64) -> Counters {
        Counters::default()
    }

    /// Why it cannot go on, asked after each group.
    fn failure(&self) -> Option<SessionError> {
        None
    }

    /// What does the rest of the run after the last phase, where that is another program. Asked
    /// again when that has ended, unless we are to stop.
    fn program(&mut self) -> Option<Program> {
        None
    }

    /// Receives how that ended; returns what the program reported about its phases. Why the run
    /// failed is asked next.
    fn program_ended(&mut self, _end: ProgramEnd) -> Vec<ReportedPhase> {
        Vec::new()
    }

    /// Where it hears the layout of the place after every task and phase, if it decides by that.
    /// Asked once, before it begins.
    fn layouts(&self) -> Option<LayoutFeed> {
        None
    }

    /// What it learnt of its tools, at the end.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// The headline numbers of what was done so far.
    fn metrics(&self) -> Vec<Metric>;

    /// Cautions that the run itself raised so far.
    fn cautions(&self) -> Vec<Caution> {
        Vec::new()
    }

    /// The trees left standing. What is removed is what the run recorded as made, not these names.
    fn remains(&self) -> Vec<String>;

    /// Files and trees that the imitated tool removes itself, whatever happens: they go also in
    /// classic mode, where a run was ended early.
    fn litter(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a job will ask of a filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Files that will stand at the same time, at most.
    pub peak_files: u64,
    /// Directories that will stand at the same time, at most.
    pub peak_dirs: u64,
    /// Bytes of content that will stand at the same time, at most.
    pub peak_bytes: u64,
    /// The same in whole blocks of the target.
    pub peak_block_bytes: u64,
    /// Files that will be written in all.
    pub written_files: u64,
    /// Bytes that will be written in all.
    pub written_bytes: u64,
}

/// What a job may know of the place it will run in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Names that are there already.
    pub existing: Vec<String>,
    /// Size of a block.
    pub block_bytes: u64,
    /// Bytes of the whole filesystem.
    pub capacity_bytes: u64,
    /// Bytes that we may still write.
    pub free_bytes: u64,
    /// Files that may still be made; `None` where the filesystem does not say.
    pub free_inodes: Option<u64>,
}

impl TargetFacts {
    /// An empty place of no stated size: what a dry run assumes.
    pub const fn unknown() -> Self {
        Self {
            existing: Vec::new(),
            block_bytes: 4096,
            capacity_bytes: u64::MAX,
            free_bytes: u64::MAX,
            free_inodes: None,
        }
    }
}

/// A line of a dry run: one task in the words of the tool, without time and rate.
pub type OutlineLine = String;

/// A configured workload, ready to run.
pub trait Job: Send + Sync {
    /// Every parameter, complete and in a fixed order: what the store keeps and a repeat needs.
    fn parameters(&self) -> Vec<(String, String)>;

    /// Classic or native.
    fn mode(&self) -> Mode;

    /// Whether it can run in a place: the cautions about it, or why not.
    ///
    /// # Errors
    /// When it cannot run there; says why and what to do.
    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError>;

    /// What it will ask of the target.
    fn footprint(&self, facts: &TargetFacts) -> Footprint;

    /// The tasks in their order, one line each, without doing anything.
    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine>;

    /// The metrics that its session will give, as far as they are known before it runs, in the
    /// session's order; those that will decide a comparison are marked primary. Only their names
    /// mean anything: the values are invented. Others may be among them that a run does not give.
    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric>;

    /// The full name of the one metric that speaks for the whole run, where there is one: what
    /// decides a comparison in which each workload has one question.
    fn overall_metric(&self) -> Option<&'static str> {
        None
    }

    /// What decides how much it does.
    fn work(&self) -> Work {
        Work::Fixed
    }

    /// Whether it needs the time of every call.
    fn times_all(&self) -> bool {
        false
    }

    /// Whether it asks for its place to be unmounted and mounted again meanwhile.
    fn remounts(&self) -> bool {
        false
    }

    /// Whether each of several ranks does all of it in a directory of its own, instead of its share
    /// of it in one for all.
    fn works_apart(&self) -> bool {
        false
    }

    /// Whether another program does the work: what the engine would do to calls and payload does
    /// not reach it.
    fn is_by_program(&self) -> bool {
        false
    }

    /// Why it cannot be done by several ranks, where that is not the workload's own.
    fn refuses_ranks(&self) -> Option<&'static str> {
        self.is_by_program().then_some("another program does the work")
    }

    /// How many tasks a run has, for progress.
    fn tasks(&self, facts: &TargetFacts) -> u64 {
        self.outline(facts).len() as u64
    }

    /// Begins a run.
    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_>;
}

#[cfg(test)]
mod tests {
    use super::LayoutFeed;
    use treering_model::Layout;

    #[test]
    fn layouts_come_once_and_in_order() {
        let feed = LayoutFeed::default();
        let other = feed.clone();
        for files in [1, 2] {
            other.push(Layout { files, ..Layout::default() });
        }
        assert_eq!(feed.take().iter().map(|layout| layout.files).collect::<Vec<_>>(), [1, 2]);
        assert!(other.take().is_empty());
    }
}
