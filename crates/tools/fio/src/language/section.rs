//! A job with every option resolved.

use treering_script::SyncMode;

use treering_kit::faults::Place;

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::extras::RareOptions;
use super::logs::LogOptions;
use super::replay::Replay;
use super::units::UnitBases;
use super::values::Amount;

/// Access pattern of the job: `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWrite {
    /// The job reads.
    pub reads: bool,
    /// The job writes.
    pub writes: bool,
    /// The job trims; with `writes`, each write follows a trim of the same block.
    pub trims: bool,
    /// Offsets are random.
    pub random: bool,
}

impl ReadWrite {
    /// True if each block is trimmed, then written.
    pub(crate) const fn is_trim_write(self) -> bool {
        self.trims && self.writes
    }

    /// True if reads and writes are mixed.
    pub(crate) const fn is_mixed(self) -> bool {
        self.reads && self.writes
    }

    /// Value of `rw` in the report.
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

/// Preallocation of a file before it is written: `fallocate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preallocation {
    /// No preallocation.
    None,
    /// Uses `fallocate`, if the filesystem supports it.
    Native,
    /// Uses `posix_fallocate`.
    Posix,
    /// Uses `fallocate` with `FALLOC_FL_KEEP_SIZE`.
    Keep,
    /// Uses `ftruncate`.
    Truncate,
}

/// Order of the files: `file_service_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOrder {
    /// Files are drawn at random.
    Random,
    /// Files take turns.
    RoundRobin,
    /// Each file is finished before the next.
    Sequential,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Smallest block size in bytes.
    pub least: u64,
    /// Largest block size in bytes.
    pub most: u64,
    /// Block sizes with the percentage of each; empty for a plain range.
    pub split: Vec<(u64, u64)>,
    /// Alignment of offsets, in bytes.
    pub align: Option<u64>,
}

impl Blocks {
    /// Fixed size.
    pub(crate) const fn fixed(bytes: u64) -> Self {
        Self { least: bytes, most: bytes, split: Vec::new(), align: None }
    }
}

/// Jobs that end with this one: `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitScope {
    /// Jobs of the same reporting group.
    Group,
    /// Jobs of the same batch.
    Stonewall,
    /// Every job, including those not yet started.
    All,
}

/// Pauses between requests: `thinktime`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThinkTime {
    /// Pause in microseconds; 0 for none.
    pub us: u64,
    /// Number of requests before each pause.
    pub blocks: u64,
    /// Microseconds of work before each pause; 0 for none.
    pub io_us: u64,
}

/// Latency and rate statistics: reported percentiles, and disabled measurements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatOptions {
    pub percentiles: Vec<f64>,
    pub disable_lat: bool,
    pub disable_clat: bool,
    pub disable_slat: bool,
    pub disable_bw: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    pub slat_percentiles: bool,
}

