//! Lines of compilebench 0.6: one per operation, and those of the summary.

use treering_kit::import::log::first_word;
use treering_kit::import::number::{decimal, nanoseconds, whole};

/// Parsed line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogLine {
    /// First line of the output.
    Opening { directory: String, initial_dirs: u64, runs: u64 },
    /// Line of an operation.
    Operation(OperationLine),
    /// Row of the summary.
    Row(SummaryLine),
    /// Row without runs: `no runs for …`.
    NoRuns(&'static str),
    /// Signal that ended the run.
    Caught(u64),
    /// Line without information: headings, the directory that was made.
    Furniture,
}

/// Line of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperationLine {
    /// Kind of operation: `create`, `patch`, `read` …, or `native unpatched` and the like.
    pub(super) kind: String,
    /// Name of the tree.
    pub(super) subject: String,
    /// Size of the file list in whole MiB.
    pub(super) mib: Option<u64>,
    pub(super) wall_ns: u64,
    /// Rate as printed, with two decimals.
    pub(super) mib_per_second: Option<f64>,
}

/// Row of the summary.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SummaryLine {
    /// Name of the row, one of [`TALLIES`].
    pub(super) tally: &'static str,
    pub(super) runs: u64,
    /// Mean of MB/s, or of seconds, as printed.
    pub(super) mean: f64,
    pub(super) user_seconds: f64,
    pub(super) system_seconds: f64,
}

/// Names of the summary's rows as printed, with the original's spelling.
pub(super) const TALLIES: [&str; 11] = [
    "intial create",
    "create",
    "patch",
    "compile",
    "clean",
    "read tree",
    "read compiled tree",
    "delete tree",
    "delete compiled tree",
    "stat tree",
    "stat compiled tree",
];

/// True if a row is a mean of seconds, not of MB/s.
pub(super) fn in_seconds(tally: &str) -> bool {
    tally.starts_with("delete") || tally.starts_with("stat")
}

/// First words of the lines that [`line()`] parses, apart from the rule above the summary.
const FIRST_WORDS: [&str; 16] = [
    "using", "native", "create", "patch", "compile", "clean", "read", "stat", "delete", "intial",
    "initial", "no", "run", "creating", "error", "caught",
];

/// True if a line, or the first part of a broken line, can be one of compilebench.
pub(super) fn may_begin(text: &str) -> bool {
    let first = first_word(without_comment(text));
    first.starts_with('=') || FIRST_WORDS.contains(&first)
}

/// Line without the sign of a comment, behind which results are kept in scripts and data files.
fn without_comment(text: &str) -> &str {
    text.strip_prefix("# ").unwrap_or(text)
}

/// Parses a line.
pub(super) fn line(text: &str) -> Option<LogLine> {
    let text = without_comment(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["run", "complete:"] | ["creating", _] | ["error", "on", "drop", "caches,", ..] => {
            Some(LogLine::Furniture)
        }
        [rule] if rule.len() >= 20 && rule.bytes().all(|byte| byte == b'=') => {
            Some(LogLine::Furniture)
        }
        ["caught", "signal", number] => whole(number).map(LogLine::Caught),
        ["using", "working", "directory", .., _, "intial" | "initial", "dirs", _, "runs"] => {
            opening(text, &words)
        }
        ["no", "runs", "for", tag @ ..] => tally(tag).map(LogLine::NoRuns),
        _ => row(&words).map(LogLine::Row).or_else(|| operation(&words).map(LogLine::Operation)),
    }
}

/// Parses `using working directory DIR, 30 intial dirs 100 runs`; the directory may contain blanks.
fn opening(text: &str, words: &[&str]) -> Option<LogLine> {
    let (directory, _) = text.trim().strip_prefix("using working directory ")?.rsplit_once(", ")?;
    let [.., dirs, _, _, runs, _] = words else { return None };
    let (initial_dirs, runs) = (whole(dirs)?, whole(runs)?);
    Some(LogLine::Opening { directory: directory.to_owned(), initial_dirs, runs })
}

/// Parses the forms of an operation: `KIND [dir] NAME [NMB] in S seconds (R MB/s)`, `read dir NAME
/// in S R MB/s`, and without a rate.
fn operation(words: &[&str]) -> Option<OperationLine> {
    let place = words.iter().position(|word| *word == "in")?;
    let (description, took) = (&words[..place], &words[place + 1..]);
    let (kind, subject, mib) = match description {
        ["native", list @ .., name, size] if name.starts_with("native-") => {
            let list = list.join(" ");
            let is_known = ["unpatched", "patched", "patched compiled"].contains(&list.as_str());
            (is_known.then(|| format!("native {list}"))?, name, Some(mib(size)?))
        }
        [kind @ ("create" | "patch" | "compile"), "dir", name, size] => {
            ((*kind).to_owned(), name, Some(mib(size)?))
        }
        ["clean", name, size] => ("clean".to_owned(), name, Some(mib(size)?)),
        [kind @ ("read" | "stat"), "dir", name] => ((*kind).to_owned(), name, None),
        ["delete", name] => ("delete".to_owned(), name, None),
        _ => return None,
    };
    let (seconds, rate) = match took {
        [seconds, "seconds"] if mib.is_none() && kind != "read" => (seconds, None),
        [seconds, rate, "MB/s"] if kind == "read" => (seconds, Some(decimal(rate)?)),
        [seconds, "seconds", rate, "MB/s)"] if mib.is_some() => {
            (seconds, Some(decimal(rate.strip_prefix('(')?)?))
        }
        _ => return None,
    };
    let wall_ns = nanoseconds(decimal(seconds)?)?;
    let subject = (*subject).to_owned();
    Some(OperationLine { kind, subject, mib, wall_ns, mib_per_second: rate })
}

