//! Run of ior: repetitions of tests, each done by all ranks in parallel.

use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use treering_kit::packet::PacketPattern;
use treering_model::workloads::ior::TransferCounts;
use treering_model::{Metric, Op, TaskTotals};
use treering_script::{
    Buffers, CachePolicy, Conductor, Deadline, ParallelGroup, Phase, Session, SessionError,
    SessionResult, SessionStop, Task, TaskListener, TimeLimit,
};

use super::headline;
use super::memory::{InsufficientMemory, MemoryAmount, MemoryHog};
use super::places::{TransferPlaces, read_of};
use super::shape::{IoInterface, RunShape, TestKind};
use super::transfer::{
    AccessMethod, DelayScript, FileLocation, FilePresence, LookScript, OWN_DIRECTORY, OwnDirectory,
    PatternData, RankBarrier, RemoveScript, TransferOp, TransferScript,
};
use treering_kit::op_times::OpTimes;
use treering_kit::parted::PartedSession;
use treering_kit::ranks::side_by_side;
use treering_kit::ranks::sums::RankSums;

/// Kind of the setup tasks, which belong to no test.
pub(super) const SETUP: &str = "setup";

/// Session of a run.
pub(super) struct IorSession {
    shape: Arc<RunShape>,
    parts: Vec<TestKind>,
    repetition: u32,
    /// Number of parts of the repetition that have begun, or were skipped because the time was
    /// over.
    begun: usize,
    /// Number of transfers of each rank in the current part.
    done: Vec<u64>,
    ended_by_time: bool,
    /// Transfers of each rank in a write that the time limit ended.
    written: Option<u64>,
    sums: RankSums,
    /// Barrier of the ranks in the current part.
    barrier: Option<RankBarrier>,
    /// Buffers of each rank, which are kept for the whole run as in the original.
    buffers: Vec<Buffers>,
    /// Memory occupied until the end of the run, or the reason why it could not be; `None` before
    /// that.
    taken: Option<Result<MemoryHog, InsufficientMemory>>,
    /// True once it was looked whether the files are there already.
    has_looked: bool,
    /// Start of the first task and end of the last one, by the clock of the trial, which is common
    /// to all ranks.
    span: Option<(u64, u64)>,
}

impl IorSession {
    /// Creates a session for this shape.
    pub(super) fn new(shape: Arc<RunShape>) -> Self {
        Self {
            parts: shape.parts(),
            repetition: 0,
            begun: 0,
            done: Vec::new(),
            ended_by_time: false,
            written: shape.transfers_before,
            sums: RankSums::default(),
            barrier: None,
            buffers: (0..shape.ranks).map(|_rank| Buffers::default()).collect(),
            taken: None,
            has_looked: false,
            span: None,
            shape,
        }
    }

    fn is_native(&self) -> bool {
        self.shape.as_original.is_none()
    }

    /// Occupies memory on this machine. The task group that follows tells all ranks whether it
    /// succeeded.
    fn take_memory(
        &mut self,
        memory: MemoryAmount,
        caches: CachePolicy,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let taken = MemoryHog::take(memory);
        let failure =
            taken.as_ref().err().map(|shortage| SessionError::at("-M", shortage.to_string()));
        self.taken = Some(taken);
        let task = Task::new(SETUP, "memory", Op::Pause, Box::new(DelayScript { seconds: 0 }));
        self.run_group(vec![task], caches, conductor)?;
        SessionStop::check(failure)
    }

    /// Makes or removes the directory of a native run.
    fn run_directory(
        &mut self,
        makes: bool,
        caches: CachePolicy,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let op = if makes { Op::MakeDir } else { Op::RemoveDir };
        let name = OWN_DIRECTORY.to_string_lossy();
        let script = OwnDirectory { path: OWN_DIRECTORY.to_owned(), makes, is_private: false };
        let task = Task::new(SETUP, &name, op, Box::new(script));
        self.run_group(vec![task], caches, conductor)
    }

