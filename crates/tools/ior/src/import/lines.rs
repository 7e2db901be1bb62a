//! Parser of ior's output lines.

use treering_kit::import::number::{ctime_unix_ms, decimal};

/// Direction of a test: write or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessSide {
    Write,
    Read,
}

impl AccessSide {
    /// The kind of task, as in native runs.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// Row of the table: one repetition of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableRow {
    pub(super) side: AccessSide,
    pub(super) mib_per_second: f64,
    pub(super) operations_per_second: Option<f64>,
    pub(super) latency_seconds: Option<f64>,
    pub(super) block_kib: f64,
    pub(super) transfer_kib: f64,
    pub(super) open_seconds: f64,
    pub(super) transfers_seconds: f64,
    pub(super) close_seconds: f64,
    pub(super) total_seconds: f64,
}

/// Row of the summary: the words under its names of columns, without options.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SummaryRow {
    pub(super) side: AccessSide,
    pub(super) words: Vec<String>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// Version line, the first of every output.
    Version(String),
    /// Start time, in milliseconds since 1970.
    Began(Option<i64>),
    /// End time, in milliseconds since 1970.
    Finished(Option<i64>),
    /// The file.
    Path(String),
    /// Used share of the filesystem, in percent, and the whole line.
    Used(f64, String),
    /// Arguments of the command line.
    Command(Vec<String>),
    /// Option under its name in classic runs.
    Option(&'static str, String),
    /// Fact about the run under its name: the text of the line.
    Fact(&'static str, String),
    /// Names of the columns of the table.
    Heading,
    /// Row of a test.
    Row(TableRow),
    /// Time of removing the files, in seconds.
    Removed(f64),
    /// Names of the columns of the summary, behind that of the operation.
    Columns(Vec<String>),
    /// Row of the summary.
    Summary(SummaryRow),
    /// Line of ior that is not imported.
    Furniture,
}

/// Option names as printed, and as in classic runs.
const OPTIONS: [(&str, &str); 13] = [
    ("api", "api"),
    ("access", "access"),
    ("type", "type"),
    ("segments", "segments"),
    ("ordering in a file", "ordering"),
    ("ordering inter file", "reordering"),
    ("nodes", "nodes"),
    ("tasks", "ranks"),
    ("repetitions", "repetitions"),
    ("xfersize", "transfer"),
    ("blocksize", "block"),
    ("stonewallingTime", "deadline"),
    ("stoneWallingWearOut", "wear-out"),
];

/// Names of options that others determine, or that a machine or a version of ior has, and their
/// facts.
const FACTS: [(&str, &str); 11] = [
    ("pattern", "import.pattern"),
    ("Participating tasks", "import.participating_tasks"),
    ("clients", "import.clients"),
    ("apiVersion", "import.api_version"),
    ("task offset", "import.task_offset"),
    ("reorder random seed", "import.reorder_seed"),
    ("clients per node", "import.clients_per_node"),
    ("aggregate filesize", "import.aggregate_size"),
    ("Start time skew across all tasks", "import.start_skew"),
    ("TestID", "import.test"),
    ("verbose", "import.verbose"),
];
/// Fact with the line about the space and the inodes of the filesystem.
pub(super) const SPACE_FACT: &str = "import.space";
/// Beginnings of lines that become facts as they stand.
const TOLD: [(&str, &str); 2] = [
    ("stonewalling pairs accessed ", "import.stonewall_pairs"),
    ("WARNING: Using actual aggregate bytes moved", "import.bytes_moved"),
];

/// Option names and line prefixes that are not imported.
const FURNITURE: [&str; 21] = [
    "Machine",
    "hints passed to ",
    "hints returned from ",
    "}",
    "#File Hits Dist:",
    "Commencing ",
    "Using ",
    "ior WARNING:",
    "StartTime",
    "test filename",
    "memoryBuffer",
    "dataAccess",
    "GPUDirect",
    "Options:",
    "Results:",
    "Summary",
    "------",
    "WARNING:",
    "Max Write:",
    "Max Read:",
    "Pairs deadline",
];

/// Reads a line.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    // Results are also kept as comments of the script that made them.
    let text = text.strip_prefix("# ").map_or(text, str::trim_start);
    if let Some(tail) = text.strip_prefix("IOR-") {
        let version = tail.strip_suffix(": MPI Coordinated Test of Parallel I/O")?;
        return Some(OutputLine::Version(version.to_owned()));
    }
    let command = text.strip_prefix("Command line").map(str::trim_start);
    let command = command.map(|tail| tail.strip_prefix("used").unwrap_or(tail));
    if let Some(words) = command.and_then(|tail| tail.strip_prefix(':')) {
        let arguments = words.split_whitespace().skip(1).map(str::to_owned);
        return Some(OutputLine::Command(arguments.collect()));
    }
    if text.starts_with("FS") && text.contains("Used FS:") {
        let used = text.split("Used FS:").nth(1)?.split('%').next()?;
        // Filesystems also report less than nothing, or no number.
        let used = decimal(used.trim());
        return Some(match used {
            Some(used) => OutputLine::Used(used, text.to_owned()),
            None => OutputLine::Fact(SPACE_FACT, text.to_owned()),
        });
    }
    if let Some((begin, fact)) = TOLD.iter().find(|(begin, _)| text.starts_with(begin)) {
        let tail = text[begin.len()..].trim_start_matches([' ', '=']);
        return Some(OutputLine::Fact(fact, tail.to_owned()));
    }
    if text.starts_with("access ") && text.contains("bw(MiB/s)") {
        return Some(OutputLine::Heading);
    }
    if let Some(names) = text.strip_prefix("Operation ").filter(|names| names.contains("(MiB)")) {
        let names = names.split_whitespace().map(str::to_owned).collect();
        return Some(OutputLine::Columns(names));
    }
    result(text).or_else(|| named(text)).or_else(|| {
        let is_place = text.starts_with("task ") && text.contains(" on ");
        let is_of_rank = text.contains(": stonewalling pairs accessed: ");
        let is_known =
            is_place || is_of_rank || FURNITURE.iter().any(|begin| text.starts_with(begin));
        (is_known || text.is_empty()).then_some(OutputLine::Furniture)
    })
}

