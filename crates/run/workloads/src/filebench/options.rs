//! The options of filebench's command line, and our own.

use treering_script::{ClassicPayload, Manifest, OptionSpec, ValueKind};

/// Filebench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "filebench",
    aliases: &[],
    about: "Runs a workload of filebench: threads of flowops over filesets, as webproxy or varmail",
    imitates: "filebench 1.5-alpha3",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operand's name.
pub(super) const WORKLOAD: &str = "workload";

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec {
        short: Some('f'),
        ..OptionSpec::long("file", ValueKind::Path, None, "The workload file.")
    },
    OptionSpec {
        short: Some('c'),
        ..OptionSpec::long(
            "cvars",
            ValueKind::Optional("all"),
            None,
            "Say which custom variables there are, or the parameters of this one.",
        )
    },
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        None,
        "The seed of all draws; the original has none.",
    ),
    SIZES,
    QUEUE,
];

const SIZES: OptionSpec = OptionSpec::long(
    "sizes",
    ValueKind::Choice(&["exact", "gamma"]),
    Some("exact"),
    "How a fixed size of a fileset is meant: exactly, as in filebench 1.5, or as the mean of a gamma \
     distribution, as in 1.4.",
);

const QUEUE: OptionSpec = OptionSpec::long(
    "queue",
    ValueKind::Choice(&["io_uring", "libaio"]),
    Some("io_uring"),
    "What carries out the requests of aiowrite.",
);

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        WORKLOAD,
        ValueKind::Operand,
        None,
        "The name of a personality, or the path of a workload file; its filesets become directories \
         below the target.",
    ),
    OptionSpec::long(
        "set",
        ValueKind::Paths,
        None,
        "NAME=VALUE: what the variable $NAME of the file is instead; may be given several times.",
    ),
    OptionSpec::long(
        "files",
        ValueKind::Number,
        None,
        "As --set nfiles=N: how many files there are.",
    ),
    OptionSpec::long(
        "threads",
        ValueKind::Number,
        None,
        "As --set nthreads=N: how many threads work.",
    ),
    OptionSpec::long(
        "seconds",
        ValueKind::Number,
        None,
        "Seconds that it runs, instead of the file's.",
    ),
    SIZES,
    QUEUE,
    OptionSpec::long("seed", ValueKind::Number, Some("1"), "The seed of all draws."),
];
