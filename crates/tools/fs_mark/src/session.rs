//! Run of fs_mark: iterations of parallel workers; natively with a setup before and unlinks after
//! them.

use std::ffi::CString;

use treering_model::{Caution, CautionCode, ITERATION_PHASE, Metric, Op, TaskTotals};
use treering_script::{
    Conductor, GroupStart, ParallelGroup, ParallelOptions, Phase, Random, Session, SessionError,
    SessionResult, SessionStop, SignalEffect, Task, WorkerKind,
};

use super::account::{FileCounters, NameChange};
use super::collisions::CollisionDetector;
use super::headline::{CREATE, HeadlineSums, UNLINK};
use super::shape::RunShape;
use super::tidy_up::{MakeRoots, UnlinkFiles};
use super::worker::{Worker, c_string};

/// Kind of the tasks that create roots.
const SETUP: &str = "setup";

/// Classic or native run.
#[derive(Clone, Debug)]
pub(super) enum RunStyle {
    /// Behaves like fs_mark 3.3.
    Classic {
        /// Start of the run, in milliseconds of Unix time.
        started_unix_ms: u64,
        /// The roots as the user named them.
        roots: Vec<String>,
    },
    /// Native run of treering.
    Native,
}

/// Session of a run.
pub(super) struct MarkSession {
    shape: RunShape,
    style: RunStyle,
    workers: WorkerKind,
    has_begun: bool,
    full: bool,
    /// Root in which a worker found too little space for all its files.
    no_room: Option<u16>,
    /// Number of files that each worker created in the current iteration.
    made: Vec<u64>,
    headline: HeadlineSums,
    collisions: CollisionDetector,
}

impl MarkSession {
    /// Creates a session for this shape.
    pub(super) fn new(shape: RunShape, style: RunStyle, workers: WorkerKind) -> Self {
        Self {
            collisions: CollisionDetector::new(&shape),
            shape,
            style,
            workers,
            has_begun: false,
            full: false,
            no_room: None,
            made: Vec::new(),
            headline: HeadlineSums::default(),
        }
    }

    fn begin_phase(&mut self, phase: Phase, conductor: &mut dyn Conductor) -> SessionResult {
        self.headline.group();
        conductor.phase(phase)
    }

    /// Group of these tasks, with the start and signal behaviour of the original in classic mode.
    fn group(&self, tasks: Vec<Task>, workers: WorkerKind) -> ParallelGroup {
        let classic = self.is_classic();
        let side_by_side = ParallelOptions {
            workers,
            start: if classic { GroupStart::AsMade } else { GroupStart::Together },
            on_signal: if classic { SignalEffect::Finish } else { SignalEffect::Stop },
            ..ParallelOptions::default()
        };
        ParallelGroup { side_by_side, ..ParallelGroup::new(tasks) }
    }

    fn make_roots(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.begin_phase(Phase::new(SETUP, 1), conductor)?;
        let roots = (0..self.shape.roots).map(|root| c_string(&root_name(root)));
        let script = MakeRoots::new(&self.shape, roots.collect());
        let task = Task::new(SETUP, "roots", Op::MakeDir, Box::new(script));
        let group = self.group(vec![task], WorkerKind::Thread);
        conductor.group(group, &mut |totals: &TaskTotals| self.headline.add(totals, None))
    }

    fn run_creates(&mut self, iteration: u32, conductor: &mut dyn Conductor) -> SessionResult {
        let name = format!("{ITERATION_PHASE}{iteration}");
        self.begin_phase(Phase::new(name, self.shape.workers), conductor)?;
        self.made.clear();
        let tasks = (0..self.shape.workers).map(|worker| self.create(worker, iteration)).collect();
        let group = self.group(tasks, self.workers);
        conductor.group(group, &mut |totals: &TaskTotals| self.created(iteration, totals))?;
        let (RunStyle::Classic { roots, .. }, Some(root)) = (&self.style, self.no_room) else {
            return Ok(());
        };
        let failure = |dir: &String| SessionError::new(no_room(dir, self.shape.files));
        SessionStop::check(roots.get(usize::from(root)).map(failure))
    }

