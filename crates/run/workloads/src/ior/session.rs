//! One run: repetitions of tests, each of which all ranks do side by side.

use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use treering_classic::ior::counts::TransferCounts;
use treering_classic::mdtest::pattern::Pattern;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Buffers, Caches, Deadline, ParallelGroup, Phase, Session, SideBySide, Task, TimeLimit,
};

use super::headline::Headline;
use super::places::{Places, read_of};
use super::shape::{Part, Shape};
use super::transfer::{Does, OWN_DIRECTORY, OwnData, OwnDirectory, Place, Removal, Transfers};

/// The kind of tasks that make room and belong to no test.
pub(super) const SETUP: &str = "setup";

/// A group of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    MakeDirectory,
    /// What an earlier run left goes.
    Clear,
    Transfers,
    /// All do as much as the fastest one has.
    WearOut,
    Remove,
    RemoveDirectory,
}

/// A run in progress.
pub(super) struct IorSession {
    shape: Arc<Shape>,
    parts: Vec<Part>,
    repetition: u32,
    next: usize,
    part: Option<Part>,
    groups: Vec<Group>,
    /// Transfers that each rank did in the present part.
    done: Vec<u64>,
    ended_by_time: bool,
    /// Transfers of each rank, where time ended the write.
    written: Option<u64>,
    headline: Headline,
}

impl IorSession {
    /// A run of this shape.
    pub(super) fn new(shape: Arc<Shape>) -> Self {
        Self {
            parts: shape.parts(),
            repetition: 0,
            next: 0,
            part: None,
            groups: Vec::new(),
            done: Vec::new(),
            ended_by_time: false,
            written: shape.transfers_before,
            headline: Headline::default(),
            shape,
        }
    }

    fn is_native(&self) -> bool {
        self.shape.as_original.is_none()
    }

    fn groups_of(&self, part: Part) -> Vec<Group> {
        let makes = self.is_native() && part == Part::Write;
        let last = self.is_native() && part == Part::Remove;
        let clears = part == Part::Write && !self.shape.uses_existing && !self.is_native();
        let all = [
            (makes, Group::MakeDirectory),
            (clears, Group::Clear),
            (part != Part::Remove, Group::Transfers),
            (part == Part::Remove, Group::Remove),
            (last, Group::RemoveDirectory),
        ];
        all.into_iter().filter_map(|(is_done, group)| is_done.then_some(group)).collect()
    }

    fn place(&self, rank: u16) -> Place {
        let name = self.shape.file_of(rank, Some(self.repetition));
        Place {
            is_in_own_directory: self.is_native(),
            name: CString::new(name).unwrap_or_default(),
        }
    }

    /// The ranks that remove: each its file, or one for all.
    fn removers(&self) -> u16 {
        if self.shape.own_files { self.shape.ranks } else { 1 }
    }

    fn tasks(&self, part: Part, group: Group, wall: Option<&Deadline>) -> Vec<Task> {
        let ranks = 0..self.shape.ranks;
        match group {
            Group::MakeDirectory | Group::RemoveDirectory => {
                let makes = group == Group::MakeDirectory;
                let op = if makes { Op::MakeDir } else { Op::RemoveDir };
                let name = OWN_DIRECTORY.to_string_lossy();
                vec![Task::new(SETUP, &name, op, Box::new(OwnDirectory { makes }))]
            }
            Group::Clear | Group::Remove => {
                let kind = if group == Group::Remove { part.kind() } else { SETUP };
                let one = |rank| self.removal(kind, rank);
                (0..self.removers()).map(one).collect()
            }
            Group::Transfers => ranks.map(|rank| self.transfers(part, rank, None, wall)).collect(),
            Group::WearOut => {
                let most = self.done.iter().copied().max().unwrap_or(0);
                let rest = ranks.zip(&self.done);
                rest.map(|(rank, &done)| self.transfers(part, rank, Some(done..most), None))
                    .collect()
            }
        }
    }

    fn removal(&self, kind: &str, rank: u16) -> Task {
        let name = self.shape.file_of(rank, Some(self.repetition));
        let script = Box::new(Removal { place: self.place(rank) });
        Task::new(kind, &name, Op::Unlink, script)
    }