impl StatOptions {
    /// Disables all latency and rate statistics.
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

impl Default for StatOptions {
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

/// Options of the random offsets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RandomOptions {
    /// True if each block is used once before any is repeated: inverse of `norandommap`.
    pub random_map: bool,
    /// True for a linear feedback shift register: `random_generator=lfsr`.
    pub register: bool,
    /// True for 64-bit draws: `random_generator=tausworthe64`.
    pub long: bool,
    /// True if each run draws the same offsets: `randrepeat`.
    pub repeatable: bool,
    /// True if each run draws the same other random values: `allrandrepeat`.
    pub all_repeatable: bool,
    /// Seed: `randseed`.
    pub seed: u64,
    /// Percentage of random offsets, by direction; the others are sequential: `percentage_random`.
    pub percent_random: [u64; 3],
    /// Distribution of random offsets.
    pub distribution: Distribution,
}

impl Default for RandomOptions {
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

/// Header of a section.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SectionHeading {
    /// Text in the brackets, after which the job's files are named.
    pub title: String,
    pub(super) place: Place,
}

/// Section of a job, not a `[global]` one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Name of the job.
    pub name: String,
    /// Header of its section.
    pub heading: SectionHeading,
    pub(super) bases: UnitBases,
    /// Comment of the job: `description`.
    pub description: Option<String>,
    /// Value of `rw`, without the part after the colon.
    pub rw: ReadWrite,
    /// Number of requests for each new offset: a random job draws it, a sequential one advances;
    /// the requests in between continue or repeat.
    pub sequence: u64,
    /// Bytes skipped after each sequential request.
    pub hole: i64,
    /// True if requests between random ones repeat the offset: `rw_sequencer=identical`.
    pub repeats: bool,
    /// Block sizes, by [`Direction::place`].
    pub blocks: [Blocks; 3],
    /// True if block sizes may be any number of bytes: `bs_unaligned`.
    pub unaligned: bool,
    /// True if the first two block sizes are those of sequential and random requests:
    /// `bs_is_seq_rand`.
    pub blocks_by_order: bool,
    /// Bytes to move over all files: `size`; `None` for the whole of existing files.
    pub size: Option<Amount>,
    /// Bytes to transfer: `io_size`; `None` for as much as `size`.
    pub io_size: Option<Amount>,
    /// Smallest and largest file size in bytes: `filesize`.
    pub file_size: Option<(u64, u64)>,
    /// Start of the range in each file: `offset`.
    pub offset: Amount,
    /// Shift of the range for each further clone: `offset_increment`.
    pub offset_increment: Amount,
    /// Maximum number of requests: `number_ios`; 0 for no limit.
    pub number_ios: u64,
    /// Number of files: `nrfiles`, or as many as are named.
    pub files: u64,
    /// Maximum number of files open at a time: `openfiles`; 0 for all.
    pub open_files: u64,
    /// Order of the files: `file_service_type`.
    pub service: FileOrder,
    /// Number of requests to one file before the next is chosen.
    pub service_requests: u64,
    /// Directories in which clones place their files in turns: `directory`.
    pub directories: Vec<String>,
    /// Paths of `filename`, with those of the `[global]` sections before; empty if the files are
    /// named after the job.
    pub filenames: Vec<String>,
    /// Names of `filename` that get their directory at the end of the section.
    pub unplaced: Vec<String>,
    /// Format of generated file names: `filename_format`.
    pub filename_format: String,
    /// Value of `unique_filename`, which has no effect.
    pub unique_filename: bool,
    /// I/O engine: `ioengine`.
    pub engine: Engine,
    /// Queue depth: `iodepth`.
    pub depth: u64,
    /// Requests of a submission: `iodepth_batch`; 0 for the whole depth.
    pub batch: u64,
    /// Least completions of a reaping: `iodepth_batch_complete_min`.
    pub least_reaped: u64,
    /// Maximum number of completions of a reaping: `iodepth_batch_complete_max`; 0 for as many as
    /// the least.
    pub most_reaped: u64,
    /// Depth to which a full queue is drained: `iodepth_low`; 0 for the whole depth.
    pub depth_low: u64,
    /// True if the page cache is bypassed: `direct`.
    pub direct: bool,
    /// Synchronous open flags: `sync`.
    pub synchronous: SyncMode,
    /// Number of clones: `numjobs`.
    pub clones: u64,
    /// True if clones are threads and not processes: `thread`.
    pub thread: bool,
    /// Time limit in microseconds: `runtime`; 0 for none.
    pub runtime_us: u64,
    /// True if passes repeat until the time limit: `time_based`.
    pub time_based: bool,
    /// Initial time that is not counted, in microseconds: `ramp_time`.
    pub ramp_us: u64,
    /// Shortest and longest delay before the job begins, in microseconds.
    pub start_delay_us: [u64; 2],
    /// Number of passes: `loops`.
    pub loops: u64,
    /// True if the clones of a group share a row: `group_reporting`.
    pub group_reporting: bool,
    /// True if the job begins a reporting group: `new_group`.
    pub new_group: bool,
    /// True if the job waits for all jobs before it: `stonewall`.
    pub stonewall: bool,
    /// Jobs that end when this one finishes: `exitall` and `exit_what`.
    pub exits: Option<ExitScope>,
    /// Jobs that end with this one: `exit_what`.
    pub exits_with: ExitScope,
    /// Number of writes before each fsync: `fsync`; 0 for none.
    pub fsync: u64,
    /// Number of writes before each fdatasync: `fdatasync`; 0 for none.
    pub fdatasync: u64,
    /// True if files are synced at the end of a pass: `end_fsync`.
    pub end_fsync: bool,
    /// True if files are synced before they are closed: `fsync_on_close`.
    pub fsync_on_close: bool,
    /// True if files are dropped from the page cache before the job: `invalidate`.
    pub invalidate: bool,
    /// Percentage of requests that are reads: `rwmixread`.
    pub mix_read: u64,
    /// Preallocation: `fallocate`.
    pub allocation: Preallocation,
    /// Options of the random offsets.
    pub draws: RandomOptions,
    /// True if files are created when they are opened: `create_on_open`.
    pub create_on_open: bool,
    /// True if files are synced after layout: `create_fsync`.
    pub create_fsync: bool,
    /// True if files are filled before they are written: `overwrite`.
    pub overwrite: bool,
    /// True if files are unlinked at the end: `unlink`.
    pub unlink: bool,
    /// Rate limit in bytes per second, by direction; 0 for none.
    pub rate: [u64; 3],
    /// Rate limit in requests per second, by direction; 0 for none.
    pub rate_iops: [u64; 3],
    /// Pauses between requests: `thinktime`.
    pub think: ThinkTime,
    /// Latency and rate statistics.
    pub reported: StatOptions,
    /// Requested logs.
    pub logs: LogOptions,
    /// Settings of the section as given.
    pub given: Vec<(String, String)>,
    /// Settings of the preceding `[global]` sections.
    pub given_globally: Vec<(String, String)>,
    /// Rarely used options.
    pub extras: RareOptions,
}

