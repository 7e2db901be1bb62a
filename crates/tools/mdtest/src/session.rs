//! One run: iterations of parts, each of which all ranks do side by side between barriers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use treering_kit::packet::Pattern;
use treering_model::workloads::mdtest::ItemCounts;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Buffers, Caches, Deadline, ParallelGroup, Phase, Script, Session, Task, TimeLimit,
};

use super::headline;
use super::items::{Items, Making, OwnData};
use super::names::test_directory;
use super::shape::{Act, Part, Shape};
use super::trees::{Care, TestDirectories, Trees};
use treering_kit::rank_sums::RankSums;
use treering_kit::ranks::side_by_side;

/// The kind of tasks that make and remove test directories, which belong to no test.
pub(super) const SETUP: &str = "setup";

/// A group of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    TestDirectories(Care),
    Trees {
        makes: bool,
    },
    /// Rank 0 does it for all.
    Collective,
    Items,
    /// All make as many as the fastest one has.
    WearOut,
}

/// A run in progress.
pub(super) struct TestSession {
    shape: Arc<Shape>,
    parts: Vec<Part>,
    iteration: u32,
    /// The next part of the iteration.
    next: usize,
    part: Option<Part>,
    groups: Vec<Group>,
    /// Items that each rank made in the present part.
    made: Vec<u64>,
    /// Whether time ended the creation of the present part.
    ended_by_time: bool,
    /// Items of a rank: of directories, and of files.
    standing: [u64; 2],
    sums: RankSums,
}

impl TestSession {
    /// A run of this shape.
    pub(super) fn new(shape: Arc<Shape>) -> Self {
        let items = shape.made_before.unwrap_or(shape.items_a_tree());
        Self {
            parts: shape.parts(),
            iteration: 0,
            next: 0,
            part: None,
            groups: Vec::new(),
            made: Vec::new(),
            ended_by_time: false,
            standing: [items; 2],
            sums: RankSums::default(),
            shape,
        }
    }

    fn groups_of(&self, part: Part) -> Vec<Group> {
        match part {
            Part::MakeTrees => {
                vec![Group::TestDirectories(Care::Make), Group::Trees { makes: true }]
            }
            Part::RemoveTrees => {
                vec![Group::Trees { makes: false }, Group::TestDirectories(Care::Remove)]
            }
            Part::Items { is_directory, act: Act::Create } if self.shape.collective => {
                let all = [Some(Group::Collective), (!is_directory).then_some(Group::Items)];
                all.into_iter().flatten().collect()
            }
            Part::Items { act: Act::Remove, .. } if self.shape.collective => {
                vec![Group::Collective]
            }
            Part::Items { .. } => vec![Group::Items],
        }
    }

    /// Items of a rank in the present part.
    fn target(&self, part: Part) -> u64 {
        match part {
            Part::Items { act: Act::Create, .. } => self.shape.items_a_tree(),
            Part::Items { is_directory, .. } => self.standing[usize::from(!is_directory)],
            Part::MakeTrees | Part::RemoveTrees => 0,
        }
    }

    fn tasks(&self, part: Part, group: Group, wall: Option<&Deadline>) -> Vec<Task> {
        let shape = &self.shape;
        match group {
            Group::TestDirectories(care) => {
                (0..shape.roots).map(|_root| self.test_directories(care)).collect()
            }
            Group::Trees { makes } => {
                (0..shape.tree_makers()).map(|rank| self.trees(part, rank, makes)).collect()
            }
            Group::Collective => {
                let all = (0..shape.ranks).collect();
                vec![self.items(part, 0, all, 0..self.target(part), Making::Empty, None)]
            }
            Group::Items => {
                // Of a file that all have only rank 0 removes it.
                let removes = matches!(part, Part::Items { act: Act::Remove, .. });
                let ranks = if shape.shared_file && removes { 1 } else { shape.ranks };
                let making = if shape.collective { Making::Existing } else { Making::Whole };
                let one =
                    |rank| self.items(part, rank, vec![rank], 0..self.target(part), making, wall);
                (0..ranks).map(one).collect()
            }
            Group::WearOut => {
                let most = self.made.iter().copied().max().unwrap_or(0);
                let rest = (0..shape.ranks).zip(&self.made);
                let one = |(rank, &made): (u16, &u64)| {
                    self.items(part, rank, vec![rank], made..most, Making::Whole, None)
                };
                rest.map(one).collect()
            }
        }
    }

    fn task(&self, kind: &str, tally: &str, op: Op, script: Box<dyn Script>) -> Task {
        let subject = test_directory(self.iteration, 0);
        let is_classic = self.shape.as_original.is_some();
        let tally = if is_classic { tally.to_owned() } else { String::new() };
        let whole_paths = is_classic && kind != SETUP;
        Task { tally, whole_paths, ..Task::new(kind, &subject, op, script) }
    }

    fn test_directories(&self, care: Care) -> Task {
        let (shape, iteration) = (Arc::clone(&self.shape), self.iteration);
        let op = match care {
            Care::Make => Op::MakeDir,
            Care::LookAt => Op::OpenDir,
            Care::Remove => Op::RemoveDir,
        };
        self.task(SETUP, "", op, Box::new(TestDirectories { shape, iteration, care }))
    }

