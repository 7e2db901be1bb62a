//! One run: repetitions of tests, each of which all ranks do side by side.

use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use treering_kit::packet::Pattern;
use treering_model::workloads::ior::TransferCounts;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Buffers, Caches, Deadline, ParallelGroup, Phase, Session, SessionError, Task, TimeLimit,
};

use super::headline;
use super::memory::{Lack, Taken};
use super::places::{Places, read_of};
use super::shape::{Part, Shape};
use super::transfer::{
    Delay, Does, OWN_DIRECTORY, OwnData, OwnDirectory, Place, Removal, Transfers,
};
use treering_kit::rank_sums::RankSums;
use treering_kit::ranks::side_by_side;

/// The kind of tasks that make room and belong to no test.
pub(super) const SETUP: &str = "setup";

/// A group of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Memory is taken away.
    Memory,
    MakeDirectory,
    /// Each rank has one, of its own name.
    MakeOwnDirectories,
    Delay,
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
    sums: RankSums,
    /// The memory of each rank, kept as by the original.
    buffers: Vec<Buffers>,
    /// What was taken of the memory of this machine, until the end; or why it was not.
    taken: Option<Result<Taken, Lack>>,
    /// When the first task began and the last one ended, by the clock of the trial: the same at all
    /// ranks.
    span: Option<(u64, u64)>,
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
            sums: RankSums::default(),
            buffers: (0..shape.ranks).map(|_rank| Buffers::default()).collect(),
            taken: None,
            span: None,
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
        let is_timed = matches!(part, Part::Write | Part::Read);
        let has_own = self.shape.directory_of(0).is_some() && part != Part::Remove;
        let takes = self.shape.memory.is_some() && self.taken.is_none();
        let all = [
            (takes, Group::Memory),
            (makes, Group::MakeDirectory),
            (has_own, Group::MakeOwnDirectories),
            (is_timed && self.shape.delay_seconds > 0, Group::Delay),
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
                let script = OwnDirectory { path: OWN_DIRECTORY.to_owned(), makes };
                vec![Task::new(SETUP, &name, op, Box::new(script))]
            }
            Group::MakeOwnDirectories => ranks.map(|rank| self.own_directory(rank)).collect(),
            // Nothing is to be done but to hear of each rank whether it could.
            Group::Memory => {
                vec![Task::new(SETUP, "memory", Op::Pause, Box::new(Delay { seconds: 0 }))]
            }
            Group::Delay => {
                let seconds = self.shape.delay_seconds;
                vec![Task::new(SETUP, "delay", Op::Pause, Box::new(Delay { seconds }))]
            }
            Group::Clear | Group::Remove => {
                let own = self.shape.kind(part);
                let kind = if group == Group::Remove { &own } else { SETUP };
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

    fn own_directory(&self, rank: u16) -> Task {
        let name = self.shape.directory_of(rank).unwrap_or_default();
        let path = CString::new(name.clone()).unwrap_or_default();
        let script = Box::new(OwnDirectory { path, makes: true });
        Task::new(SETUP, &name, Op::MakeDir, script)
    }

    fn removal(&self, kind: &str, rank: u16) -> Task {
        let name = self.shape.file_of(rank, Some(self.repetition));
        let script = Box::new(Removal { place: self.place(rank) });
        let whole_paths = !self.is_native();
        Task { whole_paths, ..Task::new(kind, &name, Op::Unlink, script) }
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
        let owner = read_of(shape, rank, part);
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
            buffers: self.buffers[usize::from(rank)].clone(),
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
            whole_paths: !self.is_native(),
            tally: tally.to_owned(),
            ..Task::new(&shape.kind(part), &subject, op, script)
        }
    }

    /// The next part, if there is still time for one. What was written is removed in any case.
    fn next_part(&mut self) -> Option<Part> {
        loop {
            if self.next == self.parts.len() {
                self.next = 0;
                self.repetition += 1;
            }
            if self.repetition == self.shape.repetitions || self.parts.is_empty() {
                return None;
            }
            let is_late = self.is_late();
            if is_late && self.next == 0 {
                return None;
            }
            let part = self.parts[self.next];
            self.next += 1;
            if !is_late || part == Part::Remove {
                return Some(part);
            }
        }
    }

    fn is_late(&self) -> bool {
        let (Some(limit), Some((began_ns, ended_ns))) = (self.shape.begins_within, self.span)
        else {
            return false;
        };
        u128::from(ended_ns - began_ns) >= limit.as_nanos()
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
        let part = self.next_part()?;
        self.part = Some(part);
        self.groups = self.groups_of(part);
        self.groups.reverse();
        self.done = vec![0; self.shape.ranks.into()];
        self.ended_by_time = false;
        self.sums.close();
        let name = match self.repetition {
            0 => self.shape.kind(part),
            later => format!("{} {}", self.shape.kind(part), later + 1),
        };
        Some(Phase { name, tasks: self.shape.ranks.into() })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.part?;
        let group = self.groups.pop().or_else(|| self.group_after())?;
        if let Some(memory) = self.shape.memory.filter(|_| group == Group::Memory) {
            self.taken = Some(Taken::take(memory));
        }
        let is_measured = matches!(part, Part::Write | Part::Read) && group == Group::Transfers;
        let time_limit = self.shape.wall_seconds.filter(|_| is_measured).map(|seconds| TimeLimit {
            after: Duration::from_secs(seconds),
            deadline: Deadline::default(),
        });
        let tasks = self.tasks(part, group, time_limit.as_ref().map(|limit| &limit.deadline));
        let drops = part == Part::Read && self.shape.cold;
        let side_by_side = side_by_side(self.shape.workers, tasks.len());
        Some(ParallelGroup {
            tasks,
            time_limit,
            caches: if drops { Caches::Drop } else { Caches::Keep },
            side_by_side,
            ..ParallelGroup::default()
        })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let ended_ns = totals.began_ns + totals.wall_ns;
        let (began_ns, last_ns) = self.span.unwrap_or((totals.began_ns, ended_ns));
        self.span = Some((began_ns.min(totals.began_ns), last_ns.max(ended_ns)));
        if totals.kind == SETUP {
            return;
        }
        let counts = totals.counters.read::<TransferCounts>().unwrap_or_default();
        if let Some(done) = self.done.get_mut(usize::from(totals.worker)) {
            *done += counts.transfers;
        }
        self.ended_by_time |= counts.ended_by_time;
        self.sums.add(totals, headline::done(counts));
    }

    fn failure(&self) -> Option<SessionError> {
        let lack = self.taken.as_ref()?.as_ref().err()?;
        Some(SessionError::at("-M", lack.to_string()))
    }

    fn metrics(&self) -> Vec<Metric> {
        headline::metrics(&self.sums)
    }

    fn remains(&self) -> Vec<String> {
        if self.is_native() && self.shape.keeps {
            vec![OWN_DIRECTORY.to_string_lossy().into_owned()]
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use treering_model::TaskTotals;
    use treering_script::{Session as _, Settings};

    use super::IorSession;
    use crate::config::ClassicConfig;
    use crate::memory::Memory;

    #[test]
    fn a_rank_without_the_memory_that_is_to_be_taken_ends_the_run_before_its_first_test() {
        let mut config = ClassicConfig::read(&Settings::default()).unwrap();
        let bytes = u64::MAX / 2;
        config.shape.memory = Some(Memory { node_bytes: bytes, process_bytes: bytes });
        let mut session = IorSession::new(Arc::new(config.shape));
        session.next_phase().unwrap();
        assert_eq!(session.failure(), None);
        let group = session.next_group().unwrap();
        let subjects: Vec<&str> = group.tasks.iter().map(|task| task.subject.as_str()).collect();
        assert_eq!(subjects, ["memory"]);
        let failure = session.failure().unwrap().to_string();
        assert!(failure.starts_with("-M: "), "{failure}");
    }

    #[test]
    fn no_test_begins_when_the_minutes_are_over_but_what_was_written_is_removed() {
        let given = [("minutes", "1"), ("repetitions", "3")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = ClassicConfig::read(&Settings::new(given.to_vec())).unwrap();
        let mut session = IorSession::new(Arc::new(config.shape));
        let mut phases = Vec::new();
        while let Some(phase) = session.next_phase() {
            phases.push(phase.name);
            let wall_ns = 25_000_000_000;
            let began_ns = (phases.len() as u64 - 1) * wall_ns;
            session.task_ended(&TaskTotals { began_ns, wall_ns, ..TaskTotals::default() });
        }
        // 75 s when the first repetition is over.
        assert_eq!(phases, ["write", "read", "remove"]);
        let mut session = IorSession::new(Arc::clone(&session.shape));
        let write = session.next_phase().unwrap();
        session.task_ended(&TaskTotals { wall_ns: 60_000_000_000, ..TaskTotals::default() });
        let next = session.next_phase().map(|phase| phase.name);
        assert_eq!((write.name.as_str(), next.as_deref()), ("write", Some("remove")));
        assert!(session.next_phase().is_none());
    }
}
