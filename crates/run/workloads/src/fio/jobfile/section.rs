//! What a job says, every option resolved.

use treering_script::Synchronous;

use super::super::logs::Wanted;
use super::super::replay::Replay;
use super::distribution::Distribution;
use super::extras::Extras;
use super::messages::Place;
use super::values::{Amount, Bases};

/// Which way data goes. The numbers are the places in arrays of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the file.
    Read = 0,
    /// To the file.
    Write = 1,
    /// Nowhere: room of the file is given back.
    Trim = 2,
}

impl Way {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];
    /// Their names in reports, in the same order.
    pub(crate) const NAMES: [&'static str; 3] = ["read", "write", "trim"];

    /// Its place in arrays.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

/// What the job does: `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWrite {
    /// It reads.
    pub(crate) reads: bool,
    /// It writes.
    pub(crate) writes: bool,
    /// It trims; where it writes too, each write follows a trim of the same place.
    pub(crate) trims: bool,
    /// At random places.
    pub(crate) random: bool,
}

impl ReadWrite {
    /// Each place is trimmed, then written.
    pub(crate) const fn is_trim_write(self) -> bool {
        self.trims && self.writes
    }

    /// Reads and writes, mixed.
    pub(crate) const fn is_mixed(self) -> bool {
        self.reads && self.writes
    }

    /// Fio's word.
    pub(crate) const fn name(self) -> &'static str {
        match (self.reads, self.writes, self.random) {
            _ if self.trims => match (self.writes, self.random) {
                (false, false) => "trim",
                (false, true) => "randtrim",
                (true, false) => "trimwrite",
                (true, true) => "randtrimwrite",
            },
            (true, true, false) => "rw",
            (true, true, true) => "randrw",
            (false, true, false) => "write",
            (false, true, true) => "randwrite",
            (_, _, false) => "read",
            (_, _, true) => "randread",
        }
    }
}

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// `pread` and `pwrite`.
    Psync,
    /// `lseek`, then `read` or `write`.
    Sync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// `io_submit`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
    /// `aio_read` and `aio_write`: requests go by `io_uring_enter`, one at a time.
    PosixAio,
    /// A mapping of the file.
    Mmap,
    /// `preadv` and `pwritev`.
    Pvsync,
    /// Nothing at all.
    Null,
    /// `ftruncate` to where a write begins.
    Ftruncate,
    /// `fallocate` of what a request covers.
    Falloc,
    /// Files are made when they are opened; requests are nothing.
    FileCreate,
    /// Likewise they are looked at.
    FileStat,
    /// Likewise they are removed.
    FileDelete,
}

impl Engine {
    /// All with their names.
    pub(crate) const NAMES: [(&'static str, Self); 14] = [
        ("psync", Self::Psync),
        ("sync", Self::Sync),
        ("pvsync2", Self::Pvsync2),
        ("libaio", Self::Libaio),
        ("io_uring", Self::IoUring),
        ("posixaio", Self::PosixAio),
        ("mmap", Self::Mmap),
        ("pvsync", Self::Pvsync),
        ("null", Self::Null),
        ("ftruncate", Self::Ftruncate),
        ("falloc", Self::Falloc),
        ("filecreate", Self::FileCreate),
        ("filestat", Self::FileStat),
        ("filedelete", Self::FileDelete),
    ];

    /// Whether it has requests on the way while others are made.
    pub(crate) const fn is_queued(self) -> bool {
        matches!(self, Self::Libaio | Self::IoUring | Self::PosixAio)
    }

    /// Whether opening a file is the work, and what is told of latencies.
    pub(crate) const fn works_by_opening(self) -> bool {
        matches!(self, Self::FileCreate | Self::FileStat | Self::FileDelete)
    }

    /// Whether its requests move data.
    pub(crate) const fn moves_data(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null | Self::Ftruncate | Self::Falloc)
    }

    /// Whether it needs no files that are made before.
    pub(crate) const fn is_without_files(self) -> bool {
        matches!(self, Self::Null | Self::FileCreate)
    }

