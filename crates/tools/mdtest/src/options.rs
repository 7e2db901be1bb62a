//! The options of mdtest, each declared once: those of 4.1 and the native ones.

use treering_script::{ClassicPayload, OptionSupport, WorkloadManifest, options};

/// mdtest's name tag.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "mdtest",
    aliases: &[],
    about: "Create, stat, rename, read and remove directories and files from many ranks",
    imitates: "mdtest 4.1",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The most ranks of a machine: each has its own memory.
const RANKS_MAX: u64 = 4096;
/// The most items, levels, and bytes of a file.
const ITEMS_MAX: u64 = 1 << 40;
const DEPTH_MAX: u64 = 200;
const BYTES_MAX: u64 = 64 << 20;
pub(super) const ITERATIONS_MAX: u64 = 100_000;
const SECONDS_MAX: u64 = 1 << 30;
/// Numbers that the original keeps in an int.
const INT_MAX: u64 = i32::MAX as u64;

/// Reason why interfaces other than POSIX are refused.
const ONLY_POSIX: &str = "only POSIX calls are made; give POSIX, or leave it out";
/// Limit of ranges of task numbers.
const NO_SERIES: &str = "one number of ranks a run: vary --ranks, or workers in a plan";
/// Limit of what is said beside the tables.
const VERBOSE: &str = "the lines of level 1 about settings and tests, not those about functions";
/// Difference of the commands around phases.
const ONE_COMMAND: &str = "run once, not by each rank, and outside of all times";

/// Reason why the option is not supported.
const WARNING_AS_ERRORS: &str = "see the numbers of missing items in the output instead";

options! {
    /// Selection of tests.
    pub(super) struct TestSelection {
        /// Only create directories and files.
        only_create('C'): bool = Flag;
        /// Only stat them.
        only_stat('T'): bool = Flag;
        /// Only read files.
        only_read('E'): bool = Flag;
        /// Only remove what an earlier run left.
        only_remove('r'): bool = Flag;
        /// Rename directories too, where only some tests are done.
        rename_dirs('U'): bool = Flag;
        /// Directories only, no files.
        only_dirs('D'): bool = Flag;
        /// Files only, no directories.
        only_files('F'): bool = Flag;
    }
}

options! {
    /// Options for file data.
    pub(super) struct DataOptions {
        /// Bytes written to each file after it was created.
        write_bytes('w'): u32 = Size[0..=BYTES_MAX], "0";
        /// Bytes read of each file.
        read_bytes('e'): u32 = Size[0..=BYTES_MAX], "0";
        /// Sync each file after it was written.
        sync_file('y'): bool = Flag;
        /// Open files past the page cache, which is --posix.odirect.
        direct: bool = Flag;
        /// Call sync after each test, in its time.
        call_sync('Y'): bool = Flag;
        /// Compare what is read with what was written.
        verify_read('X'): bool = Flag;
        /// Read what was written back at once, and compare it.
        verify_write: bool = Flag;
        /// Seed of the data, which may be negative; without it, or as -1, the time.
        data_offset('G'): Option<String> = Text;
        /// What is written: timestamp, offset, incompressible or random; the first letter will do.
        #[support = OptionSupport::Approximate("also under its own name, --dataPacketType")]
        data_packet_type: String = Text, "t";
    }
}

options! {
    /// Options for the output.
    pub(super) struct OutputOptions {
        /// Print rates and times.
        rate_and_time('P'): bool = Flag;
        /// Print times instead of rates.
        print_time('Z'): bool = Flag;
        /// Also print the figures of each process.
        print_all_procs: bool = Flag;
        /// Also print the extremes over single ranks.
        show_rank_statistics: bool = Flag;
        /// Write the performance of each rank into this file, as CSV.
        #[recorded = false]
        save_rank_performance_details: Option<String> = Path;
        /// A file for each rank with the time of each operation.
        #[recorded = false]
        save_per_op_data_csv: Option<String> = Path;
        /// Also print the settings, and each test as it ends.
        #[support = OptionSupport::Approximate(VERBOSE)]
        #[recorded = false]
        verbose('v'): bool = Flag;
        /// The level of detail of what is printed, the same as -V.
        #[support = OptionSupport::Approximate(VERBOSE)]
        #[recorded = false]
        verbosity: Option<u64> = Number[0..=INT_MAX];
    }
}

options! {
    /// Options that are refused or have no effect.
    pub(super) struct IgnoredOptions {
        /// The interface.
        #[recorded = false]
        api('a'): String = Text, "POSIX";
        /// No barriers between phases.
        #[recorded = false]
        no_barriers('B'): u64 = Number[0..=INT_MAX], "0";
        /// First number of tasks.
        #[support = OptionSupport::Approximate(NO_SERIES)]
        first('f'): u64 = Number[1..=INT_MAX], "1";
        /// Last number of tasks; 0 for all that are there.
        #[support = OptionSupport::Approximate(NO_SERIES)]
        last('l'): u64 = Number[0..=INT_MAX], "0";
        /// Stride between numbers of tasks.
        #[support = OptionSupport::Approximate(NO_SERIES)]
        stride('s'): u64 = Number[1..=INT_MAX], "1";
        /// Create files by mknod, without opening them.
        mknod('k'): bool = Flag;
        /// Seconds to wait before the tests of directories, and before those of files.
        pre_delay('p'): u64 = Number[0..=SECONDS_MAX], "0";
        /// Time the overhead of directories of their own.
        #[support = OptionSupport::Ignored("in the original nothing is done in that time")]
        #[recorded = false]
        time_unique('t'): bool = Flag;
        /// A command before each phase.
        #[support = OptionSupport::Approximate(ONE_COMMAND)]
        run_cmd_before_phase: Option<String> = Text;
        /// A command after each phase.
        #[support = OptionSupport::Approximate(ONE_COMMAND)]
        run_cmd_after_phase: Option<String> = Text;
        /// Any warning is an error.
        #[support = OptionSupport::Rejected(WARNING_AS_ERRORS)]
        warning_as_errors: () = Flag;
    }
}

