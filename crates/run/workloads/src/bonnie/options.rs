//! The options of bonnie++, each declared once: the letters of 2.00a and the native ones.

use treering_script::{ClassicPayload, Manifest, OptionSpec, Support, ValueKind};

/// bonnie++'s name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "bonnie++",
    aliases: &["bonnie"],
    about: "Write, rewrite, read and seek in a large file, then create, stat and remove many files",
    imitates: "bonnie++ 2.00a",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::new(
        "dir",
        Some('d'),
        ValueKind::Paths,
        Some("."),
        "The directory to work in, which must be there; a second one is relative to the first.",
    ),
    OptionSpec::new(
        "size",
        Some('s'),
        ValueKind::Text,
        None,
        "SIZE[:CHUNK[:SEEKS[:SEEKERS]]]: MiB of the large file (or with g, t), bytes of a call \
         (8192), seeks (8192), seekers (5); 0 leaves these tests out. Without it, twice the \
         memory, at least 300.",
    ),
    OptionSpec::new(
        "number",
        Some('n'),
        ValueKind::Text,
        Some("16"),
        "NUMBER[:MAX[:MIN[:DIRS[:CHUNK]]]]: files in multiples of 1024, their largest and least \
         size (-1: hard links, -2: symbolic links), subdirectories, bytes of a call; 0 leaves \
         these tests out.",
    ),
    OptionSpec::new(
        "machine",
        Some('m'),
        ValueKind::Text,
        None,
        "The name in the output; the machine's own.",
    ),
    OptionSpec::new(
        "ram",
        Some('r'),
        ValueKind::Text,
        None,
        "MiB of memory, of which the file should have twice as much; 0 does without the check. A \
         unit behind the number has no effect, as in the original.",
    ),
    OptionSpec::new(
        "runs",
        Some('x'),
        ValueKind::Number,
        None,
        "Number of iterations; a line for each, no table.",
    ),
    OptionSpec::new(
        "user",
        Some('u'),
        ValueKind::Text,
        None,
        "USER[:GROUP]: as whom to work on the files, by names or numbers; needed by root.",
    ),
    OptionSpec::new("group", Some('g'), ValueKind::Text, None, "The group to work as."),
    OptionSpec::new(
        "quiet",
        Some('q'),
        ValueKind::Flag,
        None,
        "The table to standard error, and no progress.",
    ),
    OptionSpec::new(
        "byte-size",
        Some('f'),
        ValueKind::Optional("0"),
        Some("3"),
        "MiB that are moved byte by byte; without a number these tests are left out.",
    ),
    OptionSpec::new(
        "fsync",
        Some('b'),
        ValueKind::Flag,
        None,
        "Fsync files that are made and their directories, after each unlink, and after each seek \
         that writes.",
    ),
    OptionSpec::new(
        "direct",
        Some('D'),
        ValueKind::Flag,
        None,
        "O_DIRECT in all tests of the large file; needs -f.",
    ),
    OptionSpec::new(
        "processes",
        Some('p'),
        ValueKind::Text,
        None,
        "Make semaphores at which so many processes with -y s meet, and end; -1 removes them; \
         0 is as without -p.",
    ),
    OptionSpec::new(
        "wait",
        Some('y'),
        ValueKind::Text,
        None,
        "s: wait before each test until all have come that the semaphores of -p were made for; p: \
         until a line comes on standard input.",
    ),
    OptionSpec::new(
        "seed",
        Some('z'),
        ValueKind::Number,
        None,
        "The seed; process and time without it.",
    ),
    OptionSpec::new(
        "random-file",
        Some('Z'),
        ValueKind::Path,
        None,
        "A file of random numbers instead of a seed: 32 bits each, big-endian.",
    ),
    OptionSpec::new(
        "copies",
        Some('c'),
        ValueKind::Number,
        Some("1"),
        "Number of concurrent copies of each test, each with its own files.",
    ),
    OptionSpec {
        support: Support::Ignored("it has none in 2.00a; latencies are in the store"),
        ..OptionSpec::new(
            "detail-log",
            Some('l'),
            ValueKind::Path,
            None,
            "A log of each operation.",
        )
    },
    OptionSpec {
        support: Support::Ignored("it is that of a patched version, for its detail log"),
        ..OptionSpec::new(
            "report-interval",
            Some('R'),
            ValueKind::Number,
            None,
            "Operations of a line there.",
        )
    },
    OptionSpec::long(
        "csv-version",
        ValueKind::Choice(&["1.96", "1.97", "1.98"]),
        Some("1.98"),
        "The format of the line with commas.",
    ),
    OptionSpec::long(
        "csv-columns",
        ValueKind::Choice(&["right", "original"]),
        Some("right"),
        "Whether chunk sizes and the number of directories are in their columns, or where the \
         original has them.",
    ),
    OptionSpec::long(
        "sync-scope",
        ValueKind::Choice(&["filesystem", "machine"]),
        Some("filesystem"),
        "What the sync after making and removing files covers; the original's is the machine.",
    ),
    OptionSpec::long(
        "fsync-writes",
        ValueKind::Flag,
        None,
        "As -b, and an fsync after each block that is written, which -b of the original lacks.",
    ),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::new(
        "size",
        Some('s'),
        ValueKind::Size,
        Some("256M"),
        "Size of the large file; 0 skips its tests.",
    ),
    OptionSpec::long("chunk", ValueKind::Size, Some("8K"), "Bytes per call on the large file."),
    OptionSpec::long(
        "seeks",
        ValueKind::Number,
        Some("8192"),
        "Number of seeks, of which a tenth \
                      write.",
    ),
    OptionSpec::long("seekers", ValueKind::Number, Some("5"), "Threads that share the seeks."),
    OptionSpec::new(
        "byte-size",
        Some('f'),
        ValueKind::Size,
        Some("0"),
        "Bytes to transfer byte by byte, which measures system calls; 0 skips this.",
    ),
    OptionSpec::new(
        "files",
        Some('n'),
        ValueKind::Number,
        Some("16384"),
        "Files to create, stat and remove; 0 skips this.",
    ),
    OptionSpec::long("max-size", ValueKind::Size, Some("0"), "Maximum file size."),
    OptionSpec::long(
        "min-size",
        ValueKind::Size,
        None,
        "Minimum file size [default: the maximum].",
    ),
    OptionSpec::long(
        "dirs",
        ValueKind::Number,
        Some("1"),
        "Number of directories that the files are spread over.",
    ),
    OptionSpec::long(
        "file-chunk",
        ValueKind::Size,
        Some("8K"),
        "Bytes per call on the small \
                      files.",
    ),
    OptionSpec::long(
        "links",
        ValueKind::Choice(&["none", "hard", "symbolic"]),
        Some("none"),
        "Whether all files but the first are links to it.",
    ),
    OptionSpec::long(
        "tests",
        ValueKind::Text,
        Some("all"),
        "The tests to run, separated by commas, always in the original's order: per-char-write, \
         block-write, rewrite, per-char-read, block-read, seeks, sequential-create, \
         sequential-stat, sequential-delete, random-create, random-stat, random-delete.",
    ),
    OptionSpec::long(
        "fsync",
        ValueKind::Choice(&["never", "updates", "each"]),
        Some("never"),
        "What to fsync in addition to the end of each test: created files, directories and seeks \
         that write; or every write to the large file as well.",
    ),
    OptionSpec::new(
        "direct",
        Some('D'),
        ValueKind::Flag,
        None,
        "Use O_DIRECT in the tests of the large file.",
    ),
    OptionSpec::new(
        "copies",
        Some('c'),
        ValueKind::Number,
        Some("1"),
        "Number of concurrent copies of each test, each with its own files.",
    ),
    OptionSpec::long(
        "drop-caches",
        ValueKind::Choice(&["never", "each"]),
        Some("never"),
        "Whether to drop the kernel's caches before each test, so that reads and seeks come from \
         the device.",
    ),
    OptionSpec::new(
        "seed",
        Some('z'),
        ValueKind::Number,
        Some("1"),
        "The random seed of names, sizes and seeks.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::CLASSIC;

    #[test]
    fn every_letter_of_the_original_is_there() {
        let letters: HashSet<char> = CLASSIC.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "bcdfglmnpqrsuxyzZDR".chars().collect());
    }
}