    /// Whether files are open while it works on them.
    pub(crate) const fn has_open_files(self) -> bool {
        !matches!(self, Self::Null | Self::FileStat | Self::FileDelete)
    }

    /// Whether the original says what the disk did meanwhile.
    pub(crate) const fn tells_disk(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }

    /// Whether what is read and written may be in the page cache.
    pub(crate) const fn uses_cache(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }
}

/// How room is taken before a file is written: `fallocate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// Not at all.
    None,
    /// By `fallocate`, where the filesystem can.
    Native,
    /// By `posix_fallocate`.
    Posix,
    /// By `fallocate`, without making the file longer.
    Keep,
    /// By making the file longer.
    Truncate,
}

/// Which file is next: `file_service_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Drawn.
    Random,
    /// One after the other, in turns.
    RoundRobin,
    /// One after the other, each to its end.
    Sequential,
}

/// Sizes of requests in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// The smallest.
    pub(crate) least: u64,
    /// The largest.
    pub(crate) most: u64,
    /// Sizes and how many percent have each; empty when there is only a range.
    pub(crate) split: Vec<(u64, u64)>,
    /// What offsets are multiples of.
    pub(crate) align: Option<u64>,
}

impl Blocks {
    /// Of one size.
    pub(crate) const fn of(bytes: u64) -> Self {
        Self { least: bytes, most: bytes, split: Vec::new(), align: None }
    }
}

/// Who ends early when a job is done: `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exits {
    /// The jobs that are told together with it.
    Group,
    /// The jobs that run at the same time.
    Stonewall,
    /// All jobs, also those that have not begun.
    All,
}

/// The pauses between requests: `thinktime`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Think {
    /// How long; 0 for none.
    pub(crate) us: u64,
    /// After so many requests.
    pub(crate) blocks: u64,
    /// And after so much time with requests; 0 for none.
    pub(crate) io_us: u64,
}

/// What is told of the latencies, and what is not taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) percentiles: Vec<f64>,
    pub(crate) disable_lat: bool,
    pub(crate) disable_clat: bool,
    pub(crate) disable_slat: bool,
    pub(crate) disable_bw: bool,
    pub(crate) clat_percentiles: bool,
    pub(crate) lat_percentiles: bool,
    pub(crate) slat_percentiles: bool,
}

impl Told {
    /// Nothing is told of latencies and rates.
    pub(crate) const NONE: Self = Self {
        percentiles: Vec::new(),
        disable_lat: true,
        disable_clat: true,
        disable_slat: true,
        disable_bw: true,
        clat_percentiles: false,
        lat_percentiles: false,
        slat_percentiles: false,
    };
}

impl Default for Told {
    fn default() -> Self {
        Self {
            percentiles: PERCENTILES.to_vec(),
            disable_lat: false,
            disable_clat: false,
            disable_slat: false,
            disable_bw: false,
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
        }
    }
}

/// How places are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draws {
    /// Whether no block comes again before all have come.
    pub(crate) random_map: bool,
    /// Whether they are drawn by a shift register: `random_generator=lfsr`.
    pub(crate) register: bool,
    /// Whether 64 bits are drawn at a time: `random_generator=tausworthe64`.
    pub(crate) long: bool,
    pub(crate) repeatable: bool,
    pub(crate) all_repeatable: bool,
    pub(crate) seed: u64,
    /// How many of a hundred places are drawn; the others go on from the last one.
    pub(crate) percent_random: [u64; 3],
    /// How often each place is.
    pub(crate) distribution: Distribution,
}

impl Default for Draws {
    fn default() -> Self {
        Self {
            random_map: true,
            register: false,
            long: false,
            repeatable: true,
            all_repeatable: false,
            seed: 0x89,
            percent_random: [100; 3],
            distribution: Distribution::Even,
        }
    }
}

/// How a section begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heading {
    /// What stands in the brackets: the files of the job are named after it.
    pub(crate) title: String,
    pub(super) place: Place,
}