options! {
    /// The classic command line.
    pub(super) struct ClassicOptions {
        /// Where the tests work, made when it is not there; several with @ between, at which the
        /// ranks take turns.
        #[recorded = false]
        dir('d'): String = Path, "./out";
        /// Directories and files of each rank.
        items('n'): u64 = Size[0..=ITEMS_MAX], "0";
        /// Items in each directory of the tree.
        items_per_dir('I'): u64 = Size[0..=ITEMS_MAX], "0";
        /// Levels of the tree below its top.
        depth('z'): u32 = Number[0..=DEPTH_MAX], "0";
        /// Directories in each directory of the tree.
        branch('b'): u64 = Number[0..=1 << 20], "1";
        /// Items in the lowest level of the tree only.
        leaf_only('L'): bool = Flag;
        /// A tree of its own for each rank.
        unique_dir('u'): bool = Flag;
        /// All ranks have the same files; no directories are tested.
        shared_file('S'): bool = Flag;
        /// Rank 0 creates and removes everything.
        collective('c'): bool = Flag;
        /// By how many ranks each test is shifted, so that a rank does not work on its own items.
        shift('N'): u64 = Number[0..=INT_MAX], "0";
        /// Number of iterations.
        iterations('i'): u32 = Number[1..=ITERATIONS_MAX], "1";
        /// Stat and read items in a random order.
        random('R'): bool = Flag;
        /// Seed of the random order; the original's is the time.
        random_seed: u64 = Number[0..=INT_MAX], "0";
        /// Seconds after which creation ends; then all ranks make as many items as the fastest.
        stonewall('W'): u64 = Number[0..=SECONDS_MAX], "0";
        /// A file with the number of items of each rank: written by a creation with -W, read where
        /// nothing is created.
        #[recorded = false]
        stonewall_file('x'): Option<String> = Path;
        /// Selection of tests.
        tests: TestSelection;
        /// Data options.
        data: DataOptions;
        /// Output options.
        printing: OutputOptions;
        /// Options that are refused or have no effect.
        others: IgnoredOptions;
        /// Number of ranks; with the original mpirun decides it.
        ranks: u16 = Number[1..=RANKS_MAX], "1";
        /// What a rank is.
        worker_kind: &'static str = Choice(&["processes", "threads"]), "processes";
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// Workers, which mdtest calls tasks or ranks.
        workers('t'): u16 = Number[1..=RANKS_MAX], "1";
        /// Directories and files of each worker; in a tree, of each in all its directories.
        items('n'): Option<u64> = Number[1..=ITEMS_MAX], "1000";
        /// Items in each directory of the tree, instead of --items.
        items_per_dir('I'): Option<u64> = Number[1..=ITEMS_MAX];
        /// What is tested.
        only: &'static str = Choice(&["dirs", "files", "both"]), "both";
        /// Levels of the tree below its top.
        depth('z'): u32 = Number[0..=DEPTH_MAX], "0";
        /// Directories in each directory of the tree.
        branch('b'): u64 = Number[1..=1 << 20], "1";
        /// Items in the lowest level of the tree only.
        leaf_only('L'): bool = Flag;
        /// A tree of its own for each worker, instead of one for all.
        own_trees('u'): bool = Flag;
        /// By how many workers each test is shifted, so that a worker does not look at what it made
        /// itself: 1 where there are several workers.
        shift('N'): Option<u64> = Number[0..=RANKS_MAX];
        /// Bytes written to each file after it was created.
        write_size('w'): u32 = Size[0..=BYTES_MAX], "0";
        /// Bytes read of each file; as many as were written.
        read_size('e'): Option<u32> = Size[0..=BYTES_MAX];
        /// Sync each file after it was written.
        sync_file('y'): bool = Flag;
        /// Call syncfs at the end of each worker's part of a test, in its time.
        sync_each_test('Y'): bool = Flag;
        /// Seconds after which creation ends; then all workers make as many items as the fastest.
        stonewall('W'): Option<u64> = Number[1..=SECONDS_MAX];
        /// The order in which items are looked at and read.
        order: &'static str = Choice(&["sequential", "random"]), "sequential";
        /// Whether caches are dropped before items are looked at and read (root only).
        drop_caches: &'static str = Choice(&["each", "none"]), "none";
        /// Number of iterations.
        iterations('i'): u32 = Number[1..=ITERATIONS_MAX], "1";
        /// What a worker is.
        worker_kind: &'static str = Choice(&["threads", "processes"]), "threads";
        /// The random seed of the order.
        seed: u64 = Number, "1";
    }
}

/// Error text for an interface other than POSIX.
pub(super) const fn only_posix() -> &'static str {
    ONLY_POSIX
}