    fn created(&mut self, iteration: u32, totals: &TaskTotals) {
        let counters = totals.counters.read::<FileCounters>().unwrap_or_default();
        self.headline.add(totals, Some(&counters));
        self.full |= counters.full;
        if counters.no_room {
            self.no_room.get_or_insert(self.root_of(totals.worker));
        }
        // Also a file for which there was no room any more is there.
        self.made.push(totals.files);
        let (key, root) = (key(&self.shape, iteration, totals.worker), self.root_of(totals.worker));
        let since = match self.style {
            RunStyle::Classic { .. } => counters.since,
            RunStyle::Native => vec![NameChange { file: 0, stamp: iteration, subdir: 0 }],
        };
        self.collisions.add(&self.shape, key, root, counters.files, &since);
        if totals.worker + 1 == self.shape.workers && !self.shape.keep && self.is_classic() {
            self.collisions.forget();
        }
    }

    fn run_unlinks(&mut self, iteration: u32, conductor: &mut dyn Conductor) -> SessionResult {
        let phase = Phase::new(format!("unlink {iteration}"), self.shape.workers);
        self.begin_phase(phase, conductor)?;
        let task = |(worker, &files): (u16, &u64)| {
            let (key, root) = (key(&self.shape, iteration, worker), self.root(worker));
            let script = UnlinkFiles::new(&self.shape, key, iteration, root, files);
            Task::new(UNLINK, &self.subject(worker), Op::Unlink, Box::new(script))
        };
        let tasks = (0..self.shape.workers).zip(&self.made).map(task).collect();
        let group = self.group(tasks, self.workers);
        conductor.group(group, &mut |totals: &TaskTotals| {
            self.headline.add(totals, None);
            self.collisions.forget();
        })
    }

    fn create(&self, worker: u16, iteration: u32) -> Task {
        let shape = &self.shape;
        let key = key(shape, iteration, worker);
        let script = match &self.style {
            RunStyle::Classic { started_unix_ms, .. } => {
                Worker::classic(shape, key, *started_unix_ms)
            }
            RunStyle::Native => Worker::native(shape, key, iteration, self.root(worker)),
        };
        let bytes = shape.files.saturating_mul(shape.bytes);
        let tally = if matches!(self.style, RunStyle::Classic { .. }) { "iteration" } else { "" };
        Task {
            expected_bytes: bytes,
            tally: tally.to_owned(),
            ..Task::new(CREATE, &self.subject(worker), Op::Create, Box::new(script))
        }
    }

    fn root_of(&self, worker: u16) -> u16 {
        worker % self.shape.roots.max(1)
    }

    fn root(&self, worker: u16) -> CString {
        c_string(&root_name(self.root_of(worker)))
    }

    /// Subject of a worker's task: its root.
    fn subject(&self, worker: u16) -> String {
        let root = self.root_of(worker);
        match &self.style {
            RunStyle::Classic { roots, .. } => {
                roots.get(usize::from(root)).cloned().unwrap_or_default()
            }
            RunStyle::Native => root_name(root),
        }
    }
}

/// Error message of the original for files that do not fit.
pub(super) fn no_room(dir: &str, files: u64) -> String {
    format!("Insufficient free space in {dir} to create {files} new files, exiting")
}

/// The name of a native root.
pub(super) fn root_name(root: u16) -> String {
    format!("fs_mark-{root}")
}

/// Random seed of a worker's names in an iteration.
fn key(shape: &RunShape, iteration: u32, worker: u16) -> u64 {
    Random::for_part(shape.seed, &format!("names of worker {worker} in {iteration}")).bits()
}

impl Session for MarkSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let is_native = !self.is_classic();
        if is_native {
            self.make_roots(conductor)?;
        }
        for iteration in 1..=u32::MAX {
            self.run_creates(iteration, conductor)?;
            if is_native && !self.shape.keep {
                self.run_unlinks(iteration, conductor)?;
            }
            let is_last =
                if self.shape.until_full { self.full } else { iteration >= self.shape.iterations };
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        let caution = |message| Caution { code: CautionCode::NamesCollided, message };
        self.collisions.message().map(caution).into_iter().collect()
    }

    fn remains(&self) -> Vec<String> {
        match self.style {
            RunStyle::Native if self.has_begun => (0..self.shape.roots).map(root_name).collect(),
            _ => Vec::new(),
        }
    }
}

impl MarkSession {
    fn is_classic(&self) -> bool {
        matches!(self.style, RunStyle::Classic { .. })
    }
}
