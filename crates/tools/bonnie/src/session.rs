//! Run of bonnie++: a phase for each test, with the setup and cleanup around it.

use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    CachePolicy, Conductor, NoListener, ParallelGroup, Phase, Script, Session, SessionError,
    SessionResult, Task, TaskListener,
};

use super::asked::FileKind;
use super::files::{CreateScript, FileOperation, TestContext, VisitScript};
use super::headline::HeadlineSums;
use super::io::IoScript;
use super::meter::{TaskMeasurements, TestIrregularity};
use super::prepare::{MakeDirs, MakeRoot, RemoveFile};
use super::seeks::{SeekScript, SeekTickets};
use super::shape::{CopyLocation, RunShape, root_name};
use super::test::Test;

/// Kind of the setup tasks, which belong to no test.
pub(super) const SETUP: &str = "setup";

/// Classic or native run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStyle {
    /// Behaves like bonnie++ 2.00a.
    Classic {
        /// Process id, part of the names of files.
        process: u32,
    },
    /// Native run of treering.
    Native,
}

impl RunStyle {
    /// Work directory and names of a copy.
    pub(super) fn home(self, copy: u16) -> CopyLocation {
        match self {
            Self::Classic { process } => CopyLocation::classic(process, copy),
            Self::Native => CopyLocation::native(copy),
        }
    }
}

/// Work around the tests, which belongs to none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupTask {
    MakeRoots,
    RemoveFile,
    /// Writes the large file for a test if the tests that would have created it were left out.
    FillFile,
    MakeDirs,
    /// Creates the many files for a test if the tests that would have created them were left out;
    /// true for the names of the random tests.
    FillDirs(bool),
    ClearDirs,
}

/// Session of a run.
pub(super) struct BonnieSession {
    shape: RunShape,
    style: RunStyle,
    has_begun: bool,
    /// True if the large file exists; `has_files` is `Some` if the many files exist, and true if
    /// their names are random.
    has_file: bool,
    has_files: Option<bool>,
    headline: HeadlineSums,
}

impl BonnieSession {
    /// Creates a session that has not begun.
    pub(super) fn new(shape: RunShape, style: RunStyle) -> Self {
        Self {
            headline: HeadlineSums::new(&shape),
            shape,
            style,
            has_begun: false,
            has_file: false,
            has_files: None,
        }
    }

    fn is_classic(&self) -> bool {
        matches!(self.style, RunStyle::Classic { .. })
    }

    /// Runs a test of the large file, which is created first if it does not exist.
    fn run_io_test(
        &mut self,
        test: Test,
        is_last: bool,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        if test.makes() || !self.has_file {
            self.run_setup_task(SetupTask::RemoveFile, conductor)?;
        }
        if !test.makes() && !self.has_file {
            self.run_setup_task(SetupTask::FillFile, conductor)?;
        }
        self.run_test(test, conductor)?;
        self.has_file = !is_last;
        if is_last { self.run_setup_task(SetupTask::RemoveFile, conductor) } else { Ok(()) }
    }

    /// Runs a test of the many files, which are created first if those with names of its kind do
    /// not exist.
    fn run_files_test(
        &mut self,
        test: Test,
        is_last: bool,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let random = test.is_random();
        if test.makes() || self.has_files != Some(random) {
            if self.has_files.is_some() {
                self.run_setup_task(SetupTask::ClearDirs, conductor)?;
            }
            self.run_setup_task(SetupTask::MakeDirs, conductor)?;
            if !test.makes() {
                self.run_setup_task(SetupTask::FillDirs(random), conductor)?;
            }
        }
        self.run_test(test, conductor)?;
        let removes = matches!(test, Test::SequentialDelete | Test::RandomDelete);
        self.has_files = (!removes && !is_last).then_some(random);
        if !removes && is_last {
            self.run_setup_task(SetupTask::ClearDirs, conductor)
        } else {
            Ok(())
        }
    }

