//! Run of mdtest: iterations of parts, each done by all ranks in parallel between barriers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use treering_kit::packet::PacketPattern;
use treering_model::workloads::mdtest::ItemCounts;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Buffers, CachePolicy, Conductor, Deadline, ParallelGroup, Phase, Script, Session,
    SessionResult, Task, TaskListener, TimeLimit,
};

use super::headline;
use super::items::{CreateMode, ItemScript, PatternData, PauseScript};
use super::names::test_directory;
use super::shape::{ItemOperation, IterationStep, RunShape};
use super::trees::{TestDirAction, TestDirectories, TreeScript};
use treering_kit::op_times::OpTimes;
use treering_kit::parted::PartedSession;
use treering_kit::ranks::side_by_side;
use treering_kit::ranks::sums::RankSums;

/// The kind of tasks that make and remove test directories, which belong to no test.
pub(super) const SETUP: &str = "setup";

/// Session of a run.
pub(super) struct TestSession {
    shape: Arc<RunShape>,
    parts: Vec<IterationStep>,
    iteration: u32,
    /// Number of parts of the iteration that have begun.
    begun: usize,
    /// Items that each rank created in the current part.
    made: Vec<u64>,
    /// True if the time limit ended the creation of the current part.
    ended_by_time: bool,
    /// Items of a rank that exist: directories, and files.
    standing: [u64; 2],
    sums: RankSums,
}

impl TestSession {
    /// Creates a session for this shape.
    pub(super) fn new(shape: Arc<RunShape>) -> Self {
        let items = shape.made_before.unwrap_or(shape.items_per_tree());
        Self {
            parts: shape.parts(),
            iteration: 0,
            begun: 0,
            made: Vec::new(),
            ended_by_time: false,
            standing: [items; 2],
            sums: RankSums::default(),
            shape,
        }
    }

    /// Items of a rank in the current part.
    fn target(&self, part: IterationStep) -> u64 {
        match part {
            IterationStep::Items { act: ItemOperation::Create, .. } => self.shape.items_per_tree(),
            IterationStep::Items { is_directory, .. } => self.standing[usize::from(!is_directory)],
            IterationStep::MakeTrees | IterationStep::RemoveTrees => 0,
        }
    }

    /// Creates, checks or removes the test directories.
    fn run_test_directories(
        &mut self,
        action: TestDirAction,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let tasks = (0..self.shape.roots).map(|_root| self.test_directories(action)).collect();
        self.run_group(tasks, conductor)
    }

    fn run_trees(
        &mut self,
        part: IterationStep,
        makes: bool,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let makers = 0..self.shape.tree_makers();
        let tasks = makers.map(|rank| self.trees(part, rank, makes)).collect();
        self.run_group(tasks, conductor)
    }

