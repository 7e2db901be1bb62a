//! Parser of mdtest's output lines.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use treering_kit::import::number::{decimal, whole};

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// Start time, in milliseconds since 1970.
    Started(Option<i64>),
    /// Version, number of ranks and number of machines.
    Launched { version: String, ranks: u64, nodes: u64 },
    /// Command line without the program's name.
    Command(Vec<String>),
    /// Test directory.
    Path(String),
    /// Used share of the filesystem, in percent, if it is a number, and the whole line.
    Used(Option<f64>, String),
    /// Number of files and directories there are to be, as the text of the line.
    Planned(String),
    /// Heading of a table.
    Table { is_time: bool, iterations: u64 },
    /// Line above the rows that names their columns; true if the ranks have a standard deviation
    /// and the iterations none, as in the versions between 3.3 and 4.0.
    Columns { ranks_deviate: bool },
    /// Row of a table.
    Row(TableRow),
    /// Items per rank when the time limit ended creation: minimum, maximum and mean.
    Wall([f64; 3]),
    /// Report of wrong data.
    WrongData,
    /// End time, in milliseconds since 1970.
    Finished(Option<i64>),
    /// Line of mdtest that is not imported.
    Furniture,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableRow {
    /// Task kind, as native runs name it.
    pub(super) kind: &'static str,
    /// The greatest, the least, the mean and the standard deviation over the iterations.
    pub(super) numbers: [f64; 4],
    /// The greatest, the least, the mean and the standard deviation over the ranks, in tables that
    /// have them. NaN stands for a number that the table lacks.
    pub(super) of_ranks: Option<[f64; 4]>,
    /// True if the row covers only what was done before the time was over.
    pub(super) is_stonewall: bool,
}

impl TableRow {
    /// Row of seven numbers of which the fourth is of the ranks.
    pub(super) fn with_deviation_of_ranks(self) -> Self {
        let [first, second, third, fourth] = self.numbers;
        let of_ranks = self.of_ranks.map(|[most, least, middle, _]| [most, least, middle, first]);
        Self { numbers: [second, third, fourth, f64::NAN], of_ranks, ..self }
    }
}

/// Name of the row that covers the creation of files before the time was over.
const STONEWALL: &str = "File create (stonewall)";
/// Row names in mdtest's versions, and the task kinds here.
const TESTS: [(&str, &str); 11] = [
    (STONEWALL, "file-create"),
    ("Directory creation", "dir-create"),
    ("Directory stat", "dir-stat"),
    ("Directory rename", "dir-rename"),
    ("Directory removal", "dir-remove"),
    ("File creation", "file-create"),
    ("File stat", "file-stat"),
    ("File read", "file-read"),
    ("File removal", "file-remove"),
    ("Tree creation", "tree-create"),
    ("Tree removal", "tree-remove"),
];

/// Prefixes of lines that are not imported.
const FURNITURE: [&str; 11] = [
    "stonewall rank ",
    "V-",
    "WARNING: ",
    "Nodemap: ",
    "random seed: ",
    "---------",
    "Per process result",
    "iteration: ",
    "Test Directory ",
    "Test File ",
    "Test Tree ",
];

/// A time as mdtest and ior print it: `11/24/2026 06:00:27`, taken as UTC.
fn unix_ms(text: &str) -> Option<i64> {
    let when = DateTime::strptime("%m/%d/%Y %H:%M:%S", text.trim()).ok()?;
    Some(when.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// Reads a line.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    // Results are also kept as comments of the script that reads them.
    let text = text.trim().trim_start_matches('#').trim_start();
    let between = |before: &str| text.strip_prefix(before)?.strip_suffix("--");
    if let Some(when) = between("-- started at ") {
        return Some(OutputLine::Started(unix_ms(when)));
    }
    if let Some(when) = between("-- finished at ") {
        return Some(OutputLine::Finished(unix_ms(when)));
    }
    if let Some(tail) = text.strip_prefix("Command line used: ") {
        return Some(OutputLine::Command(words(tail)));
    }
    let of_path = text.strip_prefix("Path").map(str::trim_start);
    if let Some(path) = of_path.and_then(|tail| tail.strip_prefix(':')) {
        return Some(OutputLine::Path(path.trim().to_owned()));
    }
    if text.starts_with("FS") && text.contains("Used FS:") {
        let used = text.split("Used FS:").nth(1)?.split('%').next()?;
        return Some(OutputLine::Used(decimal(used.trim()), text.to_owned()));
    }
    launched(text)
        .or_else(|| table(text))
        .or_else(|| columns(text))
        .or_else(|| row(text).map(OutputLine::Row))
        .or_else(|| wall(text))
        .or_else(|| furniture(text))
}

/// `mdtest-4.1.0 was launched with 4 total task(s) on 1 node(s)`
fn launched(text: &str) -> Option<OutputLine> {
    let (version, tail) = text.strip_prefix("mdtest-")?.split_once(" was launched with ")?;
    let (ranks, tail) = tail.split_once(" total task(s) on ")?;
    let nodes = tail.split_whitespace().next()?;
    Some(OutputLine::Launched {
        version: version.to_owned(),
        ranks: whole(ranks)?,
        nodes: whole(nodes)?,
    })
}

/// Parses a table heading: `SUMMARY rate (in ops/sec): (of 2 iterations)`, or that of an older
/// version.
fn table(text: &str) -> Option<OutputLine> {
    let tail = text.strip_prefix("SUMMARY")?;
    let (title, tail) = tail.split_once("(of ")?;
    let iterations = whole(tail.strip_suffix(" iterations)")?)?;
    let title = title.trim().trim_end_matches(':');
    match title {
        "" | "rate" | "rate (in ops/sec)" => Some(OutputLine::Table { is_time: false, iterations }),
        "time" | "time (in ms/op)" => Some(OutputLine::Table { is_time: true, iterations }),
        _ => None,
    }
}

/// Parses the line that names the columns.
fn columns(text: &str) -> Option<OutputLine> {
    let tail = text.strip_prefix("Operation ")?;
    let of_ranks = tail.split_once("per Iteration:").map_or("", |(of_ranks, _)| of_ranks);
    Some(OutputLine::Columns { ranks_deviate: of_ranks.contains("Std Dev") })
}

/// Parses a row: a name, and four or seven numbers.
fn row(text: &str) -> Option<TableRow> {
    let (name, kind) = TESTS.into_iter().find(|(name, _)| text.starts_with(name))?;
    let tail = text[name.len()..].trim_start().trim_start_matches(':');
    let numbers: Vec<f64> = tail.split_whitespace().map(number).collect::<Option<_>>()?;
    let (of_ranks, numbers) = match *numbers.as_slice() {
        [max, min, mean, deviation] => (None, [max, min, mean, deviation]),
        [most, least, middle, max, min, mean, deviation] => {
            (Some([most, least, middle, f64::NAN]), [max, min, mean, deviation])
        }
        _ => return None,
    };
    Some(TableRow { kind, numbers, of_ranks, is_stonewall: name == STONEWALL })
}

fn number(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "nan" | "-nan" | "NA" => Some(f64::NAN),
        _ => decimal(text),
    }
}