    fn run_setup_task(&self, chore: SetupTask, conductor: &mut dyn Conductor) -> SessionResult {
        let task = |copy| {
            let home = self.style.home(copy);
            let subject = subject(&home);
            let script = self.setup_script(chore, home)?;
            let identity = self.shape.identity;
            Some(Task { identity, ..Task::new(SETUP, &subject, NO_FILES, script) })
        };
        let tasks = (0..self.shape.copies).filter_map(task).collect();
        conductor.group(ParallelGroup::new(tasks), &mut NoListener)
    }

    fn run_test(&mut self, test: Test, conductor: &mut dyn Conductor) -> SessionResult {
        let caches = if self.shape.drop_caches { CachePolicy::Drop } else { CachePolicy::Keep };
        let group = ParallelGroup { caches, ..ParallelGroup::new(self.tasks(test)) };
        let mut trouble = TestIrregularity::None;
        let headline = &mut self.headline;
        conductor.group(group, &mut TestListener { test, headline, trouble: &mut trouble })?;
        let message = match trouble {
            TestIrregularity::None => return Ok(()),
            TestIrregularity::ShortRead => "a read ended before the end of what had been written",
            TestIrregularity::NotEmpty => {
                "a directory kept entries after all of its files were unlinked"
            }
        };
        Err(SessionError::at(test.name(), message).into())
    }

    fn context(&self, home: CopyLocation) -> Option<TestContext> {
        let RunShape { source, fsync, sync, .. } = self.shape.clone();
        let all_timed = self.is_classic();
        Some(TestContext { home, files: self.shape.files?, source, fsync, sync, all_timed })
    }

    /// Script of a copy for a setup task.
    fn setup_script(&self, chore: SetupTask, home: CopyLocation) -> Option<Box<dyn Script>> {
        let fsync = self.shape.fsync;
        let files = self.shape.files.as_ref();
        Some(match chore {
            SetupTask::MakeRoots => Box::new(MakeRoot(home)),
            SetupTask::RemoveFile => Box::new(RemoveFile(home)),
            SetupTask::FillFile => {
                let io = self.shape.io?;
                Box::new(IoScript::new(home, Test::BlockWrite, &io, fsync, false))
            }
            SetupTask::MakeDirs => Box::new(MakeDirs(home, files?.subdirs())),
            SetupTask::FillDirs(random) => {
                Box::new(CreateScript::new(self.context(home)?, random).unsynced())
            }
            SetupTask::ClearDirs => {
                Box::new(VisitScript::as_listed(self.context(home)?, FileOperation::Clear))
            }
        })
    }

    /// Scripts of a copy for a test: one, or one for each seeker.
    fn scripts(&self, test: Test, home: CopyLocation) -> Option<Vec<Box<dyn Script>>> {
        let (fsync, all_timed) = (self.shape.fsync, self.is_classic());
        if test == Test::Seeks {
            let io = self.shape.io?;
            let tickets = SeekTickets::new(self.shape.source.dice("seeks"), io.seeks);
            let seeker = |_seeker| -> Box<dyn Script> {
                let (home, tickets) = (home.clone(), tickets.clone());
                Box::new(SeekScript::new(home, tickets, &io, fsync, all_timed))
            };
            return Some((0..io.seekers.max(1)).map(seeker).collect());
        }
        if test.is_io() {
            let script = IoScript::new(home, test, &self.shape.io?, fsync, all_timed);
            return Some(vec![Box::new(script)]);
        }
        let context = self.context(home)?;
        Some(vec![match test {
            Test::SequentialStat => Box::new(VisitScript::as_listed(context, FileOperation::Stat)),
            Test::SequentialDelete => {
                Box::new(VisitScript::as_listed(context, FileOperation::Delete))
            }
            Test::RandomStat => Box::new(VisitScript::shuffled(context, FileOperation::Stat)),
            Test::RandomDelete => Box::new(VisitScript::shuffled(context, FileOperation::Delete)),
            other => Box::new(CreateScript::new(context, other.is_random())),
        }])
    }

