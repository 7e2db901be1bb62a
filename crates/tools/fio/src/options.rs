//! Options of fio's command line that are supported, and those added by treering.
//!
//! They are not declared with `options!`, since there would be nothing to generate: a run records
//! the job file and its settings rather than these options, and both command lines share the
//! reading of jobs, which takes what it needs from [`Settings`](treering_script::Settings).

use super::typed;
use treering_script::{ClassicPayload, OptionSpec, OptionSupport, ValueKind, WorkloadManifest};

/// Manifest of the workload: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "fio",
    aliases: &[],
    about: "Run a fio job file: reads and writes of chosen sizes at chosen offsets",
    imitates: "fio 3.33",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// Option that overrides parameters of the job file.
pub(super) const SET: &str = "set";
/// Option that selects an offered load, and its companions.
pub(super) const OFFERED_RATE: &str = "offered-rate";
pub(super) const ARRIVALS: &str = "arrivals";
pub(super) const OFFERED_SECONDS: &str = "offered-seconds";
pub(super) const WARM_UP: &str = "warm-up";
pub(super) const GRACE: &str = "grace";
pub(super) const LATE: &str = "late";

/// Names of all options of an offered load.
pub(super) const OF_OFFERED_LOAD: [&str; 6] =
    [OFFERED_RATE, ARRIVALS, OFFERED_SECONDS, WARM_UP, GRACE, LATE];
/// Seed of random file contents and arrival times.
pub(super) const SEED: &str = "seed";
/// Permits files of an earlier run in the target.
pub(super) const REUSE: &str = "reuse";
/// Works on files that are in the target, by their paths in the job file.
pub(super) const IN_PLACE: &str = "in-place";
/// Name of the operand.
pub(super) const JOB_FILE: &str = "jobfile";

/// Refuses jobs that the original warns about.
pub(super) const WARNINGS_FATAL: &str = "warnings-fatal";
/// Interval of interim reports.
pub(super) const STATUS_INTERVAL: &str = "status-interval";

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::long(
        JOB_FILE,
        ValueKind::Operands,
        None,
        "The job files, one after the other; - is standard input.",
    ),
    OptionSpec::long(
        typed::OPTION,
        ValueKind::Paths,
        None,
        "A setting of a job, as KEY=VALUE; --KEY=VALUE says the same, --name=NAME begins a job.",
    ),
    OptionSpec::long(
        "output-format",
        ValueKind::Text,
        Some("normal"),
        "Forms of the report, with commas between: normal, json, json+, terse.",
    ),
    OptionSpec::long("output", ValueKind::Path, None, "Write what is said to this file."),
    OptionSpec::long("minimal", ValueKind::Flag, None, "As --output-format=terse."),
    OptionSpec::long(
        "terse-version",
        ValueKind::Choice(&["2", "3", "4", "5"]),
        Some("3"),
        "The version of the terse form.",
    ),
    OptionSpec::long(
        "section",
        ValueKind::Paths,
        None,
        "Run only this section; may be given several times.",
    ),
    OptionSpec::long(
        "show-options",
        ValueKind::Flag,
        None,
        "Say every option of every job with its value first; with --dry-run, only that.",
    ),
    OptionSpec::long(
        WARNINGS_FATAL,
        ValueKind::Flag,
        None,
        "Refuse jobs that the original warns of.",
    ),
    OptionSpec::long(
        STATUS_INTERVAL,
        ValueKind::Text,
        None,
        "Report what was done so far each so many seconds, or 500ms, 2m.",
    ),
    OptionSpec {
        support: OptionSupport::Ignored("no progress is shown"),
        ..OptionSpec::long("eta", ValueKind::Text, None, "When to say how far it is.")
    },
    OptionSpec {
        support: OptionSupport::Ignored("no progress is shown"),
        ..OptionSpec::long("eta-newline", ValueKind::Text, None, "A new line each so many seconds.")
    },
    OptionSpec {
        support: OptionSupport::Ignored("no progress is shown"),
        ..OptionSpec::long("eta-interval", ValueKind::Text, None, "How often to say how far it is.")
    },
    OptionSpec {
        support: OptionSupport::Ignored("memory is taken as it is needed"),
        ..OptionSpec::long("alloc-size", ValueKind::Text, None, "KiB of the pool of memory.")
    },
    OptionSpec::long("append-terse", ValueKind::Flag, None, "Say it in the terse form too."),
    OptionSpec {
        support: OptionSupport::Ignored("there may be as many clones as there is memory for"),
        ..OptionSpec::long("max-jobs", ValueKind::Text, None, "How many clones there may be.")
    },
    OptionSpec::long("readonly", ValueKind::Flag, None, "Refuse jobs that write."),
    OptionSpec::long(
        "showcmd",
        ValueKind::Flag,
        None,
        "Write the job files as a command line and do nothing.",
    ),
    OptionSpec::long("parse-only", ValueKind::Flag, None, "Read the jobs and do nothing."),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        JOB_FILE,
        ValueKind::Operand,
        None,
        "The job file; its directories become directories below the target.",
    ),
    OptionSpec::long(
        "section",
        ValueKind::Paths,
        None,
        "Run only this section; may be given several times.",
    ),
    OptionSpec::long(
        "with-fio",
        ValueKind::Optional("true"),
        None,
        "Have the installed fio, or the one at this path, run the job.",
    ),
    OptionSpec::long(
        "runtime",
        ValueKind::Number,
        None,
        "Run time in seconds, for jobs that have a runtime.",
    ),
    OptionSpec::long("seed", ValueKind::Number, Some("1"), "The random seed of file contents."),
    OptionSpec::long(
        SET,
        ValueKind::Texts,
        None,
        "A parameter of the job file as KEY=VALUE, in place of what its sections say; may be given \
         several times.",
    ),
    OptionSpec::long(
        REUSE,
        ValueKind::Flag,
        None,
        "Use the files that a run with --keep has left in the directory, where there are any.",
    ),
    OptionSpec::long(
        IN_PLACE,
        ValueKind::Flag,
        None,
        "Work on files that are in the directory, by their paths in the job file; none is made, \
         enlarged or removed.",
    ),
    OptionSpec::long(
        OFFERED_RATE,
        ValueKind::Number,
        None,
        "Offer so many requests a second by the clock, in all, whether earlier ones have ended or \
         not; their latency counts from when they were due.",
    ),
    OptionSpec::long(
        ARRIVALS,
        ValueKind::Choice(&["poisson", "fixed"]),
        None,
        "With --offered-rate: at random times (poisson, the default) or at equal intervals.",
    ),
    OptionSpec::long(
        OFFERED_SECONDS,
        ValueKind::Text,
        None,
        "With --offered-rate: for how many seconds it counts; 10 when not given.",
    ),
    OptionSpec::long(
        WARM_UP,
        ValueKind::Text,
        None,
        "With --offered-rate: seconds before that, which do not count; 1 when not given.",
    ),
    OptionSpec::long(
        GRACE,
        ValueKind::Text,
        None,
        "With --offered-rate: seconds after that in which requests may still end; 1 if not given.",
    ),
    OptionSpec::long(
        LATE,
        ValueKind::Text,
        None,
        "With --offered-rate: report how many requests took longer than these times, as 5ms,1s.",
    ),
];
