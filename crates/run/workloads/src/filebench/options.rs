//! The options of filebench's command line, and our own.

use treering_script::{ClassicPayload, Manifest, OptionSpec, Support, ValueKind};

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

const fn spec(
    name: &'static str,
    value: ValueKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> OptionSpec {
    OptionSpec { name, short: None, value, default, doc, support: Support::Full }
}

/// The operand's name.
pub(super) const WORKLOAD: &str = "workload";

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec { short: Some('f'), ..spec("file", ValueKind::Path, None, "The workload file.") },
    OptionSpec {
        short: Some('c'),
        ..spec(
            "cvars",
            ValueKind::Optional("all"),
            None,
            "Say which custom variables there are, or the parameters of this one.",
        )
    },
    spec("seed", ValueKind::Number, None, "The seed of all draws; the original has none."),
    SIZES,
    QUEUE,
];

const SIZES: OptionSpec = spec(
    "sizes",
    ValueKind::Choice(&["exact", "gamma"]),
    Some("exact"),
    "How a fixed size of a fileset is meant: exactly, as in filebench 1.5, or as the mean of a gamma \
     distribution, as in 1.4.",
);

const QUEUE: OptionSpec = spec(
    "queue",
    ValueKind::Choice(&["io_uring", "libaio"]),
    Some("io_uring"),
    "What carries out the requests of aiowrite.",
);

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    spec(
        WORKLOAD,
        ValueKind::Operand,
        None,
        "The name of a personality, or the path of a workload file; its filesets become directories \
         below the target.",
    ),
    spec(
        "set",
        ValueKind::Paths,
        None,
        "NAME=VALUE: what the variable $NAME of the file is instead; may be given several times.",
    ),
    spec("files", ValueKind::Number, None, "As --set nfiles=N: how many files there are."),
    spec("threads", ValueKind::Number, None, "As --set nthreads=N: how many threads work."),
    spec("seconds", ValueKind::Number, None, "Seconds that it runs, instead of the file's."),
    SIZES,
    QUEUE,
    spec("seed", ValueKind::Number, Some("1"), "The seed of all draws."),
];
