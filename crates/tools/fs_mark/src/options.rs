//! The options of fs_mark, each declared once: the letters of 3.3 and the native ones.

use treering_script::{ClassicPayload, WorkloadManifest, options};

/// fs_mark's name tag.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "fs_mark",
    aliases: &[],
    about: "Create many files from several workers, with a choice of sync methods",
    imitates: "fs_mark 3.3",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The most workers: each has its own memory.
pub(super) const WORKERS_MAX: u64 = 4096;
/// The most files of a worker in an iteration.
pub(super) const FILES_MAX: u64 = 1 << 32;
/// The most iterations.
pub(super) const ITERATIONS_MAX: u64 = 100_000;
const SUBDIRS_MAX: u64 = 10_000_000;
/// The largest file.
const SIZE_MAX: u64 = i64::MAX as u64;

options! {
    /// Options for the files created.
    pub(super) struct FileOptions {
        /// Files created by each worker in an iteration.
        files('n'): u64 = Number[1..=FILES_MAX], "1000";
        /// Bytes of each file.
        size('s'): u64 = Size[0..=SIZE_MAX], "51200";
        /// Bytes of each write.
        write_size('w'): u64 = Size[0..=SIZE_MAX], "16384";
    }
}

options! {
    /// Options for file names.
    pub(super) struct NamingOptions {
        /// Bytes of each file's name.
        name_length('p'): usize = Number, "40";
        /// Random characters at the end of each name.
        random_length('r'): usize = Number, "24";
    }
}

options! {
    /// The classic command line.
    pub(super) struct ClassicOptions {
        /// A root directory, made when it is not there; may be given several times: workers take
        /// turns.
        #[recorded = false]
        dir('d'): Vec<String> = Paths;
        /// Total number of workers: at least one for each root, else a multiple of the number of
        /// roots.
        threads('t'): u64 = Number, "1";
        /// Subdirectories of each root.
        subdirs('D'): Option<u32> = Number[0..=SUBDIRS_MAX], "0";
        /// Files in a subdirectory before the next one's turn comes; without it, 180 seconds.
        files_per_subdir('N'): Option<u64> = Number;
        /// File options.
        files: FileOptions;
        /// Name options.
        naming: NamingOptions;
        /// 0: none; 1: fsync before each close; 2: sync, then fsync of the first file; 3: fsync of
        /// all files afterwards, last one first; 4: sync, then as 3; 5: in order; 6: sync, then as
        /// 5.
        sync_method('S'): usize = Number[0..=6], "1";
        /// Number of iterations; files are kept.
        iterations('L'): u32 = Number[0..=ITERATIONS_MAX], "0";
        /// Do it again until the filesystem is full; files are kept then.
        until_full('F'): bool = Flag;
        /// Keep the files.
        keep_files('k'): bool = Flag;
        /// The log, to which all lines are appended.
        #[recorded = false]
        log('l'): String = Path, "fs_log.txt";
        /// Also what each kind of call took.
        verbose('v'): bool = Flag;
        /// The seed of the random characters; the original's is the time.
        seed: Option<u64> = Number;
        /// What a worker is.
        workers: &'static str = Choice(&["processes", "threads"]), "processes";
        /// Print the average and quantiles of Files/sec at the end, as the version after 3.3.
        #[recorded = false]
        summary: bool = Flag;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// File options.
        files: FileOptions;
        /// Total number of workers.
        threads('t'): u16 = Number[1..=WORKERS_MAX], "1";
        /// Number of root directories, assigned to the workers in turn.
        dirs: u16 = Number[1..=WORKERS_MAX], "1";
        /// Subdirectories of each root.
        subdirs('D'): u32 = Number[0..=SUBDIRS_MAX], "0";
        /// Files of a worker in a subdirectory before it goes on to the next; by default an equal
        /// share in each.
        files_per_subdir('N'): Option<u64> = Number[1..=u64::MAX];
        /// Whether subdirectories are filled in turn, or each file goes to a random one.
        spread: Option<&'static str> = Choice(&["in-turn", "random"]), "in-turn";
        /// Name options.
        naming: NamingOptions;
        /// none (0), fsync before each close (1), sync-first (2): sync, then the first file's
        /// fsync, reverse (3): fsync of all afterwards, last one first, sync-reverse (4): sync
        /// before that, post (5): in order, sync-post (6): sync before that.
        sync_method('S'): String = Text, "fsync";
        /// Number of iterations.
        iterations('L'): Option<u32> = Number[1..=ITERATIONS_MAX], "1";
        /// Repeat until the filesystem is full, which counts as a normal end.
        until_full('F'): Option<bool> = Flag;
        /// Whether the files of an iteration are unlinked after it, timed separately, or all at the
        /// end.
        unlink: Option<&'static str> = Choice(&["each", "end"]), "each";
        /// What a worker is.
        workers: &'static str = Choice(&["threads", "processes"]), "threads";
        /// The random seed of names and placement.
        seed: u64 = Number, "1";
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::ClassicOptions;

    #[test]
    fn all_short_options_of_the_original_exist() {
        let letters: HashSet<char> =
            ClassicOptions::SPECS.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "dtDNnswprSLFklv".chars().collect());
    }
}