    /// Bytes that a copy is expected to move, for progress.
    fn expected_bytes(&self, test: Test) -> u64 {
        let io = |of: fn(&super::asked::IoShape) -> u64| self.shape.io.as_ref().map_or(0, of);
        match test {
            Test::CharWrite | Test::CharRead => io(|io| io.char_bytes),
            Test::BlockWrite | Test::BlockRead => io(|io| io.bytes),
            Test::Rewrite => io(|io| io.bytes.saturating_mul(2)),
            _ => 0,
        }
    }

    fn tasks(&self, test: Test) -> Vec<Task> {
        let kind = self.shape.files.map(|files| files.kind);
        let tally = if self.is_classic() { test.name() } else { "" };
        let mut tasks = Vec::new();
        for copy in 0..self.shape.copies {
            let home = self.style.home(copy);
            let subject = subject(&home);
            for script in self.scripts(test, home).unwrap_or_default() {
                tasks.push(Task {
                    direct: self.shape.direct && test.is_io(),
                    identity: self.shape.identity,
                    expected_bytes: self.expected_bytes(test),
                    tally: tally.to_owned(),
                    ..Task::new(test.name(), &subject, file_op(test, kind), script)
                });
            }
        }
        tasks
    }
}

/// Directory in which a copy works.
fn subject(home: &CopyLocation) -> String {
    home.root.as_ref().unwrap_or(&home.name).to_string_lossy().into_owned()
}

/// Kind of call that is never made, so that no file is counted.
const NO_FILES: Op = Op::Truncate;

/// Op whose successful calls count as files in a test.
fn file_op(test: Test, kind: Option<FileKind>) -> Op {
    match (test, kind) {
        (Test::SequentialStat | Test::RandomStat, _) => Op::Stat,
        (Test::SequentialDelete | Test::RandomDelete, _) => Op::Unlink,
        (Test::SequentialCreate | Test::RandomCreate, Some(FileKind::HardLinks)) => Op::Link,
        (Test::SequentialCreate | Test::RandomCreate, Some(FileKind::SymbolicLinks)) => Op::Symlink,
        (Test::SequentialCreate | Test::RandomCreate, _) => Op::Create,
        _ => NO_FILES,
    }
}

/// Listener of a test: counts its tasks, and keeps the first irregularity.
struct TestListener<'s> {
    test: Test,
    headline: &'s mut HeadlineSums,
    trouble: &'s mut TestIrregularity,
}

impl TaskListener for TestListener<'_> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        let noted = totals.counters.read::<TaskMeasurements>().unwrap_or_default();
        if *self.trouble == TestIrregularity::None {
            *self.trouble = noted.trouble;
        }
        self.headline.add(self.test, totals, noted);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.headline.add_other_rank(
            self.test,
            totals,
            &totals.counters.read().unwrap_or_default(),
        );
    }
}

impl Session for BonnieSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let tests = self.shape.tests.clone();
        for run in 1..=self.shape.runs {
            for (place, &test) in tests.iter().enumerate() {
                self.headline.begin();
                let name = match self.shape.runs {
                    1 => test.name().to_owned(),
                    _ => format!("{} {run}", test.name()),
                };
                let is_first = !std::mem::replace(&mut self.has_begun, true);
                conductor.phase(Phase::new(name, self.shape.tasks(test)))?;
                if is_first && self.style == RunStyle::Native {
                    self.run_setup_task(SetupTask::MakeRoots, conductor)?;
                }
                let is_last = !tests[place + 1..].iter().any(|later| later.is_io() == test.is_io());
                if test.is_io() {
                    self.run_io_test(test, is_last, conductor)?;
                } else {
                    self.run_files_test(test, is_last, conductor)?;
                }
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        if self.is_classic() || !self.has_begun {
            return Vec::new();
        }
        (0..self.shape.copies).map(root_name).collect()
    }

    fn left_paths(&self) -> Vec<String> {
        if !self.is_classic() || !self.has_begun {
            return Vec::new();
        }
        let name = |copy| self.style.home(copy).name.to_string_lossy().into_owned();
        (0..self.shape.copies).map(name).collect()
    }
}
