//! Shape of a run: tests, files and ranks. Filled by `config`.

use std::time::Duration;

use treering_kit::packet::PacketType;
use treering_script::{ConfigError, WorkerKind};

use super::memory::MemoryAmount;

/// A test of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    Write,
    /// Reads written data back and compares; not timed.
    CheckWrite,
    Read,
    Remove,
}

impl TestKind {
    /// Task kind of the part.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::CheckWrite => "check",
            Self::Read => "read",
            Self::Remove => "remove",
        }
    }
}

/// Moments at which what was written is synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SyncMoments {
    pub(super) after_each: bool,
    pub(super) at_end: bool,
}

/// Interface by which data are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum IoInterface {
    #[default]
    Posix,
    /// MPI-IO, of which each call is one of POSIX at an offset.
    Mpiio,
    /// A mapping of the file.
    Mmap,
    /// Nothing is called.
    Dummy,
}

impl IoInterface {
    /// Interface of this name.
    pub(super) fn from_name(name: &str) -> Result<Self, ConfigError> {
        let known = [
            ("POSIX", Self::Posix),
            ("MPIIO", Self::Mpiio),
            ("MMAP", Self::Mmap),
            ("DUMMY", Self::Dummy),
        ];
        let of_name = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        of_name.map(|(_, interface)| *interface).ok_or_else(|| {
            let message = format!("-a {name}: there is no such interface here");
            ConfigError::new(message).hint("give POSIX, MPIIO, MMAP or DUMMY")
        })
    }
}

/// File that a command line names: its directory, as it was typed and as a number, and its name
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// Directory with a slash behind it, or nothing.
    pub(super) typed: String,
    pub(super) root: u16,
    pub(super) name: String,
}

/// Choice of the rank whose data a rank reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankShift {
    /// Rank at this distance.
    Constant(u64),
    /// Rank drawn with the C library's generator from this seed, at least `least` ranks further.
    Drawn { seed: u32, least: u64 },
    /// Rank in a permutation that the C library's generator draws from this seed.
    Shuffled { seed: u32 },
}

/// Order of transfers in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferOrder {
    Sequential,
    /// Drawn with the C library's generator from this seed; in a shared file the rank of each
    /// transfer is drawn as well.
    Original(u32),
    /// Whole blocks at places that the original draws from this seed, some perhaps twice.
    Blocks(u32),
    /// Drawn by treering's generator, for each worker in its own blocks.
    Random(u64),
}

/// Settings that only the classic mode has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassicCompat {
    pub(super) packet: PacketType,
    pub(super) data_seed: u32,
}

/// Shape of a run.
#[derive(Clone, Debug)]
pub(super) struct RunShape {
    /// Prefix of task kinds; not empty if a run has several tests.
    pub(super) prefix: String,
    /// Number of ranks, from the options alone.
    pub(super) ranks: u16,
    pub(super) repetitions: u32,
    pub(super) block_bytes: u64,
    pub(super) transfer_bytes: u32,
    pub(super) segments: u64,
    /// Each rank has a file of its own.
    pub(super) own_files: bool,
    /// Files at which the ranks take turns; in native mode one in a directory of treering's.
    pub(super) files: Vec<NamedFile>,
    /// Number of directories of these files.
    pub(super) roots: u16,
    pub(super) interface: IoInterface,
    /// Ranks wait for one another between open, transfers and close.
    pub(super) has_barriers: bool,
    /// Time for which transfers begin again at the first one.
    pub(super) least_time: Duration,
    /// The time of each transfer is kept.
    pub(super) keeps_times: bool,
    /// Each repetition has files of its own.
    pub(super) multi_file: bool,
    pub(super) writes: bool,
    pub(super) checks_write: bool,
    pub(super) reads: bool,
    pub(super) checks_read: bool,
    pub(super) keeps: bool,
    pub(super) uses_existing: bool,
    pub(super) shift: RankShift,
    /// Distance from the rank that wrote a block to the rank that checks it.
    pub(super) check_shift: u64,
    pub(super) order: TransferOrder,
    pub(super) fsync: SyncMoments,
    /// Each rank's file is in a directory of its own.
    pub(super) own_directories: bool,
    /// Delay before each test, in seconds.
    pub(super) delay_seconds: u64,
    /// Time after which no further test begins.
    pub(super) begins_within: Option<Duration>,
    pub(super) wall_seconds: Option<u64>,
    pub(super) wears_out: bool,
    /// Transfers to read for each rank, if an earlier run was ended by its time limit.
    pub(super) transfers_before: Option<u64>,
    /// Memory to occupy before the first part.
    pub(super) memory: Option<MemoryAmount>,
    pub(super) cold: bool,
    pub(super) direct: bool,
    pub(super) workers: WorkerKind,
    /// Classic settings; `None` in native mode.
    pub(super) as_original: Option<ClassicCompat>,
}

