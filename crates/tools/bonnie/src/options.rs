//! Options of bonnie++, each declared once: the letters of 2.00a and the native ones.

use treering_script::{ClassicPayload, OptionSupport, WorkloadManifest, options};

/// Workload manifest: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "bonnie++",
    aliases: &["bonnie"],
    about: "Write, rewrite, read and seek in a large file, then create, stat and remove many files",
    imitates: "bonnie++ 2.00a",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// Largest number of copies, as in the original.
pub(super) const COPIES_MAX: u64 = 200;
/// Largest number of files: numbers have 32 bits, and shuffled orders are kept in memory.
const FILES_MAX: u64 = 1 << 28;
const DIRS_MAX: u64 = 99_999;
const SEEKS_MAX: u64 = 1 << 40;
const SEEKERS_MAX: u64 = 4096;

options! {
    /// Options of the classic command line.
    pub(super) struct ClassicOptions {
        /// The directory to work in, which must be there; a second one is relative to the first.
        dir('d'): Vec<String> = Paths, ".";
        /// SIZE[:CHUNK[:SEEKS[:SEEKERS]]]: MiB of the large file (or with g, t), bytes of a call
        /// (8192), seeks (8192), seekers (5); 0 leaves these tests out. Without it, twice the
        /// memory, at least 300.
        size('s'): Option<String> = Text;
        /// NUMBER[:MAX[:MIN[:DIRS[:CHUNK]]]]: files in multiples of 1024, their largest and least
        /// size (-1: hard links, -2: symbolic links), subdirectories, bytes of a call; 0 leaves
        /// these tests out.
        number('n'): String = Text, "16";
        /// The name in the output; the machine's own.
        machine('m'): Option<String> = Text;
        /// MiB of memory, of which the file should have twice as much; 0 does without the check. A
        /// unit behind the number has no effect, as in the original.
        ram('r'): Option<String> = Text;
        /// Number of iterations; a line for each, no table.
        runs('x'): Option<String> = Number;
        /// USER[:GROUP]: as whom to work on the files, by names or numbers; needed by root.
        user('u'): Option<String> = Text;
        /// The group to work as.
        #[recorded = false]
        group('g'): Option<String> = Text;
        /// The table to standard error, and no progress.
        quiet('q'): bool = Flag;
        /// MiB that are moved byte by byte; without a number these tests are left out.
        byte_size('f'): String = Optional("0"), "3";
        /// Fsync files that are made and their directories, after each unlink, and after each seek
        /// that writes.
        fsync('b'): bool = Flag;
        /// O_DIRECT in all tests of the large file; needs -f.
        direct('D'): bool = Flag;
        /// Make semaphores at which so many processes with -y s meet, and end; -1 removes them; 0
        /// is as without -p.
        #[recorded = false]
        processes('p'): Option<String> = Text;
        /// s: wait before each test until all have come that the semaphores of -p were made for; p:
        /// until a line comes on standard input.
        wait('y'): Option<String> = Text;
        /// The seed; process and time without it.
        seed('z'): Option<u64> = Number;
        /// A file of random numbers instead of a seed: 32 bits each, big-endian.
        random_file('Z'): Option<String> = Path;
        /// Number of concurrent copies of each test, each with its own files.
        copies('c'): String = Number, "1";
        /// A log of each operation.
        #[support = OptionSupport::Ignored("it has none in 2.00a; latencies are in the store")]
        detail_log('l'): () = Path;
        /// Operations of a line there.
        #[support = OptionSupport::Ignored("it is that of a patched version, for its detail log")]
        report_interval('R'): () = Number;
        /// The format of the line with commas.
        csv_version: &'static str = Choice(&["1.96", "1.97", "1.98"]), "1.98";
        /// Whether chunk sizes and the number of directories are in their columns, or where the
        /// original has them.
        csv_columns: &'static str = Choice(&["right", "original"]), "right";
        /// What the sync after making and removing files covers; the original's is the machine.
        sync_scope: &'static str = Choice(&["filesystem", "machine"]), "filesystem";
        /// As -b, and an fsync after each block that is written, which -b of the original lacks.
        fsync_writes: bool = Flag;
    }
}

options! {
    /// Options of the native command line and of plans.
    pub(super) struct NativeOptions {
        /// Size of the large file; 0 skips its tests.
        size('s'): u64 = Size, "256M";
        /// Bytes per call on the large file.
        chunk: Option<u64> = Size, "8K";
        /// Number of seeks, of which a tenth write.
        seeks: Option<u64> = Number[0..=SEEKS_MAX], "8192";
        /// Threads that share the seeks.
        seekers: Option<u16> = Number[1..=SEEKERS_MAX], "5";
        /// Bytes to transfer byte by byte, which measures system calls; 0 skips this.
        byte_size('f'): Option<u64> = Size, "0";
        /// Files to create, stat and remove; 0 skips this.
        files('n'): u32 = Number[0..=FILES_MAX], "16384";
        /// Maximum file size.
        max_size: Option<u64> = Size, "0";
        /// Minimum file size [default: the maximum].
        min_size: Option<u64> = Size;
        /// Number of directories that the files are spread over.
        dirs: Option<u32> = Number[1..=DIRS_MAX], "1";
        /// Bytes per call on the small files.
        file_chunk: Option<u64> = Size, "8K";
        /// Whether all files but the first are links to it.
        links: Option<&'static str> = Choice(&["none", "hard", "symbolic"]), "none";
        /// The tests to run, separated by commas, always in the original's order: per-char-write,
        /// block-write, rewrite, per-char-read, block-read, seeks, sequential-create,
        /// sequential-stat, sequential-delete, random-create, random-stat, random-delete.
        tests: String = Text, "all";
        /// What to fsync in addition to the end of each test: created files, directories and seeks
        /// that write; or every write to the large file as well.
        fsync: &'static str = Choice(&["never", "updates", "each"]), "never";
        /// Use O_DIRECT in the tests of the large file.
        direct('D'): bool = Flag;
        /// Number of concurrent copies of each test, each with its own files.
        copies('c'): u16 = Number[1..=COPIES_MAX], "1";
        /// Whether to drop the kernel's caches before each test, so that reads and seeks come from
        /// the device.
        drop_caches: &'static str = Choice(&["never", "each"]), "never";
        /// The random seed of names, sizes and seeks.
        seed('z'): u64 = Number, "1";
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
        assert_eq!(letters, "bcdfglmnpqrsuxyzZDR".chars().collect());
    }
}