/// `Continue stonewall hit min: 98 max: 120 avg: 104.5`
fn wall(text: &str) -> Option<OutputLine> {
    if text.starts_with("ERROR: verifying the data on read") {
        return Some(OutputLine::WrongData);
    }
    let words: Vec<&str> =
        text.strip_prefix("Continue stonewall hit ")?.split_whitespace().collect();
    let ["min:", least, "max:", most, "avg:", mean] = words[..] else { return None };
    Some(OutputLine::Wall([decimal(least)?, decimal(most)?, decimal(mean)?]))
}

fn furniture(text: &str) -> Option<OutputLine> {
    let is_count = || {
        let mut words = text.split_whitespace();
        let ranks = words.next().and_then(whole);
        ranks.is_some() && words.next() == Some("tasks,") && text.contains("file")
            || text.ends_with(" directories") && text.contains(" tasks, ")
    };
    if is_count() {
        return Some(OutputLine::Planned(text.to_owned()));
    }
    let is_known = FURNITURE.iter().any(|begin| text.starts_with(begin));
    (is_known || text.is_empty()).then_some(OutputLine::Furniture)
}

/// The words behind the program's name, each in quotation marks in newer versions.
fn words(text: &str) -> Vec<String> {
    if !text.contains(" '") {
        return text.split_whitespace().skip(1).map(str::to_owned).collect();
    }
    let tail = text.split_once(" '").map_or("", |(_, tail)| tail);
    tail.trim_end_matches('\'').split("' '").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, TableRow, line, words};

    #[test]
    fn lines_of_old_and_new_versions_are_parsed() {
        for (text, wanted) in [
            ("-- started at 11/24/2026 06:00:27 --", OutputLine::Started(Some(1_795_500_027_000))),
            (
                "mdtest-4.1.0+dev was launched with 4 total task(s) on 1 node(s)",
                OutputLine::Launched { version: "4.1.0+dev".to_owned(), ranks: 4, nodes: 1 },
            ),
            ("Path                : ./out", OutputLine::Path("./out".to_owned())),
            (
                "FS: 11.8 GiB   Used FS: 1.5%   Inodes: 2.9 Mi   Used Inodes: 0.0%",
                OutputLine::Used(
                    Some(1.5),
                    "FS: 11.8 GiB   Used FS: 1.5%   Inodes: 2.9 Mi   Used Inodes: 0.0%".to_owned(),
                ),
            ),
            ("SUMMARY: (of 3 iterations)", OutputLine::Table { is_time: false, iterations: 3 }),
            (
                "SUMMARY time (in ms/op): (of 2 iterations)",
                OutputLine::Table { is_time: true, iterations: 2 },
            ),
            (
                "   File creation     :       1.5   1.0   1.25   0.1",
                OutputLine::Row(TableRow {
                    kind: "file-create",
                    numbers: [1.5, 1.0, 1.25, 0.1],
                    of_ranks: None,
                    is_stonewall: false,
                }),
            ),
            (
                "Continue stonewall hit min: 98 max: 120 avg: 104.5",
                OutputLine::Wall([98.0, 120.0, 104.5]),
            ),
            (
                "4 tasks, 80 files/directories",
                OutputLine::Planned("4 tasks, 80 files/directories".to_owned()),
            ),
        ] {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
        assert_eq!(line("File creation is slow today"), None);
        assert_eq!(line("SUMMARY of the week"), None);
    }

    #[test]
    fn command_lines_are_split_into_words() {
        assert_eq!(words("/a b/mdtest '-n' '10 0'"), ["-n", "10 0"]);
        assert_eq!(words("mdtest -n 10 -F"), ["-n", "10", "-F"]);
        assert!(words("mdtest").is_empty());
    }
}
