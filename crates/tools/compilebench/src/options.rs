//! Options of compilebench, each declared once: the classic ones of 0.6 and the native ones.

use treering_script::{ClassicPayload, OptionSupport, WorkloadManifest, options};

/// Workload manifest: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "compilebench",
    aliases: &[],
    about: "Age a filesystem with work on source trees: create, patch, compile, clean, read, \
            stat, delete",
    imitates: "compilebench 0.6",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::LetterA,
    classic_usage_exit: 2,
};

const TRACING: OptionSupport = OptionSupport::Approximate(
    "every phase is traced, not the initial creates only, and blktrace is not needed; what cannot \
     be traced is said, and the run goes on",
);

const TREES_MAX: u64 = 1_000_000;
pub(super) const RUNS_MAX: u64 = 10_000_000;

options! {
    /// Options of the classic command line.
    pub(super) struct ClassicOptions {
        /// Bytes per read and write request.
        buffer_size('b'): u64 = Size, "262144";
        /// Trees created first, kernel-0, kernel-1 and so on.
        initial_dirs('i'): u32 = Number[0..=TREES_MAX], "30";
        /// Random operations that must succeed.
        runs('r'): u32 = Number[0..=RUNS_MAX], "100";
        /// The working directory; made when it is not there.
        #[recorded = false]
        directory('D'): String = Path, "/mnt/default";
        /// Directory of the four dataset files, or the name of a data set.
        #[support = OptionSupport::Approximate(
            "a data set's name is taken too; without -s, and without data files in the present \
             directory, linux-6.1 is used",
        )]
        sources('s'): String = Path, ".";
        /// Prefix of the output files, which are as blktrace writes them; needs -d.
        #[support = TRACING]
        #[recorded = false]
        trace('t'): Option<String> = Text;
        /// Device that is traced; alone it has no effect.
        #[recorded = false]
        device('d'): Option<String> = Path;
        /// Instead of random operations: compile all trees, read three, delete all.
        makej('m'): bool = Flag;
        /// Never sync and never drop caches.
        no_sync('n'): bool = Flag;
        /// The seed of the sequence; the original always uses 555.
        seed: u64 = Number, "555";
    }
}

options! {
    /// Options of the native command line and of plans.
    pub(super) struct NativeOptions {
        /// The data set the trees are made of: a name from `treering dataset list`, or a directory
        /// with the original's four files.
        dataset: String = Text, "linux-6.1";
        /// Trees created first.
        initial_dirs('i'): Option<u32> = Number[0..=TREES_MAX], "30";
        /// Instead of --initial-dirs: create trees until the filesystem is this full.
        fill: Option<f64> = Percent;
        /// Random operations after that.
        runs('r'): u32 = Number[0..=RUNS_MAX], "100";
        /// Weights of the random operations; an operation that is not named is not performed.
        mix: String = Text, "patch=1,compile=1,clean=1,delete=1,create=1,read=1,stat=1";
        /// Order in which files are written: that of the filesystem (determined by walking a
        /// temporary tree), sorted by name, or random.
        order: &'static str = Choice(&["native", "sorted", "random"]), "native";
        /// Instead of random operations: compile all trees, read three, delete all.
        makej('m'): bool = Flag;
        /// When to sync the filesystem: after each operation and within its time, at the end of
        /// each phase, or never.
        sync: &'static str = Choice(&["each", "end", "none"]), "each";
        /// Whether to drop the kernel's caches before each random operation (requires root).
        drop_caches: &'static str = Choice(&["each", "none"]), "each";
        /// Number of trees worked on concurrently.
        threads: u16 = Number[1..=1024], "1";
        /// Bytes per read and write request.
        buffer_size('b'): u64 = Size, "1MiB";
        /// The random seed of the whole run.
        seed: u64 = Number, "1";
    }
}
