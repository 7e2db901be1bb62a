//! Options of blogbench, each declared once: those of 1.1 and the native ones.

use treering_script::{ClassicPayload, WorkloadManifest, options};

/// Largest accepted number of threads of a kind.
const THREADS_MOST: u64 = 4096;

/// Workload manifest: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "blogbench",
    aliases: &[],
    about: "Write, rewrite, comment and read blogs from many threads, for a given time",
    imitates: "blogbench 1.1",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

options! {
    /// Number of threads of each kind.
    pub(super) struct ThreadOptions {
        /// Threads that create blogs: a directory, 1 to 100 articles, 1 to 100 pictures.
        writers('w'): u16 = Number[0..=THREADS_MOST], "3";
        /// Threads that rewrite an article of a random blog, and often a picture.
        rewriters('W'): u16 = Number[0..=THREADS_MOST], "1";
        /// Threads that write 1 to 100 comments into a random blog.
        commenters('c'): u16 = Number[0..=THREADS_MOST], "5";
        /// Threads that read a random blog.
        readers('r'): u16 = Number[0..=THREADS_MOST], "100";
    }
}

options! {
    /// Options at the end of both command lines.
    pub(super) struct ReadOptions {
        /// Bytes per read; blogbench 1.2 reads 8.
        read_bytes: u32 = Size[1..=1 << 20], "65536";
        /// The random seed.
        seed: u64 = Number, "1";
    }
}

options! {
    /// Options of the classic command line.
    pub(super) struct ClassicOptions {
        /// The directory that is worked in. Must be there.
        directory('d'): Option<String> = Path;
        /// Rows that are printed.
        iterations('i'): u64 = Number[1..=1_000_000], "30";
        /// Seconds before each row.
        sleep('s'): u64 = Number[1..=1_000_000], "10";
        /// Number of threads.
        threads: ThreadOptions;
        /// Space for the blogs: a size, or a share of the free space. When it is used up, the
        /// oldest blog is rewritten.
        max_size: String = Text, "90%";
        /// Read size and seed.
        reads: ReadOptions;
    }
}

options! {
    /// Options of the native command line and of plans.
    pub(super) struct NativeOptions {
        /// Number of measured intervals.
        iterations('i'): u64 = Number[1..=1_000_000], "12";
        /// Length of an interval in seconds.
        sleep('s'): u64 = Number[1..=1_000_000], "5";
        /// Number of threads.
        threads: ThreadOptions;
        /// Space for the blogs: a size, or a share of the free space. When it is used up, the
        /// oldest blog is rewritten.
        max_size: String = Text, "50%";
        /// Read size and seed.
        reads: ReadOptions;
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
        assert_eq!(letters, "dciWrsw".chars().collect());
    }

    #[test]
    fn the_option_name_shared_with_other_crates_exists() {
        let name = treering_model::BLOGBENCH_READ_BYTES;
        assert!(ClassicOptions::SPECS.iter().any(|spec| spec.name == name));
    }
}
