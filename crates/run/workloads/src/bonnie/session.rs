//! One run: a phase for each test, with what it needs before and leaves after it.

use std::collections::VecDeque;

use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Caches, OnSignal, ParallelGroup, Phase, Script, StepSession, SessionError, SideBySide, Task,
    Unfinished,
};

use super::asked::FileKind;
use super::files::{Create, Ground, Operation, Visit};
use super::headline::Headline;
use super::io::IoScript;
use super::meter::{Noted, Trouble};
use super::prepare::{MakeDirs, MakeRoot, RemoveFile};
use super::seeks::{Seeker, Tickets};
use super::shape::{Home, Shape, root_name};
use super::test::Test;

/// The kind of tasks that belong to no test.
pub(super) const SETUP: &str = "setup";

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As bonnie++ 2.00a, in a process of this number.
    Classic {
        /// The number.
        process: u32,
    },
    /// treering's own.
    Native,
}

impl Style {
    /// Where a copy works.
    pub(super) fn home(self, copy: u16) -> Home {
        match self {
            Self::Classic { process } => Home::classic(process, copy),
            Self::Native => Home::native(copy),
        }
    }
}

/// What a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    MakeRoots,
    RemoveFile,
    /// The large file is written for a test whose own tests left it out.
    FillFile,
    MakeDirs,
    /// The same of the many files, with the names of the random tests or not.
    FillDirs(bool),
    ClearDirs,
    Test(Test),
}

/// A run in progress.
pub(super) struct BonnieSession {
    shape: Shape,
    style: Style,
    /// Tests of all runs that were begun.
    begun: usize,
    test: Option<Test>,
    groups: VecDeque<Job>,
    /// Whether the large file is there, and the many files: with random names or not.
    has_file: bool,
    has_files: Option<bool>,
    trouble: Option<(Test, Trouble)>,
    headline: Headline,
}

impl BonnieSession {
    /// A run that has not begun.
    pub(super) fn new(shape: Shape, style: Style) -> Self {
        Self {
            headline: Headline::new(&shape),
            shape,
            style,
            begun: 0,
            test: None,
            groups: VecDeque::new(),
            has_file: false,
            has_files: None,
            trouble: None,
        }
    }

    fn is_classic(&self) -> bool {
        matches!(self.style, Style::Classic { .. })
    }

    /// All that a test needs and leaves; `last` says whether none of its half comes after it.
    fn plan(&mut self, test: Test, last: bool) {
        let Self { groups, has_file, has_files, .. } = self;
        if self.begun == 1 && self.style == Style::Native {
            groups.push_back(Job::MakeRoots);
        }
        if test.is_io() {
            if test.makes() || !*has_file {
                groups.push_back(Job::RemoveFile);
            }
            if !test.makes() && !*has_file {
                groups.push_back(Job::FillFile);
            }
            groups.push_back(Job::Test(test));
            *has_file = !last;
            if last {
                groups.push_back(Job::RemoveFile);
            }
            return;
        }
        let random = test.is_random();
        let has_them = *has_files == Some(random) && !test.makes();
        if !has_them {
            if has_files.is_some() {
                groups.push_back(Job::ClearDirs);
            }
            groups.push_back(Job::MakeDirs);
            if !test.makes() {
                groups.push_back(Job::FillDirs(random));
            }
        }
        groups.push_back(Job::Test(test));
        let removes = matches!(test, Test::SequentialDelete | Test::RandomDelete);
        *has_files = (!removes && !last).then_some(random);
        if !removes && last {
            groups.push_back(Job::ClearDirs);
        }
    }

    /// Whether the test that was begun last is the last one of its half of a run.
    fn is_last(&self, test: Test) -> bool {
        let tests = &self.shape.tests;
        let here = (self.begun - 1) % tests.len();
        !tests[here + 1..].iter().any(|later| later.is_io() == test.is_io())
    }

    fn ground(&self, home: Home) -> Option<Ground> {
        let Shape { source, fsync, sync, .. } = self.shape.clone();
        let all_timed = self.is_classic();
        Some(Ground { home, files: self.shape.files?, source, fsync, sync, all_timed })
    }

    /// The code of a copy for what is neither a test nor a part of one.
    fn chore(&self, job: Job, home: Home) -> Option<Box<dyn Script>> {
        let fsync = self.shape.fsync;
        let files = self.shape.files.as_ref();
        Some(match job {
            Job::MakeRoots => Box::new(MakeRoot(home)),
            Job::RemoveFile => Box::new(RemoveFile(home)),
            Job::FillFile => {
                let io = self.shape.io?;
                Box::new(IoScript::new(home, Test::BlockWrite, &io, fsync, false))
            }
            Job::MakeDirs => Box::new(MakeDirs(home, files?.subdirs())),
            Job::FillDirs(random) => Box::new(Create::new(self.ground(home)?, random).unsynced()),
            Job::ClearDirs => Box::new(Visit::as_listed(self.ground(home)?, Operation::Clear)),
            Job::Test(_) => return None,
        })
    }