/// Parses a size such as `222MB`.
fn mib(word: &str) -> Option<u64> {
    whole(word.strip_suffix("MB")?).filter(|mib| *mib < 1 << 40)
}

/// Parses `TAG total runs N avg A MB/s (user Us sys Ss)`.
fn row(words: &[&str]) -> Option<SummaryLine> {
    let place = words.iter().position(|word| *word == "total")?;
    let tally = tally(&words[..place])?;
    let ["total", "runs", runs, "avg", mean, unit, "(user", user, "sys", system] = words[place..]
    else {
        return None;
    };
    if unit != if in_seconds(tally) { "seconds" } else { "MB/s" } {
        return None;
    }
    Some(SummaryLine {
        tally,
        runs: whole(runs)?,
        mean: decimal(mean)?,
        user_seconds: decimal(user.strip_suffix('s')?)?,
        system_seconds: decimal(system.strip_suffix("s)")?)?,
    })
}

fn tally(words: &[&str]) -> Option<&'static str> {
    let name = words.join(" ").replace("initial create", "intial create");
    TALLIES.into_iter().find(|tally| *tally == name)
}

#[cfg(test)]
mod tests {
    use super::{LogLine, TALLIES, line, may_begin};

    #[test]
    fn every_form_is_read() {
        let Some(LogLine::Opening { directory, initial_dirs: 30, runs: 100 }) =
            line("using working directory /mnt/a b, c/, 30 intial dirs 100 runs")
        else {
            panic!()
        };
        assert_eq!(directory, "/mnt/a b, c/");
        for (text, kind, subject, mib, ns, rate) in [
            (
                "native patched compiled native-0 691MB in 35.54 seconds (19.46 MB/s)",
                "native patched compiled",
                "native-0",
                Some(691),
                35_540_000_000,
                Some(19.46),
            ),
            (
                "create dir kernel-0 222MB in 91.22 seconds (2.44 MB/s)",
                "create",
                "kernel-0",
                Some(222),
                91_220_000_000,
                Some(2.44),
            ),
            (
                "clean kernel-7 691MB in 5.16 seconds (134.03 MB/s)",
                "clean",
                "kernel-7",
                Some(691),
                5_160_000_000,
                Some(134.03),
            ),
            (
                "read dir kernel-7 in 93.36 9.85 MB/s",
                "read",
                "kernel-7",
                None,
                93_360_000_000,
                Some(9.85),
            ),
            ("stat dir kernel-2 in 19.42 seconds", "stat", "kernel-2", None, 19_420_000_000, None),
            ("delete kernel-8 in 45.20 seconds", "delete", "kernel-8", None, 45_200_000_000, None),
        ] {
            let Some(LogLine::Operation(read)) = line(text) else { panic!("{text}") };
            assert!(may_begin(text), "{text}");
            assert_eq!((read.kind.as_str(), read.subject.as_str()), (kind, subject));
            assert_eq!((read.mib, read.wall_ns, read.mib_per_second), (mib, ns, rate));
        }
        let text = "delete compiled tree total runs 4 avg 48.20 seconds (user 7.65s sys 28.60s)";
        let Some(LogLine::Row(row)) = line(text) else { panic!() };
        assert_eq!((row.tally, row.runs, row.mean), ("delete compiled tree", 4, 48.2));
        assert_eq!((row.user_seconds, row.system_seconds), (7.65, 28.6));
        assert_eq!(line("no runs for intial create"), Some(LogLine::NoRuns("intial create")));
        assert_eq!(line("caught signal 15"), Some(LogLine::Caught(15)));
    }

    #[test]
    fn prefilter_by_first_word_rejects_no_valid_line() {
        for tally in TALLIES {
            assert!(may_begin(tally), "{tally}");
        }
        for text in
            ["using working", "run complete:", "creating /m", "error on drop", "=====", "no"]
        {
            assert!(may_begin(text), "{text}");
        }
        assert!(!may_begin("") && !may_begin("[ 1.5] usb 1-1: reset"));
    }

    #[test]
    fn lines_with_a_defect_are_not_parsed() {
        for text in [
            "",
            "create dir kernel-0 222MB in 91.22 seconds",
            "create dir kernel-0 222MB in -1 seconds (2.44 MB/s)",
            "create dir kernel-0 222 in 91.22 seconds (2.44 MB/s)",
            "read dir kernel-7 in 93.36 seconds",
            "patch total runs 4 avg 48.20 seconds (user 7.65s sys 28.60s)",
            "stat tree total runs 11 avg 21.90 seconds (user 6.87s sys",
            "please delete kernel-8 in 45.20 seconds",
            "native other native-0 1MB in 1.00 seconds (1.00 MB/s)",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
