//! The options of compilebench, each declared once: the classic ones of 0.6 and the native ones.

use treering_script::{ClassicPayload, Manifest, OptionSpec, Support, ValueKind};

/// compilebench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "compilebench",
    aliases: &[],
    about: "Age a filesystem with work on source trees: create, patch, compile, clean, read, \
            stat, delete",
    imitates: "compilebench 0.6",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::LetterA,
    classic_usage_exit: 2,
};

const TRACING: Support = Support::Approximate(
    "every phase is traced, not the initial creates only, and blktrace is not needed; what cannot \
     be traced is said, and the run goes on",
);

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::new(
        "buffer-size",
        Some('b'),
        ValueKind::Size,
        Some("262144"),
        "Bytes per read and write request.",
    ),
    OptionSpec::new(
        "initial-dirs",
        Some('i'),
        ValueKind::Number,
        Some("30"),
        "Trees created first, kernel-0, kernel-1 and so on.",
    ),
    OptionSpec::new(
        "runs",
        Some('r'),
        ValueKind::Number,
        Some("100"),
        "Random operations that must succeed.",
    ),
    OptionSpec::new(
        "directory",
        Some('D'),
        ValueKind::Path,
        Some("/mnt/default"),
        "The working directory; made when it is not there.",
    ),
    OptionSpec {
        support: Support::Approximate(
            "a data set's name is taken too; without -s, and without data files in the present \
             directory, linux-6.1 is used",
        ),
        ..OptionSpec::new(
            "sources",
            Some('s'),
            ValueKind::Path,
            Some("."),
            "Directory of the four dataset files, or the name of a data set.",
        )
    },
    OptionSpec {
        support: TRACING,
        ..OptionSpec::new(
            "trace",
            Some('t'),
            ValueKind::Text,
            None,
            "Prefix of the output files, which are as blktrace writes them; needs -d.",
        )
    },
    OptionSpec::new(
        "device",
        Some('d'),
        ValueKind::Path,
        None,
        "Device that is traced; alone it has no effect.",
    ),
    OptionSpec::new(
        "makej",
        Some('m'),
        ValueKind::Flag,
        None,
        "Instead of random operations: compile all trees, read three, delete all.",
    ),
    OptionSpec::new(
        "no-sync",
        Some('n'),
        ValueKind::Flag,
        None,
        "Never sync and never drop caches.",
    ),
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        Some("555"),
        "The seed of the sequence; the original always uses 555.",
    ),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        "dataset",
        ValueKind::Text,
        Some("linux-6.1"),
        "The data set the trees are made of: a name from `treering dataset list`, or a directory \
         with the original's four files.",
    ),
    OptionSpec::new(
        "initial-dirs",
        Some('i'),
        ValueKind::Number,
        Some("30"),
        "Trees created first.",
    ),
    OptionSpec::long(
        "fill",
        ValueKind::Percent,
        None,
        "Instead of --initial-dirs: create trees until the filesystem is this full.",
    ),
    OptionSpec::new(
        "runs",
        Some('r'),
        ValueKind::Number,
        Some("100"),
        "Random operations after that.",
    ),
    OptionSpec::long(
        "mix",
        ValueKind::Text,
        Some("patch=1,compile=1,clean=1,delete=1,create=1,read=1,stat=1"),
        "Weights of the random operations; an operation that is not named is not performed.",
    ),
    OptionSpec::long(
        "order",
        ValueKind::Choice(&["native", "sorted", "random"]),
        Some("native"),
        "Order in which files are written: that of the filesystem (determined by walking a \
         temporary tree), sorted by name, or random.",
    ),
    OptionSpec::new(
        "makej",
        Some('m'),
        ValueKind::Flag,
        None,
        "Instead of random operations: compile all trees, read three, delete all.",
    ),
    OptionSpec::long(
        "sync",
        ValueKind::Choice(&["each", "end", "none"]),
        Some("each"),
        "When to sync the filesystem: after each operation and within its time, at the end of \
         each phase, or never.",
    ),
    OptionSpec::long(
        "drop-caches",
        ValueKind::Choice(&["each", "none"]),
        Some("each"),
        "Whether to drop the kernel's caches before each random operation (requires root).",
    ),
    OptionSpec::long(
        "threads",
        ValueKind::Number,
        Some("1"),
        "Number of trees worked on \
                      concurrently.",
    ),
    OptionSpec::new(
        "buffer-size",
        Some('b'),
        ValueKind::Size,
        Some("1MiB"),
        "Bytes per read and write request.",
    ),
    OptionSpec::long("seed", ValueKind::Number, Some("1"), "The random seed of the whole run."),
];