    fn run_removal(&mut self, kind: &str, conductor: &mut dyn Conductor) -> SessionResult {
        if self.shape.interface == IoInterface::Dummy {
            return Ok(());
        }
        let tasks = (0..self.removers()).map(|rank| self.removal(kind, rank)).collect();
        self.run_group(tasks, CachePolicy::Keep, conductor)
    }

    /// Prepares the transfers of a part: memory, directories and removals.
    fn prepare(
        &mut self,
        part: TestKind,
        caches: CachePolicy,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let shape = Arc::clone(&self.shape);
        if let Some(memory) = shape.memory.filter(|_| self.taken.is_none()) {
            self.take_memory(memory, caches, conductor)?;
        }
        if self.is_native() && part == TestKind::Write {
            self.run_directory(true, caches, conductor)?;
        }
        let is_dummy = shape.interface == IoInterface::Dummy;
        if !self.is_native() && !is_dummy && !self.has_looked && shape.writes_or_checks() {
            self.has_looked = true;
            let tasks = (0..self.removers()).map(|rank| self.look(rank)).collect();
            self.run_group(tasks, caches, conductor)?;
        }
        if shape.directory_of(0).is_some() && part != TestKind::Remove && !is_dummy {
            let tasks = (0..shape.ranks).map(|rank| self.own_directory(rank)).collect();
            self.run_group(tasks, caches, conductor)?;
        }
        if shape.delay_seconds > 0 && matches!(part, TestKind::Write | TestKind::Read) {
            let script = Box::new(DelayScript { seconds: shape.delay_seconds });
            let task = Task::new(SETUP, "delay", Op::Pause, script);
            self.run_group(vec![task], caches, conductor)?;
        }
        if part == TestKind::Write && !shape.uses_existing && !self.is_native() {
            // What an earlier run left goes.
            self.run_removal(SETUP, conductor)?;
        }
        Ok(())
    }

    /// Runs the transfers of a part. If the time limit ends them and wear-out is on, slower ranks
    /// then catch up with the fastest.
    fn run_transfers(
        &mut self,
        part: TestKind,
        caches: CachePolicy,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let is_timed = matches!(part, TestKind::Write | TestKind::Read);
        let time_limit = self.shape.wall_seconds.filter(|_| is_timed).map(|seconds| TimeLimit {
            after: Duration::from_secs(seconds),
            deadline: Deadline::default(),
        });
        let wall = time_limit.as_ref().map(|limit| &limit.deadline);
        let ranks = 0..self.shape.ranks;
        let meets = self.shape.has_barriers && is_timed;
        self.barrier = meets.then(|| RankBarrier::new(self.shape.ranks));
        let task = |rank| self.transfers(part, rank, None, wall);
        let tasks: Vec<Task> = ranks.clone().map(task).collect();
        let group = ParallelGroup { time_limit, ..self.group(tasks, caches) };
        conductor.group(group, self)?;
        let least = self.done.iter().copied().min().unwrap_or(0);
        let most = self.done.iter().copied().max().unwrap_or(0);
        if self.ended_by_time && self.shape.wears_out && least < most {
            self.barrier = None;
            let task = |(rank, &done)| self.transfers(part, rank, Some(done..most), None);
            let tasks = ranks.zip(&self.done).map(task).collect();
            self.run_group(tasks, caches, conductor)?;
        }
        if part == TestKind::Write && self.shape.wall_seconds.is_some() {
            self.written = Some(most);
        }
        Ok(())
    }

    fn run_group(
        &mut self,
        tasks: Vec<Task>,
        caches: CachePolicy,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        conductor.group(self.group(tasks, caches), self)
    }

    fn group(&self, tasks: Vec<Task>, caches: CachePolicy) -> ParallelGroup {
        let side_by_side = side_by_side(self.shape.workers, tasks.len());
        ParallelGroup { caches, side_by_side, ..ParallelGroup::new(tasks) }
    }

    /// Place of the file of `owner`, for a task of `rank`.
    fn place(&self, rank: u16, owner: u16) -> FileLocation {
        let name = self.shape.file_of(owner, Some(self.repetition));
        let root = self.shape.named_file(owner).root;
        FileLocation {
            is_in_own_directory: self.is_native(),
            root: (root != rank % self.shape.roots.max(1)).then_some(root),
            name: CString::new(name).unwrap_or_default(),
        }
    }

