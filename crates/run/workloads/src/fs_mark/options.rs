//! The options of fs_mark, each declared once: the letters of 3.3 and the native ones.

use treering_script::{ClassicPayload, Manifest, OptionSpec, ValueKind};

/// fs_mark's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "fs_mark",
    aliases: &[],
    about: "Makes many files from several workers, with a choice of how they are synced",
    imitates: "fs_mark 3.3",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

const FILES: OptionSpec = OptionSpec::new(
    "files",
    Some('n'),
    ValueKind::Number,
    Some("1000"),
    "Files that each worker makes in an iteration.",
);
const SIZE: OptionSpec =
    OptionSpec::new("size", Some('s'), ValueKind::Size, Some("51200"), "Bytes of each file.");
const WRITE_SIZE: OptionSpec = OptionSpec::new(
    "write-size",
    Some('w'),
    ValueKind::Size,
    Some("16384"),
    "Bytes of each write.",
);
const NAME_LENGTH: OptionSpec = OptionSpec::new(
    "name-length",
    Some('p'),
    ValueKind::Number,
    Some("40"),
    "Bytes of each file's name.",
);
const RANDOM_LENGTH: OptionSpec = OptionSpec::new(
    "random-length",
    Some('r'),
    ValueKind::Number,
    Some("24"),
    "Random characters at the end of each name.",
);

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::new(
        "dir",
        Some('d'),
        ValueKind::Paths,
        None,
        "A root directory, made when it is not there; may be given several times: workers take \
         turns.",
    ),
    OptionSpec::new(
        "threads",
        Some('t'),
        ValueKind::Number,
        Some("1"),
        "Workers in all: at least one for each root, else a multiple of the number of roots.",
    ),
    OptionSpec::new(
        "subdirs",
        Some('D'),
        ValueKind::Number,
        Some("0"),
        "Subdirectories of each root.",
    ),
    OptionSpec::new(
        "files-per-subdir",
        Some('N'),
        ValueKind::Number,
        None,
        "Files in a subdirectory before the next one's turn comes; without it, 180 seconds.",
    ),
    FILES,
    SIZE,
    WRITE_SIZE,
    NAME_LENGTH,
    RANDOM_LENGTH,
    OptionSpec::new(
        "sync-method",
        Some('S'),
        ValueKind::Number,
        Some("1"),
        "0: none; 1: fsync before each close; 2: sync, then fsync of the first file; 3: fsync of \
         all files afterwards, last one first; 4: sync, then as 3; 5: in order; 6: sync, then as \
         5.",
    ),
    OptionSpec::new(
        "iterations",
        Some('L'),
        ValueKind::Number,
        Some("0"),
        "Number of iterations; files are kept.",
    ),
    OptionSpec::new(
        "until-full",
        Some('F'),
        ValueKind::Flag,
        None,
        "Do it again until the filesystem is full; files are kept then.",
    ),
    OptionSpec::new("keep-files", Some('k'), ValueKind::Flag, None, "Keep the files."),
    OptionSpec::new(
        "log",
        Some('l'),
        ValueKind::Path,
        Some("fs_log.txt"),
        "The log, to which all lines are appended.",
    ),
    OptionSpec::new(
        "verbose",
        Some('v'),
        ValueKind::Flag,
        None,
        "Also what each kind of call took.",
    ),
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        None,
        "The seed of the random characters; the original's is the time.",
    ),
    OptionSpec::long(
        "workers",
        ValueKind::Choice(&["processes", "threads"]),
        Some("processes"),
        "What a worker is.",
    ),
    OptionSpec::long(
        "summary",
        ValueKind::Flag,
        None,
        "Print the average and quantiles of Files/sec at the end, as the version after 3.3.",
    ),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    FILES,
    SIZE,
    WRITE_SIZE,
    OptionSpec::new("threads", Some('t'), ValueKind::Number, Some("1"), "Workers in all."),
    OptionSpec::long(
        "dirs",
        ValueKind::Number,
        Some("1"),
        "Root directories that are made, at which the workers take turns.",
    ),
    OptionSpec::new(
        "subdirs",
        Some('D'),
        ValueKind::Number,
        Some("0"),
        "Subdirectories of each root.",
    ),
    OptionSpec::new(
        "files-per-subdir",
        Some('N'),
        ValueKind::Number,
        None,
        "Files of a worker in a subdirectory before the next one's turn comes; without it, an \
         equal share of them in each.",
    ),
    OptionSpec::long(
        "spread",
        ValueKind::Choice(&["in-turn", "random"]),
        Some("in-turn"),
        "Whether files go to one subdirectory after the other, or each to any (by the seed).",
    ),
    NAME_LENGTH,
    RANDOM_LENGTH,
    OptionSpec::new(
        "sync-method",
        Some('S'),
        ValueKind::Text,
        Some("fsync"),
        "none (0), fsync before each close (1), sync-first (2): sync, then the first file's \
         fsync, reverse (3): fsync of all afterwards, last one first, sync-reverse (4): sync \
         before that, post (5): in order, sync-post (6): sync before that.",
    ),
    OptionSpec::new("iterations", Some('L'), ValueKind::Number, Some("1"), "Number of iterations."),
    OptionSpec::new(
        "until-full",
        Some('F'),
        ValueKind::Flag,
        None,
        "Do it again until the filesystem is full, which is a normal end.",
    ),
    OptionSpec::long(
        "unlink",
        ValueKind::Choice(&["each", "end"]),
        Some("each"),
        "Whether the files of an iteration are unlinked after it, with times of their own, or all \
         at the end.",
    ),
    OptionSpec::long(
        "workers",
        ValueKind::Choice(&["threads", "processes"]),
        Some("threads"),
        "What a worker is.",
    ),
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        Some("1"),
        "The seed that decides names and places.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::CLASSIC;

    #[test]
    fn every_letter_of_the_original_is_there() {
        let letters: HashSet<char> = CLASSIC.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "dtDNnswprSLFklv".chars().collect());
    }
}