/// A line with a name, a colon or an equals sign, and a value.
fn named(text: &str) -> Option<OutputLine> {
    let (name, value) = text.split_once([':', '='])?;
    let (name, value) = (name.trim(), value.trim());
    match name {
        _ if name.starts_with("Test ") && name.ends_with(" started") => Some(OutputLine::Furniture),
        "Began" => Some(OutputLine::Began(ctime_unix_ms(value))),
        "Finished" => Some(OutputLine::Finished(ctime_unix_ms(value))),
        "Path" => Some(OutputLine::Path(value.to_owned())),
        _ => {
            if let Some((_, fact)) = FACTS.iter().find(|(printed, _)| *printed == name) {
                return Some(OutputLine::Fact(fact, value.to_owned()));
            }
            if let Some((_, option)) = OPTIONS.iter().find(|(printed, _)| *printed == name) {
                return Some(OutputLine::Option(option, value.to_owned()));
            }
            // MPI-IO lists its hints, like `cb_buffer_size = 16777216`.
            let is_hint = text.contains(" = ")
                && name.contains('_')
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            is_hint.then(|| OutputLine::Fact("import.hint", text.to_owned()))
        }
    }
}

/// Parses a row of the table or of the summary.
fn result(text: &str) -> Option<OutputLine> {
    let mut words = text.split_whitespace();
    let side = match words.next()? {
        "write" => AccessSide::Write,
        "read" => AccessSide::Read,
        "remove" => return removed(&words.collect::<Vec<_>>()),
        _ => return None,
    };
    let words: Vec<&str> = words.collect();
    // Rows of the summary have many more columns, and the interface name among them.
    if words.len() > 12 {
        decimal(words[0])?;
        let words = words.into_iter().map(str::to_owned).collect();
        return Some(OutputLine::Summary(SummaryRow { side, words }));
    }
    let numbers: Vec<f64> = words.iter().map(|word| decimal(word)).collect::<Option<_>>()?;
    // Version 3 has no IOPS and latency.
    let (mib_per_second, of_transfers, tail) = match *numbers.as_slice() {
        [rate, ref tail @ ..] if tail.len() == 7 => (rate, None, tail),
        [rate, ops, latency, ref tail @ ..] if tail.len() == 7 => {
            (rate, Some((ops, latency)), tail)
        }
        _ => return None,
    };
    // The number of the repetition is last.
    let [block_kib, transfer_kib, ref times @ ..] = *tail else { return None };
    let [open_seconds, transfers_seconds, close_seconds, total_seconds, _] = *times else {
        return None;
    };
    Some(OutputLine::Row(TableRow {
        side,
        mib_per_second,
        operations_per_second: of_transfers.map(|(ops, _)| ops),
        latency_seconds: of_transfers.map(|(_, latency)| latency),
        block_kib,
        transfer_kib,
        open_seconds,
        transfers_seconds,
        close_seconds,
        total_seconds,
    }))
}