/// A section that is no `[global]` one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Its name.
    pub(crate) name: String,
    pub(crate) heading: Heading,
    pub(super) bases: Bases,
    pub(crate) description: Option<String>,
    pub(crate) rw: ReadWrite,
    /// Every so many requests a random job draws a new place, and a sequential one goes on.
    pub(crate) sequence: u64,
    /// Bytes left out after each sequential request.
    pub(crate) hole: i64,
    /// Whether requests between the draws repeat the last place: `rw_sequencer=identical`.
    pub(crate) repeats: bool,
    /// By [`Way::place`].
    pub(crate) blocks: [Blocks; 3],
    /// Whether sizes may be any number of bytes.
    pub(crate) unaligned: bool,
    /// Whether the sizes are those of sequential and of random requests.
    pub(crate) blocks_by_order: bool,
    pub(crate) size: Option<Amount>,
    pub(crate) io_size: Option<Amount>,
    pub(crate) file_size: Option<(u64, u64)>,
    pub(crate) offset: Amount,
    pub(crate) offset_increment: Amount,
    pub(crate) number_ios: u64,
    pub(crate) files: u64,
    pub(crate) open_files: u64,
    pub(crate) service: Service,
    /// Requests to one file before the next is chosen.
    pub(crate) service_requests: u64,
    pub(crate) directories: Vec<String>,
    pub(crate) filenames: Vec<String>,
    pub(crate) filename_format: String,
    pub(crate) unique_filename: bool,
    pub(crate) engine: Engine,
    pub(crate) depth: u64,
    pub(crate) batch: u64,
    pub(crate) least_reaped: u64,
    pub(crate) most_reaped: u64,
    pub(crate) depth_low: u64,
    pub(crate) direct: bool,
    pub(crate) synchronous: Synchronous,
    pub(crate) clones: u64,
    pub(crate) thread: bool,
    pub(crate) runtime_us: u64,
    pub(crate) time_based: bool,
    pub(crate) ramp_us: u64,
    /// The shortest and the longest.
    pub(crate) start_delay_us: [u64; 2],
    pub(crate) loops: u64,
    pub(crate) group_reporting: bool,
    pub(crate) new_group: bool,
    pub(crate) stonewall: bool,
    /// Who ends with it when it is done first: `exitall` and `exit_what`.
    pub(crate) exits: Option<Exits>,
    pub(crate) exits_with: Exits,
    pub(crate) fsync: u64,
    pub(crate) fdatasync: u64,
    pub(crate) end_fsync: bool,
    pub(crate) fsync_on_close: bool,
    pub(crate) invalidate: bool,
    pub(crate) mix_read: u64,
    pub(crate) allocation: Allocation,
    pub(crate) draws: Draws,
    pub(crate) create_on_open: bool,
    pub(crate) create_fsync: bool,
    pub(crate) overwrite: bool,
    pub(crate) unlink: bool,
    /// Bytes in a second; 0 for no limit.
    pub(crate) rate: [u64; 3],
    /// Requests in a second; 0 for no limit.
    pub(crate) rate_iops: [u64; 3],
    pub(crate) think: Think,
    pub(crate) told: Told,
    pub(crate) logs: Wanted,
    /// The settings of the section as they were given, and of the `[global]` ones before it.
    pub(crate) given: Vec<(String, String)>,
    pub(crate) given_globally: Vec<(String, String)>,
    pub(crate) extras: Extras,
}

/// What fio prints when nothing else is asked for.
pub(crate) const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

impl Default for Section {
    fn default() -> Self {
        Self::defaults()
    }
}