/// Default percentiles of fio.
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
    /// Creates a section with the default of every option.
    pub(super) fn defaults() -> Self {
        Self {
            name: String::new(),
            heading: SectionHeading::default(),
            bases: UnitBases { kb: 1024 },
            description: None,
            rw: ReadWrite { reads: true, writes: false, trims: false, random: false },
            sequence: 1,
            hole: 0,
            repeats: false,
            blocks: [Blocks::fixed(4096), Blocks::fixed(4096), Blocks::fixed(4096)],
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
            service: FileOrder::RoundRobin,
            service_requests: 1,
            directories: Vec::new(),
            filenames: Vec::new(),
            unplaced: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".to_owned(),
            unique_filename: true,
            engine: Engine::Psync,
            depth: 1,
            batch: 1,
            least_reaped: 1,
            most_reaped: 0,
            depth_low: 0,
            direct: false,
            synchronous: SyncMode::No,
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
            exits_with: ExitScope::Group,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            invalidate: true,
            mix_read: 50,
            allocation: Preallocation::Native,
            draws: RandomOptions::default(),
            create_on_open: false,
            create_fsync: true,
            overwrite: false,
            unlink: false,
            rate: [0; 3],
            rate_iops: [0; 3],
            think: ThinkTime { us: 0, blocks: 1, io_us: 0 },
            reported: StatOptions::default(),
            logs: LogOptions::default(),
            extras: RareOptions::default(),
            given: Vec::new(),
            given_globally: Vec::new(),
        }
    }

    /// True if `k` is 1000, in the report too: `kb_base=1000`.
    pub(crate) const fn is_decimal(&self) -> bool {
        self.bases.kb == 1000
    }

    /// Stated size of its files in bytes, as far as any is given.
    pub(crate) fn stated_bytes(&self) -> u64 {
        match (self.file_size, self.size) {
            (Some((_, high)), None) => high.saturating_mul(self.files),
            (_, Some(Amount::Bytes(bytes))) => bytes,
            _ => 0,
        }
    }

    /// Adds the named files to those of the sections before, as the original does: all of them in
    /// the first directory, which later sections do not change.
    pub(crate) fn place_files(&mut self) {
        if !self.unplaced.is_empty() && self.filenames.is_empty() {
            self.files = 0;
        }
        self.files += self.unplaced.len() as u64;
        self.filenames.extend(placed(&mut self.unplaced, &self.directories));
    }

    /// Adopts the files, directions and sizes of a log.
    pub(crate) fn replay(&mut self, replay: Replay) {
        let [reads, writes, trims] = Direction::ALL.map(|direction| replay.goes(direction));
        self.rw = ReadWrite { reads, writes, trims: trims && !reads && !writes, random: false };
        self.filenames.clone_from(&replay.files);
        self.directories.clear();
        self.files = replay.files.len() as u64;
        self.open_files = self.files;
        self.blocks.iter_mut().for_each(|blocks| blocks.most = blocks.most.max(replay.most()));
        self.extras.replay = Some(replay);
    }

    /// True if the key was given, to the section or to a `[global]` one before it.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.given.iter().chain(&self.given_globally).any(|(key, _)| key == name)
    }

    /// Bytes to transfer, for files of this total size.
    pub(crate) fn io_bytes(&self, size: u64) -> Option<u64> {
        self.io_size.map(|amount| match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => {
                let bytes = u128::from(size) * u128::from(percent) / 100;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        })
    }

    /// True if the job syncs between its writes.
    pub(crate) const fn syncs_often(&self) -> bool {
        self.rw.writes && self.fsync + self.fdatasync + self.extras.range_sync.every > 0
    }

    /// For each direction, true if a rate or pauses limit the throughput.
    pub(crate) fn paced(&self) -> [bool; 3] {
        let is_paced =
            |place: usize| self.think.us > 0 || self.rate[place] > 0 || self.rate_iops[place] > 0;
        [0, 1, 2].map(is_paced)
    }

    /// True if the job repeats until its runtime is over.
    pub(crate) const fn is_timed(&self) -> bool {
        self.time_based && self.runtime_us > 0
    }

    /// Block sizes of a direction.
    pub(crate) const fn blocks(&self, direction: Direction) -> &Blocks {
        &self.blocks[direction.place()]
    }

    /// Directions in which the job moves data.
    pub(crate) fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        let ReadWrite { reads, writes, trims, .. } = self.rw;
        Direction::ALL.into_iter().filter(move |direction| match direction {
            Direction::Read => reads,
            Direction::Write => writes,
            Direction::Trim => trims,
        })
    }

    /// Smallest block size, of unused directions too.
    pub(crate) fn least_block(&self) -> u64 {
        self.blocks.iter().map(|blocks| blocks.least).min().unwrap_or(1).max(1)
    }

    /// Largest block size, of unused directions too.
    pub(crate) fn most_block(&self) -> u64 {
        self.blocks.iter().map(|blocks| blocks.most).max().unwrap_or(1).max(1)
    }

    /// Alignment of offsets in a direction.
    pub(crate) fn align(&self, direction: Direction) -> u64 {
        let blocks = self.blocks(direction);
        blocks.align.unwrap_or(blocks.least).max(1)
    }
}

/// Takes the names, each with the first of these directories before it.
pub(crate) fn placed<'n>(
    names: &'n mut Vec<String>,
    directories: &'n [String],
) -> impl Iterator<Item = String> + 'n {
    let directory = directories.first().map(String::as_str);
    names.drain(..).map(move |name| joined_path(directory, &name))
}

/// Joins directory and path by a slash, as the original does, even if the path is absolute.
pub(crate) fn joined_path(directory: Option<&str>, path: &str) -> String {
    match directory {
        Some(directory) => format!("{directory}/{path}"),
        None => path.to_owned(),
    }
}
