//! One run: iterations of workers side by side; natively with a setup before and unlinks after.

use std::ffi::CString;

use treering_model::{Caution, CautionCode, ITERATION_PHASE, Metric, Op, TaskTotals};
use treering_script::{
    GroupStart, OnSignal, ParallelGroup, Phase, Random, StepSession, SessionError, SideBySide, Task,
    WorkerKind,
};

use super::account::{FileCounters, Since};
use super::collisions::Collisions;
use super::headline::{CREATE, Headline, UNLINK};
use super::shape::Shape;
use super::tidy_up::{MakeRoots, UnlinkFiles};
use super::worker::{Worker, c_string};

/// The kind of task that makes roots.
const SETUP: &str = "setup";

/// Which way.
#[derive(Clone, Debug)]
pub(super) enum Style {
    /// As fs_mark 3.3.
    Classic {
        /// When it began.
        started_unix_ms: u64,
        /// The roots as the user named them.
        roots: Vec<String>,
    },
    /// treering's own.
    Native,
}

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Setup,
    Create(u32),
    Unlink(u32),
}

/// A run in progress.
pub(super) struct MarkSession {
    shape: Shape,
    style: Style,
    workers: WorkerKind,
    part: Option<Part>,
    /// Whether the present part's group is still to come.
    group_to_come: bool,
    full: bool,
    /// The root in which a worker found no room for all files.
    no_room: Option<u16>,
    /// Files that each worker made in the present iteration.
    made: Vec<u64>,
    headline: Headline,
    collisions: Collisions,
}

impl MarkSession {
    /// A run of this shape.
    pub(super) fn new(shape: Shape, style: Style, workers: WorkerKind) -> Self {
        Self {
            collisions: Collisions::new(&shape),
            shape,
            style,
            workers,
            part: None,
            group_to_come: false,
            full: false,
            no_room: None,
            made: Vec::new(),
            headline: Headline::default(),
        }
    }

    /// The part after the present one.
    fn next_part(&self) -> Option<Part> {
        let native = matches!(self.style, Style::Native);
        let ended = match self.part {
            None if native => return Some(Part::Setup),
            None | Some(Part::Setup) => return Some(Part::Create(1)),
            Some(Part::Create(iteration)) if native && !self.shape.keep => {
                return Some(Part::Unlink(iteration));
            }
            Some(Part::Create(iteration) | Part::Unlink(iteration)) => iteration,
        };
        let goes_on =
            if self.shape.until_full { !self.full } else { ended < self.shape.iterations };
        goes_on.then(|| Part::Create(ended.saturating_add(1)))
    }

    fn tasks(&self, part: Part) -> Vec<Task> {
        match part {
            Part::Setup => {
                let roots = (0..self.shape.roots).map(|root| c_string(&root_name(root)));
                let script = MakeRoots::new(&self.shape, roots.collect());
                vec![Task::new(SETUP, "roots", Op::MakeDir, Box::new(script))]
            }
            Part::Create(iteration) => {
                let workers = 0..self.shape.workers;
                workers.map(|worker| self.create(worker, iteration)).collect()
            }
            Part::Unlink(iteration) => (0..self.shape.workers)
                .zip(&self.made)
                .map(|(worker, &files)| {
                    let key = key(&self.shape, iteration, worker);
                    let root = self.root(worker);
                    let script = UnlinkFiles::new(&self.shape, key, iteration, root, files);
                    Task::new(UNLINK, &self.subject(worker), Op::Unlink, Box::new(script))
                })
                .collect(),
        }
    }

    fn create(&self, worker: u16, iteration: u32) -> Task {
        let shape = &self.shape;
        let key = key(shape, iteration, worker);
        let script = match &self.style {
            Style::Classic { started_unix_ms, .. } => Worker::classic(shape, key, *started_unix_ms),
            Style::Native => Worker::native(shape, key, iteration, self.root(worker)),
        };
        let bytes = shape.files.saturating_mul(shape.bytes);
        let tally = if matches!(self.style, Style::Classic { .. }) { "iteration" } else { "" };
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

    /// What a worker's task is done to: its root.
    fn subject(&self, worker: u16) -> String {
        let root = self.root_of(worker);
        match &self.style {
            Style::Classic { roots, .. } => {
                roots.get(usize::from(root)).cloned().unwrap_or_default()
            }
            Style::Native => root_name(root),
        }
    }
}

/// What the original says when files do not fit.
pub(super) fn no_room(dir: &str, files: u64) -> String {
    format!("Insufficient free space in {dir} to create {files} new files, exiting")
}

/// The name of a native root.
pub(super) fn root_name(root: u16) -> String {
    format!("fs_mark-{root}")
}

/// What decides a worker's names in an iteration.
fn key(shape: &Shape, iteration: u32, worker: u16) -> u64 {
    Random::for_part(shape.seed, &format!("names of worker {worker} in {iteration}")).bits()
}

impl StepSession for MarkSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let part = self.next_part()?;
        self.part = Some(part);
        self.group_to_come = true;
        self.headline.group();
        let workers = u32::from(self.shape.workers);
        let (name, tasks) = match part {
            Part::Setup => (SETUP.to_owned(), 1),
            Part::Create(iteration) => {
                self.made.clear();
                (format!("{ITERATION_PHASE}{iteration}"), workers)
            }
            Part::Unlink(iteration) => (format!("unlink {iteration}"), workers),
        };
        Some(Phase { name, tasks })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.part.filter(|_| std::mem::replace(&mut self.group_to_come, false))?;
        let classic = matches!(self.style, Style::Classic { .. });
        let side_by_side = SideBySide {
            workers: if part == Part::Setup { WorkerKind::Thread } else { self.workers },
            start: if classic { GroupStart::AsMade } else { GroupStart::Together },
            on_signal: if classic { OnSignal::Finish } else { OnSignal::Stop },
            ..SideBySide::default()
        };
        let tasks = self.tasks(part);
        Some(ParallelGroup { tasks, side_by_side, ..ParallelGroup::default() })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let Some(Part::Create(iteration)) = self.part else {
            self.headline.add(totals, None);
            if matches!(self.part, Some(Part::Unlink(_))) {
                self.collisions.forget();
            }
            return;
        };
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
            Style::Classic { .. } => counters.since,
            Style::Native => vec![Since { file: 0, stamp: iteration, subdir: 0 }],
        };
        self.collisions.add(&self.shape, key, root, counters.files, &since);
        if totals.worker + 1 == self.shape.workers && !self.shape.keep && self.is_classic() {
            self.collisions.forget();
        }
    }

    fn failure(&self) -> Option<SessionError> {
        let Style::Classic { roots, .. } = &self.style else { return None };
        let dir = roots.get(usize::from(self.no_room?))?;
        Some(SessionError::new(no_room(dir, self.shape.files)))
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
            Style::Native if self.part.is_some() => (0..self.shape.roots).map(root_name).collect(),
            _ => Vec::new(),
        }
    }
}

impl MarkSession {
    fn is_classic(&self) -> bool {
        matches!(self.style, Style::Classic { .. })
    }
}