impl Section {
    /// With the default of every option.
    pub(super) fn defaults() -> Self {
        Self {
            name: String::new(),
            heading: Heading::default(),
            bases: Bases { kb: 1024 },
            description: None,
            rw: ReadWrite { reads: true, writes: false, trims: false, random: false },
            sequence: 1,
            hole: 0,
            repeats: false,
            blocks: [Blocks::of(4096), Blocks::of(4096), Blocks::of(4096)],
            unaligned: false,
            blocks_by_order: false,
            size: None,
            io_size: None,
            file_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            number_ios: 0,
            files: 0,
            open_files: 0,
            service: Service::RoundRobin,
            service_requests: 1,
            directories: Vec::new(),
            filenames: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".to_owned(),
            unique_filename: true,
            engine: Engine::Psync,
            depth: 1,
            batch: 1,
            least_reaped: 1,
            most_reaped: 0,
            depth_low: 0,
            direct: false,
            synchronous: Synchronous::No,
            clones: 1,
            thread: false,
            runtime_us: 0,
            time_based: false,
            ramp_us: 0,
            start_delay_us: [0; 2],
            loops: 1,
            group_reporting: false,
            new_group: false,
            stonewall: false,
            exits: None,
            exits_with: Exits::Group,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            invalidate: true,
            mix_read: 50,
            allocation: Allocation::Native,
            draws: Draws::default(),
            create_on_open: false,
            create_fsync: true,
            overwrite: false,
            unlink: false,
            rate: [0; 3],
            rate_iops: [0; 3],
            think: Think { us: 0, blocks: 1, io_us: 0 },
            told: Told::default(),
            logs: Wanted::default(),
            extras: Extras::default(),
            given: Vec::new(),
            given_globally: Vec::new(),
        }
    }

    /// Whether `k` is 1000: amounts are reported so too.
    pub(crate) const fn is_decimal(&self) -> bool {
        self.bases.kb == 1000
    }

    /// Bytes of its files, as far as it says how many.
    pub(crate) fn stated_bytes(&self) -> u64 {
        match (self.file_size, self.size) {
            (Some((_, high)), None) => high.saturating_mul(self.files),
            (_, Some(Amount::Bytes(bytes))) => bytes,
            _ => 0,
        }
    }

    /// Takes over what a log asks for: its files, directions and sizes.
    pub(crate) fn replay(&mut self, replay: Replay) {
        let [reads, writes, trims] = Way::ALL.map(|way| replay.goes(way));
        self.rw = ReadWrite { reads, writes, trims: trims && !reads && !writes, random: false };
        self.filenames.clone_from(&replay.files);
        self.directories.clear();
        self.files = replay.files.len() as u64;
        self.open_files = self.files;
        self.blocks.iter_mut().for_each(|blocks| blocks.most = blocks.most.max(replay.most()));
        self.extras.replay = Some(replay);
    }

    /// Whether a key was given, to the section or to a `[global]` one before it.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.given.iter().chain(&self.given_globally).any(|(key, _)| key == name)
    }

    /// Bytes that it moves, where its files have so many of them.
    pub(crate) fn io_bytes(&self, size: u64) -> Option<u64> {
        self.io_size.map(|amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => {
                let bytes = u128::from(size) * u128::from(percent) / 100;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        })
    }

    /// Whether it syncs between its writes.
    pub(crate) const fn syncs_often(&self) -> bool {
        self.fsync + self.fdatasync + self.extras.range_sync.every > 0
    }

    /// Whether it goes on until its time is over.
    pub(crate) const fn is_timed(&self) -> bool {
        self.time_based && self.runtime_us > 0
    }

    /// Sizes of requests in a way.
    pub(crate) const fn blocks(&self, way: Way) -> &Blocks {
        &self.blocks[way.place()]
    }

    /// The ways in which it moves data.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Way> + use<> {
        let ReadWrite { reads, writes, trims, .. } = self.rw;
        Way::ALL.into_iter().filter(move |way| match way {
            Way::Read => reads,
            Way::Write => writes,
            Way::Trim => trims,
        })
    }

    /// The smallest request of both ways, also of one that it does not go.
    pub(crate) fn least_block(&self) -> u64 {
        self.blocks.iter().map(|blocks| blocks.least).min().unwrap_or(1).max(1)
    }

    /// The largest one, likewise.
    pub(crate) fn most_block(&self) -> u64 {
        self.blocks.iter().map(|blocks| blocks.most).max().unwrap_or(1).max(1)
    }

    /// What offsets in a way are multiples of.
    pub(crate) fn align(&self, way: Way) -> u64 {
        let blocks = self.blocks(way);
        blocks.align.unwrap_or(blocks.least).max(1)
    }
}