    /// Runs a test of items; if items are created collectively, the first rank works for all.
    fn run_items(&mut self, part: IterationStep, conductor: &mut dyn Conductor) -> SessionResult {
        let IterationStep::Items { is_directory, act } = part else { return Ok(()) };
        let (creates, removes) = (act == ItemOperation::Create, act == ItemOperation::Remove);
        let items = 0..self.target(part);
        if self.shape.is_first_of_its_kind(part) && self.shape.around.delay_seconds > 0 {
            let task = self.pause(self.shape.around.delay_seconds);
            self.run_group(vec![task], conductor)?;
        }
        self.run_command(self.shape.around.before.clone(), conductor)?;
        let collective = self.shape.collective && (creates || removes);
        if collective {
            let ranks = (0..self.shape.ranks).collect();
            let task = self.items(part, 0, ranks, items.clone(), CreateMode::Empty, None);
            self.run_group(vec![task], conductor)?;
        }
        if !collective || (creates && !is_directory) {
            let seconds = self.shape.wall_seconds.filter(|_| creates);
            let time_limit = seconds.map(|seconds| TimeLimit {
                after: Duration::from_secs(seconds),
                deadline: Deadline::default(),
            });
            let wall = time_limit.as_ref().map(|limit| &limit.deadline);
            // Of a file that all have only rank 0 removes it.
            let ranks = if self.shape.shared_file && removes { 1 } else { self.shape.ranks };
            let create_mode =
                if self.shape.collective { CreateMode::Existing } else { CreateMode::Whole };
            let task = |rank| self.items(part, rank, vec![rank], items.clone(), create_mode, wall);
            let tasks: Vec<Task> = (0..ranks).map(task).collect();
            let looks = matches!(act, ItemOperation::Stat | ItemOperation::Read);
            let caches =
                if looks && self.shape.cold { CachePolicy::Drop } else { CachePolicy::Keep };
            let group = ParallelGroup { time_limit, caches, ..self.group(tasks) };
            conductor.group(group, self)?;
        }
        let least = self.made.iter().copied().min().unwrap_or(0);
        let most = self.made.iter().copied().max().unwrap_or(0);
        if self.ended_by_time && least < most {
            // All make as many as the fastest one has.
            let tail = (0..self.shape.ranks).zip(&self.made);
            let task = |(rank, &made)| {
                self.items(part, rank, vec![rank], made..most, CreateMode::Whole, None)
            };
            let tasks = tail.map(task).collect();
            self.run_group(tasks, conductor)?;
        }
        if creates && self.shape.wall_seconds.is_some() {
            self.standing[usize::from(!is_directory)] = most;
        }
        self.run_command(self.shape.around.after.clone(), conductor)
    }

    /// Runs a command between tests.
    fn run_command(
        &mut self,
        command: Option<String>,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        if command.is_none() {
            return Ok(());
        }
        let group = ParallelGroup { command, ..self.group(vec![self.pause(0)]) };
        conductor.group(group, self)
    }

    fn pause(&self, seconds: u64) -> Task {
        self.task(SETUP, "", Op::Pause, Box::new(PauseScript { seconds }))
    }

    fn run_group(&mut self, tasks: Vec<Task>, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.group(self.group(tasks), self)
    }

    fn group(&self, tasks: Vec<Task>) -> ParallelGroup {
        let side_by_side = side_by_side(self.shape.workers, tasks.len());
        ParallelGroup { side_by_side, ..ParallelGroup::new(tasks) }
    }

    fn task(&self, kind: &str, tally: &str, op: Op, script: Box<dyn Script>) -> Task {
        let subject = test_directory(self.iteration, 0);
        let is_classic = self.shape.as_original.is_some();
        let tally = if is_classic { tally.to_owned() } else { String::new() };
        let whole_paths = is_classic && kind != SETUP;
        Task { tally, whole_paths, ..Task::new(kind, &subject, op, script) }
    }

    fn test_directories(&self, action: TestDirAction) -> Task {
        let (shape, iteration) = (Arc::clone(&self.shape), self.iteration);
        let op = match action {
            TestDirAction::Make => Op::MakeDir,
            TestDirAction::LookAt => Op::OpenDir,
            TestDirAction::Remove => Op::RemoveDir,
        };
        self.task(SETUP, "", op, Box::new(TestDirectories { shape, iteration, action }))
    }

    fn trees(&self, part: IterationStep, rank: u16, makes: bool) -> Task {
        let script = Box::new(TreeScript {
            shape: Arc::clone(&self.shape),
            iteration: self.iteration,
            trees: self.shape.trees_of_maker(rank),
            makes,
            counts: ItemCounts::default(),
        });
        let op = if makes { Op::MakeDir } else { Op::RemoveDir };
        self.task(part.kind(), part.test().name(), op, script)
    }

