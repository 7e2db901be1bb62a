//! The options of dbench, each declared once: those of 4.00 and 5.0, and the native ones.

use treering_script::{ClassicPayload, Manifest, OptionSpec, Support, ValueKind};

/// dbench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "dbench",
    aliases: &[],
    about: "Replays a load of SMB operations by many clients: lookups, small files, many fsyncs",
    imitates: "dbench 4.00",
    classic: CLASSIC,
    native: NATIVE,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operands' names.
pub(super) const PROCESSES: &str = "nprocs";
pub(super) const LOADFILE: &str = "loadfile";

const fn other_backend(name: &'static str, doc: &'static str) -> OptionSpec {
    let why = "only load files for files are played, not those of other backends";
    OptionSpec {
        support: Support::Rejected(why),
        ..OptionSpec::new(name, None, ValueKind::Text, None, doc)
    }
}

const LINES: OptionSpec = OptionSpec::long(
    "lines",
    ValueKind::Text,
    None,
    "Play only these lines of the load file, as 601-4173.",
);
const FSYNC: OptionSpec =
    OptionSpec::new("fsync", Some('F'), ValueKind::Flag, None, "Fsync after each write.");
const SYNC: OptionSpec =
    OptionSpec::new("sync", Some('s'), ValueKind::Flag, None, "Open files with O_SYNC.");
const SYNC_DIR: OptionSpec = OptionSpec::new(
    "sync-dir",
    Some('S'),
    ValueKind::Flag,
    None,
    "Sync the directory after each unlink, rmdir and rename.",
);
const XATTR: OptionSpec = OptionSpec::new(
    "xattr",
    Some('x'),
    ValueKind::Flag,
    None,
    "Read and write an extended attribute with each open and each change of attributes.",
);
const NO_RESOLVE: OptionSpec = OptionSpec::long(
    "no-resolve",
    ValueKind::Flag,
    None,
    "Do not read a directory for a name that is not there.",
);
const RATE: OptionSpec = OptionSpec::new(
    "target-rate",
    Some('R'),
    ValueKind::Text,
    None,
    "Megabytes per second that each client reads and writes at most.",
);

/// Options of the classic command line.
pub(super) const CLASSIC: &[OptionSpec] = &[
    OptionSpec::long(PROCESSES, ValueKind::Operand, None, "How many processes play the load."),
    OptionSpec::new(
        "timelimit",
        Some('t'),
        ValueKind::Number,
        Some("600"),
        "Seconds that are measured, after the warm-up.",
    ),
    OptionSpec::long(
        "warmup",
        ValueKind::Number,
        None,
        "Seconds of warm-up; without it, a fifth of the time.",
    ),
    OptionSpec::new(
        LOADFILE,
        Some('c'),
        ValueKind::Path,
        Some("/usr/share/dbench/client.txt"),
        "The load file, or several with commas between, one for each process.",
    ),
    OptionSpec::new(
        "directory",
        Some('D'),
        ValueKind::Path,
        Some("."),
        "Where the clients work, below its directory clients.",
    ),
    RATE,
    SYNC,
    SYNC_DIR,
    FSYNC,
    XATTR,
    NO_RESOLVE,
    OptionSpec::long(
        "clients-per-process",
        ValueKind::Number,
        Some("1"),
        "Clients of each process: it plays each line for all of them in turn.",
    ),
    OptionSpec::long(
        "one-byte-write-fix",
        ValueKind::Flag,
        None,
        "Make a file longer by a byte without writing it; leave a byte that is there.",
    ),
    OptionSpec::long(
        "stat-check",
        ValueKind::Flag,
        None,
        "Leave out calls that would change nothing.",
    ),
    OptionSpec::long("fake-io", ValueKind::Flag, None, "Count the bytes of reads and writes only."),
    OptionSpec::long("skip-cleanup", ValueKind::Flag, None, "Leave the clients' files at the end."),
    OptionSpec::long("per-client-results", ValueKind::Flag, None, "Also a table for each client."),
    OptionSpec::long("run-once", ValueKind::Flag, None, "End when each client has played it once."),
    OptionSpec::long(
        "machine-readable",
        ValueKind::Flag,
        None,
        "Lines for other programs, as 5.0.",
    ),
    OptionSpec::long(
        "show-execute-time",
        ValueKind::Flag,
        None,
        "At the end, how long each pass of the load file took.",
    ),
    LINES,
    OptionSpec::long(
        "clients-as",
        ValueKind::Choice(&["processes", "threads"]),
        Some("processes"),
        "What a client is.",
    ),
    OptionSpec::long("seed", ValueKind::Number, None, "The seed of random numbers and strings."),
    OptionSpec {
        support: Support::Approximate("fileio is all there is"),
        ..OptionSpec::new(
            "backend",
            Some('B'),
            ValueKind::Choice(&["fileio"]),
            Some("fileio"),
            "What the load is played against.",
        )
    },
    OptionSpec {
        support: Support::Ignored("it speaks of other backends"),
        ..OptionSpec::long("trunc-io", ValueKind::Number, None, "Move at most so many bytes.")
    },
    OptionSpec {
        support: Support::Rejected("there is no tbench here, nothing goes over a network"),
        ..OptionSpec::new("tcp-options", Some('T'), ValueKind::Text, None, "Options of sockets.")
    },
    other_backend("server", "The server of tbench, and of SMB."),
    other_backend("nfs", "The NFS server."),
    other_backend("block", "The block device."),
    other_backend("scsi", "The SCSI device."),
    other_backend("iscsi", "The iSCSI target."),
    other_backend("smb", "The SMB share."),
];

/// Options of the native command line and of plans.
pub(super) const NATIVE: &[OptionSpec] = &[
    OptionSpec::long(
        LOADFILE,
        ValueKind::Operand,
        None,
        "The load file; without it, one that is made by --load-seed and --blocks.",
    ),
    OptionSpec::new(
        "clients",
        Some('n'),
        ValueKind::Number,
        Some("4"),
        "Clients that play side by side.",
    ),
    OptionSpec::new("time", Some('t'), ValueKind::Number, Some("60"), "Seconds that are measured."),
    OptionSpec::long(
        "warmup",
        ValueKind::Number,
        None,
        "Seconds before them; without it, a fifth of the time.",
    ),
    OptionSpec::long(
        "passes",
        ValueKind::Number,
        None,
        "End when each client has played the load so often, instead of after a time.",
    ),
    LINES,
    OptionSpec::long(
        "fill-lines",
        ValueKind::Text,
        None,
        "Lines that each client plays once before, which make its files, as 1-600.",
    ),
    OptionSpec::long(
        "load-seed",
        ValueKind::Number,
        Some("1"),
        "The seed of the load that is made where none is named.",
    ),
    OptionSpec::long(
        "blocks",
        ValueKind::Number,
        Some("4"),
        "How many blocks of about 3550 operations that load has.",
    ),
    RATE,
    SYNC,
    SYNC_DIR,
    FSYNC,
    XATTR,
    NO_RESOLVE,
    OptionSpec::long(
        "clients-as",
        ValueKind::Choice(&["threads", "processes"]),
        Some("threads"),
        "What a client is.",
    ),
    OptionSpec::long(
        "seed",
        ValueKind::Number,
        Some("1"),
        "The seed of random numbers and strings.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::CLASSIC;

    #[test]
    fn every_letter_of_the_original_is_there() {
        let letters: HashSet<char> = CLASSIC.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "tcDTRsSFxB".chars().collect());
    }
}