    fn trees(&self, part: Part, rank: u16, makes: bool) -> Task {
        let script = Box::new(Trees {
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
        part: Part,
        rank: u16,
        acts_as: Vec<u16>,
        range: Range<u64>,
        making: Making,
        wall: Option<&Deadline>,
    ) -> Task {
        let Part::Items { is_directory, act } = part else { return self.trees(part, rank, true) };
        let data = self.own_data(rank);
        let buffers = data.as_ref().map(|data| data.buffers.clone());
        let written = act == Act::Create && !is_directory && making != Making::Empty;
        let expected_bytes = if written {
            (range.end - range.start)
                .saturating_mul(self.shape.data.write_bytes.into())
                .saturating_mul(self.shape.loops)
        } else {
            0
        };
        let is_wear_out = range.start > 0;
        let script = Box::new(Items {
            shape: Arc::clone(&self.shape),
            iteration: self.iteration,
            is_directory,
            act,
            making,
            rank,
            acts_as,
            range,
            wall: wall.cloned(),
            data,
            counts: ItemCounts { is_wear_out, ..ItemCounts::default() },
            expected: Vec::new(),
        });
        let op = file_op(is_directory, act, making);
        let task = self.task(part.kind(), part.test().name(), op, script);
        Task { expected_bytes, buffers, ..task }
    }

    /// The bytes of a rank, where they are the original's.
    fn own_data(&self, rank: u16) -> Option<OwnData> {
        let original = self.shape.as_original?;
        let pattern =
            Pattern { packet: original.packet, seed: original.data_seed, rank: rank.into() };
        Some(OwnData { buffers: Buffers::default(), pattern })
    }

    /// Goes on after the groups of a part: where time ended it, all make what the fastest made.
    fn group_after(&mut self) -> Option<Group> {
        if std::mem::take(&mut self.ended_by_time) {
            let (least, most) = (self.made.iter().min()?, self.made.iter().max()?);
            if least < most {
                return Some(Group::WearOut);
            }
        }
        None
    }

    fn part_ended(&mut self) {
        if let Some(Part::Items { is_directory, act: Act::Create }) = self.part
            && self.shape.wall_seconds.is_some()
        {
            let most = self.made.iter().copied().max().unwrap_or(0);
            self.standing[usize::from(!is_directory)] = most;
        }
    }
}

/// The call that is an item.
fn file_op(is_directory: bool, act: Act, making: Making) -> Op {
    match (act, is_directory) {
        (Act::Create, true) => Op::MakeDir,
        (Act::Create, false) if making == Making::Existing => Op::Open,
        (Act::Create, false) => Op::Create,
        (Act::Stat, _) => Op::Stat,
        (Act::Rename, _) => Op::Rename,
        (Act::Read, _) => Op::Open,
        (Act::Remove, true) => Op::RemoveDir,
        (Act::Remove, false) => Op::Unlink,
    }
}

impl Session for TestSession {
    fn next_phase(&mut self) -> Option<Phase> {
        self.part_ended();
        if self.next == self.parts.len() {
            self.next = 0;
            self.iteration += 1;
        }
        if self.iteration == self.shape.iterations || self.parts.is_empty() {
            return None;
        }
        let part = self.parts[self.next];
        self.next += 1;
        self.part = Some(part);
        self.groups = self.groups_of(part);
        if self.next == 1 && part != Part::MakeTrees && self.shape.as_original.is_some() {
            self.groups.insert(0, Group::TestDirectories(Care::LookAt));
        }
        self.groups.reverse();
        self.made = vec![0; self.shape.ranks.into()];
        self.sums.close();
        let kind = part.kind();
        let name = match self.iteration {
            0 => kind.to_owned(),
            later => format!("{kind} {}", later + 1),
        };
        Some(Phase { name, tasks: self.shape.ranks.into() })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.part?;
        let group = self.groups.pop().or_else(|| self.group_after())?;
        let creates = matches!(part, Part::Items { act: Act::Create, .. });
        let looks = matches!(part, Part::Items { act: Act::Stat | Act::Read, .. });
        let seconds = self.shape.wall_seconds.filter(|_| creates && group == Group::Items);
        let time_limit = seconds.map(|seconds| TimeLimit {
            after: Duration::from_secs(seconds),
            deadline: Deadline::default(),
        });
        let tasks = self.tasks(part, group, time_limit.as_ref().map(|limit| &limit.deadline));
        let side_by_side = side_by_side(self.shape.workers, tasks.len());
        Some(ParallelGroup {
            tasks,
            time_limit,
            caches: if looks && self.shape.cold { Caches::Drop } else { Caches::Keep },
            side_by_side,
            ..ParallelGroup::default()
        })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let counts = totals.counters.read::<ItemCounts>().unwrap_or_default();
        if let Some(made) = self.made.get_mut(usize::from(totals.worker)) {
            *made += counts.done;
        }
        self.ended_by_time |= counts.ended_by_time;
        if totals.kind != SETUP {
            self.sums.add(totals, headline::done(counts));
        }
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
