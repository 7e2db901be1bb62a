//! The options of ior, each declared once: those of 4.1 and the native ones.

use treering_script::{ClassicPayload, OptionSupport, WorkloadManifest, options};

/// ior's name tag.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "ior",
    aliases: &[],
    about: "Write and read one file, or a file each, from many ranks",
    imitates: "ior 4.1",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The most ranks of a machine: each has its own memory.
const RANKS_MAX: u64 = 4096;
/// Maximum bytes of a transfer: one call moves no more.
const TRANSFER_MAX: u64 = 1 << 30;
const BLOCK_MAX: u64 = 1 << 50;
const SEGMENTS_MAX: u64 = 1 << 40;
pub(super) const REPETITIONS_MAX: u64 = 100_000;
const SECONDS_MAX: u64 = 1 << 30;
const MINUTES_MAX: u64 = 1 << 20;
const INT_MAX: u64 = i32::MAX as u64;
/// Seeds of the C library.
const SEED_MAX: u64 = u32::MAX as u64;

/// Difference of the barriers of `-g` under a launcher.
const BARRIERS: &str = "ranks of one process or its children wait; under a launcher they go on";
/// Interfaces that a command line can name.
const INTERFACES: &str = "POSIX, MMAP and DUMMY as they are, MPIIO by POSIX calls";

/// Reason why options of MPI-IO have no effect.
const NO_MPI: &str = "-a MPIIO makes calls of POSIX";

/// Reason why the option is not supported.
const KEEP_WITH_ERROR: &str = "files with errors go with the others; keep them with -k";

options! {
    /// Selection of tests; writing and reading if none is selected.
    pub(super) struct TestSelection {
        /// Write.
        write('w'): bool = Flag;
        /// Read.
        read('r'): bool = Flag;
        /// Read back what was written, and compare it.
        check_write('W'): bool = Flag;
        /// Compare what is read.
        check_read('R'): bool = Flag;
    }
}

options! {
    /// Options that are refused or have no effect.
    pub(super) struct IgnoredOptions {
        /// The interface.
        #[support = OptionSupport::Approximate(INTERFACES)]
        #[recorded = false]
        api('a'): String = Text, "POSIX";
        /// Two mount points.
        #[support = OptionSupport::Rejected("all files are in one directory")]
        dual_mount('y'): () = Flag;
        /// Fill the file before random transfers.
        #[support = OptionSupport::Rejected("write the file first, with -w -k")]
        random_prefill: () = Size;
        /// Do nothing, but print.
        #[support = OptionSupport::Rejected("see --dry-run")]
        dummy_run: () = Flag;
        /// Any warning is an error.
        #[support = OptionSupport::Rejected("warnings stay warnings")]
        warning_as_errors: () = Flag;
        /// Transfers that are incomplete are not continued.
        #[support = OptionSupport::Ignored("an incomplete transfer is continued by one more call")]
        #[recorded = false]
        single_attempt('x'): bool = Flag;
        /// Keep files that have errors.
        #[support = OptionSupport::Ignored(KEEP_WITH_ERROR)]
        #[recorded = false]
        keep_with_error('K'): bool = Flag;
        /// MPI-IO: print the hints.
        #[support = OptionSupport::Ignored(NO_MPI)]
        #[recorded = false]
        mpiio_show_hints: bool = Flag;
        /// MPI-IO: a file with hints.
        #[support = OptionSupport::Ignored(NO_MPI)]
        #[recorded = false]
        mpiio_hints_file_name: Option<String> = Path;
        /// MPI-IO: see the file by a view.
        #[support = OptionSupport::Ignored(NO_MPI)]
        #[recorded = false]
        mpiio_use_file_view: bool = Flag;
        /// MPI-IO: a datatype for all transfers.
        #[support = OptionSupport::Ignored(NO_MPI)]
        #[recorded = false]
        mpiio_use_strided_datatype: bool = Flag;
        /// MPI-IO: allocate the file first.
        #[support = OptionSupport::Rejected("files grow as they are written; leave it out")]
        mpiio_preallocate: () = Flag;
    }
}

