//! What a job says, every option resolved.

use treering_script::SyncMode;

use treering_kit::faults::Place;

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::extras::Extras;
use super::logs::Wanted;
use super::replay::Replay;
use super::units::Bases;
use super::values::Amount;

/// What the job does: `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadWrite {
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// It trims; where it writes too, each write follows a trim of the same place.
    pub trims: bool,
    /// At random places.
    pub random: bool,
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
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// Sizes and how many percent have each; empty when there is only a range.
    pub split: Vec<(u64, u64)>,
    /// What offsets are multiples of.
    pub align: Option<u64>,
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
    /// The jobs that are reported together with it.
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
    pub us: u64,
    /// After so many requests.
    pub blocks: u64,
    /// And after so much time with requests; 0 for none.
    pub io_us: u64,
}

/// What is reported about the latencies, and what is not taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reported {
    pub percentiles: Vec<f64>,
    pub disable_lat: bool,
    pub disable_clat: bool,
    pub disable_slat: bool,
    pub disable_bw: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    pub slat_percentiles: bool,
}

impl Reported {
    /// Nothing is reported about latencies and rates.
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

impl Default for Reported {
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
    pub random_map: bool,
    /// Whether they are drawn by a shift register: `random_generator=lfsr`.
    pub register: bool,
    /// Whether 64 bits are drawn at a time: `random_generator=tausworthe64`.
    pub long: bool,
    /// `randrepeat`: whether each run draws the same.
    pub repeatable: bool,
    /// `allrandrepeat`: likewise for what is not a place.
    pub all_repeatable: bool,
    /// `randseed`.
    pub seed: u64,
    /// How many of a hundred places are drawn; the others go on from the last one.
    pub percent_random: [u64; 3],
    /// How often each place is.
    pub distribution: Distribution,
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
    pub title: String,
    pub(super) place: Place,
}

/// A section that is no `[global]` one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Its name.
    pub name: String,
    /// How it begins.
    pub heading: Heading,
    pub(super) bases: Bases,
    /// `description`.
    pub description: Option<String>,
    /// `rw`, without what stands behind the colon.
    pub rw: ReadWrite,
    /// Every so many requests a random job draws a new place, and a sequential one goes on.
    pub sequence: u64,
    /// Bytes left out after each sequential request.
    pub hole: i64,
    /// Whether requests between the draws repeat the last place: `rw_sequencer=identical`.
    pub repeats: bool,
    /// By [`Direction::place`].
    pub blocks: [Blocks; 3],
    /// Whether sizes may be any number of bytes.
    pub unaligned: bool,
    /// Whether the sizes are those of sequential and of random requests.
    pub blocks_by_order: bool,
    /// `size`; of the whole file where nothing is said.
    pub size: Option<Amount>,
    /// `io_size`; as `size` where nothing is said.
    pub io_size: Option<Amount>,
    /// `filesize`: the smallest and the largest, in bytes.
    pub file_size: Option<(u64, u64)>,
    /// `offset`.
    pub offset: Amount,
    /// `offset_increment`: how much later each further clone begins.
    pub offset_increment: Amount,
    /// `number_ios`; 0 for no limit.
    pub number_ios: u64,
    /// `nrfiles`, or how many are named.
    pub files: u64,
    /// `openfiles`; 0 for all.
    pub open_files: u64,
    /// `file_service_type`.
    pub service: Service,
    /// Requests to one file before the next is chosen.
    pub service_requests: u64,
    /// `directory`: clones take turns.
    pub directories: Vec<String>,
    /// `filename`; empty where the files are named after the job.
    pub filenames: Vec<String>,
    /// `filename_format`.
    pub filename_format: String,
    /// `unique_filename`.
    pub unique_filename: bool,
    /// `ioengine`.
    pub engine: Engine,
    /// `iodepth`.
    pub depth: u64,
    /// `iodepth_batch`; 0 for the whole depth.
    pub batch: u64,
    /// `iodepth_batch_complete_min`.
    pub least_reaped: u64,
    /// `iodepth_batch_complete_max`; 0 for as many as the least.
    pub most_reaped: u64,
    /// `iodepth_low`; 0 for the whole depth.
    pub depth_low: u64,
    /// `direct`: whether the page cache is left out.
    pub direct: bool,
    /// `sync`: how files are opened.
    pub synchronous: SyncMode,
    /// `numjobs`.
    pub clones: u64,
    /// `thread`: whether a clone is a thread, and not a process.
    pub thread: bool,
    /// `runtime`; 0 for no limit.
    pub runtime_us: u64,
    /// `time_based`: whether it begins again until its time is over.
    pub time_based: bool,
    /// `ramp_time`: what is not counted.
    pub ramp_us: u64,
    /// The shortest and the longest.
    pub start_delay_us: [u64; 2],
    /// `loops`.
    pub loops: u64,
    /// `group_reporting`.
    pub group_reporting: bool,
    /// `new_group`.
    pub new_group: bool,
    /// `stonewall`: whether it waits for the jobs before it.
    pub stonewall: bool,
    /// Who ends with it when it is done first: `exitall` and `exit_what`.
    pub exits: Option<Exits>,
    /// `exit_what`.
    pub exits_with: Exits,
    /// `fsync`: after so many writes; 0 for never.
    pub fsync: u64,
    /// `fdatasync`: likewise.
    pub fdatasync: u64,
    /// `end_fsync`.
    pub end_fsync: bool,
    /// `fsync_on_close`.
    pub fsync_on_close: bool,
    /// `invalidate`: whether the page cache forgets the files before.
    pub invalidate: bool,
    /// `rwmixread`: percent of the requests that are reads.
    pub mix_read: u64,
    /// `fallocate`.
    pub allocation: Allocation,
    /// How places are drawn.
    pub draws: Draws,
    /// `create_on_open`.
    pub create_on_open: bool,
    /// `create_fsync`.
    pub create_fsync: bool,
    /// `overwrite`: whether the files are filled before.
    pub overwrite: bool,
    /// `unlink`: whether the files are removed at the end.
    pub unlink: bool,
    /// Bytes in a second; 0 for no limit.
    pub rate: [u64; 3],
    /// Requests in a second; 0 for no limit.
    pub rate_iops: [u64; 3],
    /// `thinktime`.
    pub think: Think,
    /// What is reported of latencies and rates.
    pub reported: Reported,
    /// The logs that it asks for.
    pub logs: Wanted,
    /// The settings of the section as they were given, and of the `[global]` ones before it.
    pub given: Vec<(String, String)>,
    /// Those of the `[global]` sections before it.
    pub given_globally: Vec<(String, String)>,
    /// What few jobs say.
    pub extras: Extras,
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
            reported: Reported::default(),
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
        let [reads, writes, trims] = Direction::ALL.map(|direction| replay.goes(direction));
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
    pub(crate) const fn blocks(&self, direction: Direction) -> &Blocks {
        &self.blocks[direction.place()]
    }

    /// The ways in which it moves data.
    pub(crate) fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        let ReadWrite { reads, writes, trims, .. } = self.rw;
        Direction::ALL.into_iter().filter(move |direction| match direction {
            Direction::Read => reads,
            Direction::Write => writes,
            Direction::Trim => trims,
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
    pub(crate) fn align(&self, direction: Direction) -> u64 {
        let blocks = self.blocks(direction);
        blocks.align.unwrap_or(blocks.least).max(1)
    }
}