/// `remove - - - - - - - 0.000123 0`
fn removed(words: &[&str]) -> Option<OutputLine> {
    let seconds = words.iter().copied().find(|word| *word != "-");
    match seconds {
        Some(seconds) => decimal(seconds).map(OutputLine::Removed),
        None => Some(OutputLine::Furniture),
    }
}

#[cfg(test)]
mod tests {
    use super::{AccessSide, OutputLine, SummaryRow, TableRow, line};

    const WRITTEN: TableRow = TableRow {
        side: AccessSide::Write,
        mib_per_second: 96.79,
        operations_per_second: Some(96.8),
        latency_seconds: Some(0.015_228),
        block_kib: 4096.0,
        transfer_kib: 1024.0,
        open_seconds: 0.000_019,
        transfers_seconds: 0.165_284,
        close_seconds: 0.043_472,
        total_seconds: 0.165_31,
    };

    #[test]
    fn lines_of_versions_3_and_4_are_parsed() {
        for (text, wanted) in [
            (
                "IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O",
                OutputLine::Version("4.1.0+dev".to_owned()),
            ),
            (
                "Began               : Tue Nov 24 06:40:34 2026",
                OutputLine::Began(Some(1_795_502_434_000)),
            ),
            ("xfersize            : 1 MiB", OutputLine::Option("transfer", "1 MiB".to_owned())),
            (
                "write     96.79      96.80      0.015228    4096       1024.00    0.000019   \
                 0.165284   0.043472   0.165310   0   ",
                OutputLine::Row(WRITTEN),
            ),
            (
                "read      579.85     4096       1024.00    0.025740   0.027576   0.020654   \
                 0.027593   0   ",
                OutputLine::Row(TableRow {
                    side: AccessSide::Read,
                    mib_per_second: 579.85,
                    operations_per_second: None,
                    latency_seconds: None,
                    block_kib: 4096.0,
                    transfer_kib: 1024.0,
                    open_seconds: 0.025_74,
                    transfers_seconds: 0.027_576,
                    close_seconds: 0.020_654,
                    total_seconds: 0.027_593,
                }),
            ),
            ("remove    -          -          -", OutputLine::Furniture),
        ] {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
        let summary = "read 579.85 528.68 554.27 25.59 0.02893 0 2 2 2 0 0 1 0 0 2 4194304 POSIX 0";
        let words = summary.split(' ').skip(1).map(str::to_owned).collect();
        let summary_row = OutputLine::Summary(SummaryRow { side: AccessSide::Read, words });
        assert_eq!(line(summary), Some(summary_row));
        assert_eq!(line("remove - - - - 0.25 0"), Some(OutputLine::Removed(0.25)));
        assert_eq!(line("write to me"), None);
        assert_eq!(line("IOR-something else"), None);
    }
}