    /// A rank's part of a test; the rest of it where a range is given.
    fn transfers(
        &self,
        part: Part,
        rank: u16,
        rest: Option<Range<u64>>,
        wall: Option<&Deadline>,
    ) -> Task {
        let shape = &self.shape;
        let owner = if part == Part::Write { rank } else { read_of(shape, rank) };
        let does = match part {
            Part::Write => Does::Write,
            Part::CheckWrite => Does::Check,
            Part::Read if shape.checks_read => Does::Check,
            Part::Read | Part::Remove => Does::Read,
        };
        let places = Places::of(shape, owner);
        let all = places.count(shape.segments);
        let all = self.written.filter(|_| part != Part::Write).map_or(all, |most| most.min(all));
        let is_wear_out = rest.is_some();
        let range = rest.unwrap_or(0..all);
        let data = shape.as_original.map(|original| OwnData {
            buffers: Buffers::default(),
            pattern: Pattern {
                packet: original.packet,
                seed: original.data_seed,
                rank: owner.into(),
            },
        });
        let buffers = data.as_ref().map(|data| data.buffers.clone());
        let bytes =
            (range.end - range.start.min(range.end)).saturating_mul(shape.transfer_bytes.into());
        let script = Box::new(Transfers {
            place: self.place(owner),
            does,
            places,
            range,
            bytes: shape.transfer_bytes,
            fsync: shape.fsync,
            wall: wall.cloned(),
            data,
            counts: TransferCounts { is_wear_out, ..TransferCounts::default() },
            expected: Vec::new(),
        });
        let op = if part == Part::Write { Op::Create } else { Op::Open };
        let subject = shape.file_of(owner, Some(self.repetition));
        let tally = if self.is_native() { "" } else { part.kind() };
        Task {
            expected_bytes: bytes,
            buffers,
            direct: shape.direct,
            tally: tally.to_owned(),
            ..Task::new(part.kind(), &subject, op, script)
        }
    }

    /// Where time ended a test and all are to do the same, what the slower ones lack.
    fn group_after(&mut self) -> Option<Group> {
        if std::mem::take(&mut self.ended_by_time) && self.shape.wears_out {
            let (least, most) = (self.done.iter().min()?, self.done.iter().max()?);
            return (least < most).then_some(Group::WearOut);
        }
        None
    }
}

impl Session for IorSession {
    fn next_phase(&mut self) -> Option<Phase> {
        if self.part == Some(Part::Write) && self.shape.wall_seconds.is_some() {
            self.written = self.done.iter().copied().max();
        }
        if self.next == self.parts.len() {
            self.next = 0;
            self.repetition += 1;
        }
        if self.repetition == self.shape.repetitions || self.parts.is_empty() {
            return None;
        }
        let part = self.parts[self.next];
        self.next += 1;
        self.part = Some(part);
        self.groups = self.groups_of(part);
        self.groups.reverse();
        self.done = vec![0; self.shape.ranks.into()];
        self.ended_by_time = false;
        self.headline.close();
        let name = match self.repetition {
            0 => part.kind().to_owned(),
            later => format!("{} {}", part.kind(), later + 1),
        };
        Some(Phase { name, tasks: self.shape.ranks.into() })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.part?;
        let group = self.groups.pop().or_else(|| self.group_after())?;
        let is_measured = matches!(part, Part::Write | Part::Read) && group == Group::Transfers;
        let time_limit = self.shape.wall_seconds.filter(|_| is_measured).map(|seconds| TimeLimit {
            after: Duration::from_secs(seconds),
            deadline: Deadline::default(),
        });
        let tasks = self.tasks(part, group, time_limit.as_ref().map(|limit| &limit.deadline));
        let drops = part == Part::Read && self.shape.cold;
        Some(ParallelGroup {
            tasks,
            time_limit,
            caches: if drops { Caches::Drop } else { Caches::Keep },
            side_by_side: SideBySide { workers: self.shape.workers, ..SideBySide::default() },
            ..ParallelGroup::default()
        })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        if totals.kind == SETUP {
            return;
        }
        let counts = totals.counters.read::<TransferCounts>().unwrap_or_default();
        if let Some(done) = self.done.get_mut(usize::from(totals.worker)) {
            *done += counts.transfers;
        }
        self.ended_by_time |= counts.ended_by_time;
        self.headline.add(totals, counts);
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn remains(&self) -> Vec<String> {
        if self.is_native() && self.shape.keeps {
            vec![OWN_DIRECTORY.to_string_lossy().into_owned()]
        } else {
            Vec::new()
        }
    }
}