    /// The code of a copy for a test: one task, or one for each seeker.
    fn scripts(&self, test: Test, home: Home) -> Option<Vec<Box<dyn Script>>> {
        let (fsync, all_timed) = (self.shape.fsync, self.is_classic());
        if test == Test::Seeks {
            let io = self.shape.io?;
            let tickets = Tickets::new(self.shape.source.dice("seeks"), io.seeks);
            let seeker = |_seeker| -> Box<dyn Script> {
                let (home, tickets) = (home.clone(), tickets.clone());
                Box::new(Seeker::new(home, tickets, &io, fsync, all_timed))
            };
            return Some((0..io.seekers.max(1)).map(seeker).collect());
        }
        if test.is_io() {
            let script = IoScript::new(home, test, &self.shape.io?, fsync, all_timed);
            return Some(vec![Box::new(script)]);
        }
        let ground = self.ground(home)?;
        Some(vec![match test {
            Test::SequentialStat => Box::new(Visit::as_listed(ground, Operation::Stat)),
            Test::SequentialDelete => Box::new(Visit::as_listed(ground, Operation::Delete)),
            Test::RandomStat => Box::new(Visit::shuffled(ground, Operation::Stat)),
            Test::RandomDelete => Box::new(Visit::shuffled(ground, Operation::Delete)),
            other => Box::new(Create::new(ground, other.is_random())),
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

    fn tasks(&self, job: Job) -> Vec<Task> {
        let kind = self.shape.files.map(|files| files.kind);
        let mut tasks = Vec::new();
        for copy in 0..self.shape.copies {
            let home = self.style.home(copy);
            let subject = home.root.as_ref().unwrap_or(&home.name).to_string_lossy().into_owned();
            let task = |kind: &str, file_op, script| Task {
                direct: self.shape.direct && matches!(job, Job::Test(test) if test.is_io()),
                identity: self.shape.identity,
                ..Task::new(kind, &subject, file_op, script)
            };
            let Job::Test(test) = job else {
                let script = self.chore(job, home);
                tasks.extend(script.map(|script| task(SETUP, NO_FILES, script)));
                continue;
            };
            for script in self.scripts(test, home).unwrap_or_default() {
                let tally = if self.is_classic() { test.name() } else { "" };
                tasks.push(Task {
                    expected_bytes: self.expected_bytes(test),
                    tally: tally.to_owned(),
                    ..task(test.name(), file_op(test, kind), script)
                });
            }
        }
        tasks
    }
}

/// A call that is never made: no file is counted.
const NO_FILES: Op = Op::Truncate;

/// What counts as a file.
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

impl StepSession for BonnieSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let tests = self.shape.tests.len();
        let all = tests.saturating_mul(usize::try_from(self.shape.runs).unwrap_or(usize::MAX));
        if self.begun >= all {
            return None;
        }
        let test = self.shape.tests[self.begun % tests];
        let run = self.begun / tests + 1;
        self.begun += 1;
        self.test = Some(test);
        self.headline.begin();
        let last = self.is_last(test);
        self.plan(test, last);
        let name = match self.shape.runs {
            1 => test.name().to_owned(),
            _ => format!("{} {run}", test.name()),
        };
        Some(Phase { name, tasks: self.shape.tasks(test) })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let job = self.groups.pop_front()?;
        let caches = match job {
            Job::Test(_) if self.shape.drop_caches => Caches::Drop,
            _ => Caches::Keep,
        };
        // What was done until a signal came tells nothing of a rate.
        let side_by_side = SideBySide {
            on_signal: OnSignal::Stop,
            unfinished: Unfinished::Dropped,
            ..SideBySide::default()
        };
        Some(ParallelGroup {
            caches,
            tasks: self.tasks(job),
            side_by_side,
            ..ParallelGroup::default()
        })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let Some(test) = self.test.filter(|test| test.name() == totals.kind) else { return };
        let noted = totals.counters.read::<Noted>().unwrap_or_default();
        if noted.trouble != Trouble::None {
            self.trouble.get_or_insert((test, noted.trouble));
        }
        self.headline.add(test, totals, noted);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        if let Some(test) = self.test.filter(|test| test.name() == totals.kind) {
            self.headline.beside(test, totals, &totals.counters.read().unwrap_or_default());
        }
    }

    fn failure(&self) -> Option<SessionError> {
        let (test, trouble) = self.trouble?;
        let what = match trouble {
            Trouble::None => return None,
            Trouble::ShortRead => "a read ended before the end of what had been written",
            Trouble::NotEmpty => "a directory kept entries after all of its files were unlinked",
        };
        Some(SessionError::at(test.name(), what))
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        if self.is_classic() || self.begun == 0 {
            return Vec::new();
        }
        (0..self.shape.copies).map(root_name).collect()
    }

    fn litter(&self) -> Vec<String> {
        if !self.is_classic() || self.begun == 0 {
            return Vec::new();
        }
        let name = |copy| self.style.home(copy).name.to_string_lossy().into_owned();
        (0..self.shape.copies).map(name).collect()
    }
}