    /// Number of ranks that remove files: each its own, or one for all.
    fn removers(&self) -> u16 {
        if self.shape.own_files { self.shape.ranks } else { 1 }
    }

    /// True if the kernel gets the path of a file as it was typed.
    fn takes_whole_paths(&self) -> bool {
        !self.is_native() && self.shape.roots == 1
    }

    fn look(&self, rank: u16) -> Task {
        let name = self.shape.file_of(rank, Some(0));
        let presence = FilePresence { is_there: false };
        let script = Box::new(LookScript { place: self.place(rank, rank), presence });
        let whole_paths = self.takes_whole_paths();
        Task { whole_paths, ..Task::new(SETUP, &name, Op::Stat, script) }
    }

    fn own_directory(&self, rank: u16) -> Task {
        let name = self.shape.directory_of(rank).unwrap_or_default();
        let path = CString::new(name.clone()).unwrap_or_default();
        let script = Box::new(OwnDirectory { path, makes: true, is_private: true });
        Task::new(SETUP, &name, Op::MakeDir, script)
    }

    fn removal(&self, kind: &str, rank: u16) -> Task {
        let name = self.shape.file_of(rank, Some(self.repetition));
        let script = Box::new(RemoveScript { place: self.place(rank, rank) });
        let whole_paths = self.takes_whole_paths();
        Task { whole_paths, ..Task::new(kind, &name, Op::Unlink, script) }
    }

    /// Task of a rank in a test; `remaining` limits it to these transfers.
    fn transfers(
        &self,
        part: TestKind,
        rank: u16,
        remaining: Option<Range<u64>>,
        wall: Option<&Deadline>,
    ) -> Task {
        let shape = &self.shape;
        let owner = read_of(shape, rank, part);
        let op = match part {
            TestKind::Write => TransferOp::Write,
            TestKind::CheckWrite => TransferOp::Check,
            TestKind::Read if shape.checks_read => TransferOp::Check,
            TestKind::Read | TestKind::Remove => TransferOp::Read,
        };
        let places = TransferPlaces::new(shape, owner);
        let all = places.count(shape.segments);
        let written = self.written.filter(|_| part != TestKind::Write);
        let count = written.map_or(all, |most| most.min(all));
        let is_wear_out = remaining.is_some();
        let range = remaining.unwrap_or(0..count);
        let data = shape.as_original.map(|original| PatternData {
            buffers: self.buffers[usize::from(rank)].clone(),
            pattern: PacketPattern {
                packet: original.packet,
                seed: original.data_seed,
                rank: owner.into(),
            },
        });
        let buffers = data.as_ref().map(|data| data.buffers.clone());
        let bytes =
            (range.end - range.start.min(range.end)).saturating_mul(shape.transfer_bytes.into());
        let script = Box::new(TransferScript {
            place: self.place(rank, owner),
            op,
            places,
            range,
            all,
            access: AccessMethod {
                interface: shape.interface,
                mapped_bytes: shape.bytes(),
                is_own: shape.own_files,
                barrier: self.barrier.clone(),
                least_ns: u64::try_from(shape.least_time.as_nanos()).unwrap_or(u64::MAX),
            },
            bytes: shape.transfer_bytes,
            fsync: shape.fsync,
            wall: wall.cloned(),
            data,
            times: shape.keeps_times.then(OpTimes::default),
            counts: TransferCounts { is_wear_out, ..TransferCounts::default() },
            expected: Vec::new(),
        });
        let op = match part {
            _ if shape.interface == IoInterface::Dummy => Op::Pause,
            TestKind::Write => Op::Create,
            _ => Op::Open,
        };
        let subject = shape.file_of(owner, Some(self.repetition));
        let tally = if self.is_native() { "" } else { part.kind() };
        Task {
            expected_bytes: bytes,
            buffers,
            direct: shape.direct,
            whole_paths: self.takes_whole_paths(),
            tally: tally.to_owned(),
            ..Task::new(&shape.kind(part), &subject, op, script)
        }
    }

