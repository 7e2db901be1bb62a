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

/// A line of the summary, in MiB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SummaryLine {
    pub(super) side: AccessSide,
    pub(super) max: f64,
    pub(super) min: f64,
    pub(super) mean: f64,
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
    /// Used share of the filesystem, in percent.
    Used(f64),
    /// Arguments of the command line.
    Command(Vec<String>),
    /// Option under its name in classic runs.
    Option(&'static str, String),
    /// Row of a test: its direction, and its rate in MiB/s.
    Row(AccessSide, f64),
    /// A line of the summary.
    Summary(SummaryLine),
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

/// Option names and line prefixes that are not imported.
const FURNITURE: [&str; 26] = [
    "Machine",
    "TestID",
    "StartTime",
    "Start time skew",
    "apiVersion",
    "test filename",
    "task offset",
    "reorder random seed",
    "clients per node",
    "memoryBuffer",
    "dataAccess",
    "GPUDirect",
    "aggregate filesize",
    "verbose",
    "Options:",
    "Results:",
    "Summary",
    "access ",
    "------",
    "Operation ",
    "remove ",
    "WARNING:",
    "stonewalling pairs",
    "Max Write:",
    "Max Read:",
    "Pairs deadline",
];

/// Reads a line.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    if let Some(tail) = text.strip_prefix("IOR-") {
        let version = tail.strip_suffix(": MPI Coordinated Test of Parallel I/O")?;
        return Some(OutputLine::Version(version.to_owned()));
    }
    if let Some(command) = text.strip_prefix("Command line").map(str::trim_start)
        && let Some(words) = command.strip_prefix(':')
    {
        let arguments = words.split_whitespace().skip(1).map(str::to_owned);
        return Some(OutputLine::Command(arguments.collect()));
    }
    if text.starts_with("FS") && text.contains("Used FS:") {
        let used = text.split("Used FS:").nth(1)?.split('%').next()?;
        return decimal(used.trim()).map(OutputLine::Used);
    }
    result(text).or_else(|| named(text)).or_else(|| {
        let is_known = FURNITURE.iter().any(|begin| text.starts_with(begin));
        (is_known || text.is_empty()).then_some(OutputLine::Furniture)
    })
}

/// A line with a name, a colon, and a value.
fn named(text: &str) -> Option<OutputLine> {
    let (name, value) = text.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    match name {
        "Began" => Some(OutputLine::Began(ctime_unix_ms(value))),
        "Finished" => Some(OutputLine::Finished(ctime_unix_ms(value))),
        "Path" => Some(OutputLine::Path(value.to_owned())),
        _ => {
            let (_, option) = OPTIONS.iter().find(|(printed, _)| *printed == name)?;
            Some(OutputLine::Option(option, value.to_owned()))
        }
    }
}

/// Parses a row of the table or of the summary.
fn result(text: &str) -> Option<OutputLine> {
    let mut words = text.split_whitespace();
    let side = match words.next()? {
        "write" => AccessSide::Write,
        "read" => AccessSide::Read,
        _ => return None,
    };
    let words: Vec<&str> = words.collect();
    // Rows of the summary have many more columns, and the interface name among them.
    if words.len() > 12 {
        let [max, min, mean] = words[..3] else { return None };
        let (max, min, mean) = (decimal(max)?, decimal(min)?, decimal(mean)?);
        return Some(OutputLine::Summary(SummaryLine { side, max, min, mean }));
    }
    // Version 3 has no IOPS and latency.
    if !matches!(words.len(), 8 | 10) {
        return None;
    }
    let numbers: Vec<f64> = words.iter().map(|word| decimal(word)).collect::<Option<_>>()?;
    numbers.first().map(|&rate| OutputLine::Row(side, rate))
}

#[cfg(test)]
mod tests {
    use super::{AccessSide, OutputLine, SummaryLine, line};

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
                OutputLine::Row(AccessSide::Write, 96.79),
            ),
            (
                "read      579.85     4096       1024.00    0.025740   0.027576   0.020654   \
                 0.027593   0   ",
                OutputLine::Row(AccessSide::Read, 579.85),
            ),
            (
                "read          579.85     528.68     554.27      25.59     579.85     528.68     \
                 554.27      25.59    0.02893         NA            NA     0      2   2    2   0     \
                 0        1         0    0      2  4194304  1048576      16.0 POSIX      0",
                OutputLine::Summary(SummaryLine {
                    side: AccessSide::Read,
                    max: 579.85,
                    min: 528.68,
                    mean: 554.27,
                }),
            ),
            ("remove    -          -          -", OutputLine::Furniture),
        ] {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
        assert_eq!(line("write to me"), None);
        assert_eq!(line("IOR-something else"), None);
    }
}