impl Default for RunShape {
    /// Shape of one rank and repetition, without any test.
    fn default() -> Self {
        Self {
            prefix: String::new(),
            ranks: 1,
            repetitions: 1,
            block_bytes: 0,
            transfer_bytes: 0,
            segments: 0,
            own_files: false,
            files: Vec::new(),
            roots: 1,
            interface: IoInterface::default(),
            has_barriers: false,
            least_time: Duration::ZERO,
            keeps_times: false,
            multi_file: false,
            writes: false,
            checks_write: false,
            reads: false,
            checks_read: false,
            keeps: false,
            uses_existing: false,
            shift: RankShift::Constant(0),
            check_shift: 0,
            order: TransferOrder::Sequential,
            fsync: SyncMoments::default(),
            own_directories: false,
            delay_seconds: 0,
            begins_within: None,
            wall_seconds: None,
            wears_out: false,
            transfers_before: None,
            memory: None,
            cold: false,
            direct: false,
            workers: WorkerKind::default(),
            as_original: None,
        }
    }
}

impl RunShape {
    /// The kind of the tasks of a part.
    pub(super) fn kind(&self, part: TestKind) -> String {
        format!("{}{}", self.prefix, part.kind())
    }

    /// Transfers of a rank.
    pub(super) fn transfers(&self) -> u64 {
        (self.block_bytes / u64::from(self.transfer_bytes).max(1)).saturating_mul(self.segments)
    }

    /// True if files are written, or compared with what was written.
    pub(super) const fn writes_or_checks(&self) -> bool {
        self.writes || self.checks_write
    }

    /// Bytes of all ranks.
    pub(super) fn bytes(&self) -> u64 {
        self.block_bytes.saturating_mul(self.segments).saturating_mul(self.ranks.into())
    }

    /// The parts of a repetition.
    pub(super) fn parts(&self) -> Vec<TestKind> {
        [
            (self.writes, TestKind::Write),
            (self.checks_write, TestKind::CheckWrite),
            (self.reads, TestKind::Read),
            (!self.keeps, TestKind::Remove),
        ]
        .into_iter()
        .filter_map(|(is_done, part)| is_done.then_some(part))
        .collect()
    }

    /// Directory of a rank's file, if it has one of its own.
    pub(super) fn directory_of(&self, rank: u16) -> Option<String> {
        (self.own_files && self.own_directories).then(|| rank.to_string())
    }

    /// The file as it was named that a rank has.
    pub(super) fn named_file(&self, rank: u16) -> &NamedFile {
        const NONE: &NamedFile = &NamedFile { typed: String::new(), root: 0, name: String::new() };
        let turn = if self.own_files { usize::from(rank) % self.files.len().max(1) } else { 0 };
        self.files.get(turn).unwrap_or(NONE)
    }

    /// The file of a rank, in a repetition.
    pub(super) fn file_of(&self, rank: u16, repetition: Option<u32>) -> String {
        let file = &self.named_file(rank).name;
        let mut name = match self.directory_of(rank) {
            Some(directory) => format!("{directory}/{file}"),
            None => file.clone(),
        };
        if self.own_files {
            name += &format!(".{rank:08}");
        }
        if let Some(repetition) = repetition.filter(|_| self.multi_file) {
            name += &format!(".{repetition}");
        }
        name
    }
}