    fn items(
        &self,
        part: IterationStep,
        rank: u16,
        acts_as: Vec<u16>,
        range: Range<u64>,
        create_mode: CreateMode,
        wall: Option<&Deadline>,
    ) -> Task {
        let IterationStep::Items { is_directory, act } = part else {
            return self.trees(part, rank, true);
        };
        let data = self.own_data(rank);
        let buffers = data.as_ref().map(|data| data.buffers.clone());
        let written =
            act == ItemOperation::Create && !is_directory && create_mode != CreateMode::Empty;
        let expected_bytes = if written {
            (range.end - range.start)
                .saturating_mul(self.shape.data.write_bytes.into())
                .saturating_mul(self.shape.loops)
        } else {
            0
        };
        let is_wear_out = range.start > 0;
        let script = Box::new(ItemScript {
            shape: Arc::clone(&self.shape),
            iteration: self.iteration,
            is_directory,
            act,
            create_mode,
            rank,
            acts_as,
            range,
            wall: wall.cloned(),
            data,
            counts: ItemCounts { is_wear_out, ..ItemCounts::default() },
            times: OpTimes::default(),
            expected: Vec::new(),
        });
        let op = file_op(is_directory, act, create_mode);
        let task = self.task(part.kind(), part.test().name(), op, script);
        let direct = self.shape.around.direct && !is_directory;
        Task { expected_bytes, buffers, direct, ..task }
    }

    /// Data of a rank in the original's format; `None` in native mode.
    fn own_data(&self, rank: u16) -> Option<PatternData> {
        let original = self.shape.as_original?;
        let pattern =
            PacketPattern { packet: original.packet, seed: original.data_seed, rank: rank.into() };
        Some(PatternData { buffers: Buffers::default(), pattern })
    }
}

/// Kind of call that counts as one item.
fn file_op(is_directory: bool, act: ItemOperation, create_mode: CreateMode) -> Op {
    match (act, is_directory) {
        (ItemOperation::Create, true) => Op::MakeDir,
        (ItemOperation::Create, false) if create_mode == CreateMode::Existing => Op::Open,
        (ItemOperation::Create, false) => Op::Create,
        (ItemOperation::Stat, _) => Op::Stat,
        (ItemOperation::Rename, _) => Op::Rename,
        (ItemOperation::Read, _) => Op::Open,
        (ItemOperation::Remove, true) => Op::RemoveDir,
        (ItemOperation::Remove, false) => Op::Unlink,
    }
}

impl PartedSession for TestSession {
    fn run_next_part(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let Some(&part) = self.parts.get(self.begun) else { return Ok(()) };
        self.begun += 1;
        self.made = vec![0; self.shape.ranks.into()];
        self.ended_by_time = false;
        self.sums.close();
        if self.begun == 1 && part != IterationStep::MakeTrees && self.shape.as_original.is_some() {
            self.run_test_directories(TestDirAction::LookAt, conductor)?;
        }
        match part {
            IterationStep::MakeTrees => {
                self.run_test_directories(TestDirAction::Make, conductor)?;
                self.run_trees(part, true, conductor)
            }
            IterationStep::RemoveTrees => {
                self.run_trees(part, false, conductor)?;
                self.run_test_directories(TestDirAction::Remove, conductor)
            }
            IterationStep::Items { .. } => self.run_items(part, conductor),
        }
    }
}

impl TaskListener for TestSession {
    fn task_ended(&mut self, totals: &TaskTotals) {
        let counts = totals.counters.read::<ItemCounts>().unwrap_or_default();
        if let Some(made) = self.made.get_mut(usize::from(totals.worker)) {
            *made += counts.done;
        }
        self.ended_by_time |= counts.ended_by_time;
        if totals.kind != SETUP {
            self.sums.add(totals, headline::rank_counts(counts));
        }
    }
}

impl Session for TestSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for iteration in 0..self.shape.iterations {
            self.iteration = iteration;
            self.begun = 0;
            for part in self.parts.clone() {
                let kind = part.kind();
                let name = match iteration {
                    0 => kind.to_owned(),
                    later => format!("{kind} {}", later + 1),
                };
                conductor.phase(Phase::new(name, self.shape.ranks))?;
                self.run_next_part(conductor)?;
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        headline::metrics(&self.sums)
    }

    fn remains(&self) -> Vec<String> {
        if self.shape.acts.remove {
            return Vec::new();
        }
        let loops = (0..self.shape.iterations)
            .flat_map(|iteration| (0..self.shape.loops).map(move |number| (iteration, number)));
        loops.map(|(iteration, number)| test_directory(iteration, number)).collect()
    }
}