options! {
    /// The classic command line.
    pub(super) struct ClassicOptions {
        /// The file; where each rank has one, its number is put behind.
        #[recorded = false]
        file('o'): String = Path, "testFile";
        /// Bytes that a rank writes one after the other.
        block('b'): u64 = Size[0..=BLOCK_MAX], "1M";
        /// Bytes of each transfer.
        transfer('t'): u64 = Size[0..=TRANSFER_MAX], "256K";
        /// Blocks of each rank.
        segments('s'): u64 = Size[1..=SEGMENTS_MAX], "1";
        /// Number of repetitions.
        repetitions('i'): u32 = Number[1..=REPETITIONS_MAX], "1";
        /// Selection of tests.
        tests: TestSelection;
        /// A file for each rank.
        file_per_process('F'): bool = Flag;
        /// Read what another rank wrote, a constant number of machines further.
        reorder('C'): bool = Flag;
        /// Read what a random rank wrote.
        reorder_random('Z'): bool = Flag;
        /// Read what a rank of a permutation wrote: -Z twice.
        reorder_shuffled: bool = Flag;
        /// How many machines further.
        task_offset('Q'): u64 = Number[0..=INT_MAX], "1";
        /// Seed of the random ranks.
        reorder_seed('X'): u64 = Number[0..=INT_MAX], "0";
        /// Transfers in a random order.
        random('z'): bool = Flag;
        /// Seed of that order; without it, the time.
        random_offset_seed: Option<u64> = Number[0..=SEED_MAX];
        /// Transfers in blocks that are drawn each time, so that some may meet: -z twice.
        random_blocks: bool = Flag;
        /// Barriers between open, transfers and close.
        #[support = OptionSupport::Approximate(BARRIERS)]
        barriers('g'): bool = Flag;
        /// fsync at the end of each write.
        fsync('e'): bool = Flag;
        /// fsync after each transfer.
        fsync_each('Y'): bool = Flag;
        /// Keep the files.
        keep('k'): bool = Flag;
        /// Do not remove what is there before writing.
        use_existing('E'): bool = Flag;
        /// A file for each repetition.
        multi_file('m'): bool = Flag;
        /// A directory for each rank that has a file, named by its number.
        unique_dir('u'): bool = Flag;
        /// Seconds to wait before each test.
        delay('d'): u64 = Number[0..=SECONDS_MAX], "0";
        /// Minutes after which no test begins.
        minutes('T'): u64 = Number[0..=MINUTES_MAX], "0";
        /// Seconds after which a test ends.
        deadline('D'): u64 = Number[0..=SECONDS_MAX], "0";
        /// Seed of the data, which may be negative; without it, the time.
        data_seed('G'): Option<String> = Text;
        /// What is written: timestamp, offset, incompressible or random; the first letter will do.
        packet_type('l'): String = Text, "t";
        /// Directives, such as stoneWallingWearOut=1, with commas between.
        directives('O'): Vec<String> = Texts;
        /// A number for the summary.
        #[recorded = false]
        reference('A'): u64 = Number[0..=INT_MAX], "0";
        /// Also the removals, and the best rates.
        #[recorded = false]
        verbose('v'): bool = Flag;
        /// Fewer ranks than there are.
        tasks('N'): Option<u16> = Number[1..=RANKS_MAX];
        /// Call transfers collective, for which POSIX has no calls of its own.
        collective('c'): bool = Flag;
        /// Warn of ranks that are so many seconds from the mean of all.
        #[recorded = false]
        outliers('j'): u64 = Number[0..=SECONDS_MAX], "0";
        /// Memory to take away from each machine before a test: bytes, or a share of all, as 10%.
        memory('M'): Option<String> = Text;
        /// A script: further tests, with other options for each.
        #[recorded = false]
        script('f'): Option<String> = Path;
        /// Options that are refused or have no effect.
        others: IgnoredOptions;
        /// Number of ranks; with the original mpirun decides it.
        ranks: u16 = Number[1..=RANKS_MAX], "1";
        /// Open files past the page cache, which is --posix.odirect.
        direct: bool = Flag;
        /// What a rank is.
        worker_kind: &'static str = Choice(&["processes", "threads"]), "processes";
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// Workers, which ior calls tasks or ranks.
        workers('t'): u16 = Number[1..=RANKS_MAX], "1";
        /// Bytes that a worker writes one after the other.
        block('b'): u64 = Size[1..=BLOCK_MAX], "16M";
        /// Bytes of each transfer.
        transfer: u64 = Size[1..=TRANSFER_MAX], "1M";
        /// Blocks of each worker.
        segments('s'): u64 = Number[1..=SEGMENTS_MAX], "1";
        /// One file for all, or one for each worker.
        files: &'static str = Choice(&["shared", "own"]), "shared";
        /// What is tested.
        only: &'static str = Choice(&["write", "read", "both"]), "both";
        /// The order of the transfers in a block.
        order: &'static str = Choice(&["sequential", "random"]), "sequential";
        /// By how many workers reading is shifted, so that a worker does not read what it wrote: 1
        /// where there are several workers.
        shift('N'): Option<u64> = Number[0..=RANKS_MAX];
        /// fsync at the end of each worker's write, in its time.
        fsync('e'): &'static str = Choice(&["end", "each", "none"]), "end";
        /// Seconds after which a test ends; then all workers do as much as the fastest.
        stonewall('D'): Option<u64> = Number[1..=SECONDS_MAX];
        /// Whether caches are dropped before reading (root only).
        drop_caches: &'static str = Choice(&["each", "none"]), "none";
        /// Open files past the page cache.
        direct: bool = Flag;
        /// Number of repetitions.
        repetitions('i'): u32 = Number[1..=REPETITIONS_MAX], "1";
        /// What a worker is.
        worker_kind: &'static str = Choice(&["threads", "processes"]), "threads";
        /// The random seed of the order.
        seed: u64 = Number, "1";
    }
}