    fn is_late(&self) -> bool {
        let (Some(limit), Some((began_ns, ended_ns))) = (self.shape.begins_within, self.span)
        else {
            return false;
        };
        u128::from(ended_ns - began_ns) >= limit.as_nanos()
    }
}

impl PartedSession for IorSession {
    fn run_next_part(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let Some(&part) = self.parts.get(self.begun) else { return Ok(()) };
        self.begun += 1;
        self.done = vec![0; self.shape.ranks.into()];
        self.ended_by_time = false;
        self.sums.close();
        let drops = part == TestKind::Read && self.shape.cold;
        let caches = if drops { CachePolicy::Drop } else { CachePolicy::Keep };
        self.prepare(part, caches, conductor)?;
        if part != TestKind::Remove {
            return self.run_transfers(part, caches, conductor);
        }
        self.run_removal(&self.shape.kind(part), conductor)?;
        if self.is_native() { self.run_directory(false, caches, conductor) } else { Ok(()) }
    }
}

impl TaskListener for IorSession {
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
        self.sums.add(totals, headline::rank_counts(counts));
    }
}

impl Session for IorSession {
    /// Runs the parts of each repetition until the time for new ones is over. Written files are
    /// removed in any case.
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for repetition in 0..self.shape.repetitions {
            if self.is_late() {
                break;
            }
            self.repetition = repetition;
            for (number, part) in self.parts.clone().into_iter().enumerate() {
                if self.is_late() && part != TestKind::Remove {
                    continue;
                }
                self.begun = number;
                let name = match repetition {
                    0 => self.shape.kind(part),
                    later => format!("{} {}", self.shape.kind(part), later + 1),
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

    use treering_engine::{SessionRequest, rehearse_session};
    use treering_model::TaskTotals;
    use treering_script::Settings;

    use super::IorSession;
    use crate::config::ClassicConfig;
    use crate::memory::MemoryAmount;

    #[test]
    fn lack_of_memory_on_a_rank_ends_the_run_before_its_first_test() {
        let mut config = ClassicConfig::read(&Settings::default()).unwrap();
        let bytes = u64::MAX / 2;
        config.shape.memory = Some(MemoryAmount { node_bytes: bytes, process_bytes: bytes });
        let mut session = IorSession::new(Arc::new(config.shape));
        let mut subjects = Vec::new();
        let rehearsed = rehearse_session(&mut session, &mut |request| {
            if let SessionRequest::Group(group, _) = request {
                subjects.extend(group.tasks.iter().map(|task| task.subject.clone()));
            }
            Ok(())
        });
        assert_eq!(subjects, ["memory"]);
        let failure = rehearsed.unwrap_err().to_string();
        assert!(failure.starts_with("-M: "), "{failure}");
    }

    /// Names of the phases of a run in which each phase takes this long.
    fn phases(wall_ns: u64) -> Vec<String> {
        let pairs = [("minutes", "1"), ("repetitions", "3")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = ClassicConfig::read(&Settings::new(pairs.to_vec())).unwrap();
        let mut session = IorSession::new(Arc::new(config.shape));
        let mut phases = Vec::new();
        let mut ended = 0;
        let rehearsed = rehearse_session(&mut session, &mut |request| {
            match request {
                SessionRequest::Phase(phase) => phases.push(phase.name),
                SessionRequest::Group(_, listener) if ended < phases.len() => {
                    let began_ns = ended as u64 * wall_ns;
                    ended += 1;
                    listener.task_ended(&TaskTotals { began_ns, wall_ns, ..TaskTotals::default() });
                }
                SessionRequest::Group(..) => {}
            }
            Ok(())
        });
        assert_eq!(rehearsed, Ok(()));
        phases
    }

    #[test]
    fn no_test_starts_after_the_time_limit_but_written_files_are_removed() {
        // 75 s when the first repetition is over.
        assert_eq!(phases(25_000_000_000), ["write", "read", "remove"]);
        assert_eq!(phases(60_000_000_000), ["write", "remove"]);
    }
}
