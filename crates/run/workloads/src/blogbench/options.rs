//! The options of blogbench, each declared once: those of 1.1 and the native ones.

use treering_model::BLOGBENCH_READ_BYTES;
use treering_script::{ClassicPayload, Manifest, OptionSpec, ValueKind};

/// blogbench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "blogbench",
    aliases: &[],
    about: "Writes, rewrites, comments and reads blogs from many threads, for a given time",
    imitates: "blogbench 1.1",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The option with the directory.
pub(super) const DIRECTORY: &str = "directory";

const WRITERS: OptionSpec = OptionSpec::new(
    "writers",
    Some('w'),
    ValueKind::Number,
    Some("3"),
    "Threads that make blogs: a directory, 1 to 100 articles, 1 to 100 pictures.",
);
const REWRITERS: OptionSpec = OptionSpec::new(
    "rewriters",
    Some('W'),
    ValueKind::Number,
    Some("1"),
    "Threads that write an article of a random blog anew, and often a picture.",
);
const COMMENTERS: OptionSpec = OptionSpec::new(
    "commenters",
    Some('c'),
    ValueKind::Number,
    Some("5"),
    "Threads that write 1 to 100 comments into a random blog.",
);
const READERS: OptionSpec = OptionSpec::new(
    "readers",
    Some('r'),
    ValueKind::Number,
    Some("100"),
    "Threads that read a random blog.",
);
const READ_BYTES: OptionSpec = OptionSpec::long(
    BLOGBENCH_READ_BYTES,
    ValueKind::Size,
    Some("65536"),
    "Bytes of each read; 8 is what blogbench 1.2 reads.",
);
const SEED: OptionSpec =
    OptionSpec::long("seed", ValueKind::Number, Some("1"), "The seed of all draws.");

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::new(
        DIRECTORY,
        Some('d'),
        ValueKind::Path,
        None,
        "The directory that is worked in. Must be there.",
    ),
    OptionSpec::new(
        "iterations",
        Some('i'),
        ValueKind::Number,
        Some("30"),
        "Rows that are printed.",
    ),
    OptionSpec::new("sleep", Some('s'), ValueKind::Number, Some("10"), "Seconds before each row."),
    WRITERS,
    REWRITERS,
    COMMENTERS,
    READERS,
    OptionSpec::long(
        "max-size",
        ValueKind::Text,
        Some("90%"),
        "Room that blogs may take: a size, or a share of what is free. When that many are made, \
         the oldest is written anew.",
    ),
    READ_BYTES,
    SEED,
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::new(
        "iterations",
        Some('i'),
        ValueKind::Number,
        Some("12"),
        "Intervals that are measured.",
    ),
    OptionSpec::new("sleep", Some('s'), ValueKind::Number, Some("5"), "Seconds of each interval."),
    WRITERS,
    REWRITERS,
    COMMENTERS,
    READERS,
    OptionSpec::long(
        "max-size",
        ValueKind::Text,
        Some("50%"),
        "Room that blogs may take: a size, or a share of what is free. When that many are made, \
         the oldest is written anew.",
    ),
    READ_BYTES,
    SEED,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::CLASSIC;

    #[test]
    fn every_letter_of_the_original_is_there() {
        let letters: HashSet<char> = CLASSIC.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "dciWrsw".chars().collect());
    }
}
