//! The lines of a report of PostMark, and of the text around it.

use treering_kit::import::number::{decimal, whole};

/// Number of files, and files per second as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountAndRate {
    pub(super) count: u64,
    pub(super) per_second: u64,
}

/// Figure of one line of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReportLine {
    /// `Time:`, `Files:` or `Data:`.
    Heading,
    /// Seconds of the whole run.
    Seconds(u64),
    /// Seconds of the transactions, and transactions per second.
    Transactions {
        seconds: u64,
        per_second: u64,
    },
    Created(CountAndRate),
    CreationAlone(CountAndRate),
    Read(CountAndRate),
    Appended(CountAndRate),
    Deleted(CountAndRate),
    DeletionAlone(CountAndRate),
    /// Files created or deleted by transactions, depending on the lines before.
    Mixed(CountAndRate),
    /// Bytes read per second.
    DataRead(f64),
    /// Bytes written per second.
    DataWritten(f64),
}

/// Parses a line; `None` unless the whole line is in the format of PostMark.
pub(super) fn line(text: &str) -> Option<ReportLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Time:" | "Files:" | "Data:"] => Some(ReportLine::Heading),
        [seconds, "seconds", "total"] => whole(seconds).map(ReportLine::Seconds),
        [seconds, "seconds", "of", "transactions", rate, "per", "second)"] => {
            let (seconds, per_second) = (whole(seconds)?, whole(rate.strip_prefix('(')?)?);
            Some(ReportLine::Transactions { seconds, per_second })
        }
        ["Creation", "alone:", tail @ ..] => alone(tail).map(ReportLine::CreationAlone),
        ["Deletion", "alone:", tail @ ..] => alone(tail).map(ReportLine::DeletionAlone),
        ["Mixed", "with", "transactions:", tail @ ..] => alone(tail).map(ReportLine::Mixed),
        [count, verb, rate, "per", "second)"] => {
            let made = match *verb {
                "created" => ReportLine::Created,
                "read" => ReportLine::Read,
                "appended" => ReportLine::Appended,
                "deleted" => ReportLine::Deleted,
                _ => return None,
            };
            counted(count, rate).map(made)
        }
        [amount, unit, verb, rate, rate_unit, "per", "second)"] => {
            bytes(amount, unit)?;
            let rate = bytes(rate.strip_prefix('(')?, rate_unit)?;
            match *verb {
                "read" => Some(ReportLine::DataRead(rate)),
                "written" => Some(ReportLine::DataWritten(rate)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Parses `500 files (55 per second)`.
fn alone(words: &[&str]) -> Option<CountAndRate> {
    match words {
        [count, "files", rate, "per", "second)"] => counted(count, rate),
        _ => None,
    }
}

fn counted(count: &str, rate: &str) -> Option<CountAndRate> {
    Some(CountAndRate { count: whole(count)?, per_second: whole(rate.strip_prefix('(')?)? })
}

/// Converts an amount to bytes. Since version 1.5 the units are powers of 1024.
fn bytes(amount: &str, unit: &str) -> Option<f64> {
    let unit_bytes = match unit {
        "bytes" => 1.0,
        "kilobytes" => 1024.0,
        "megabytes" => 1_048_576.0,
        _ => return None,
    };
    decimal(amount).map(|amount| amount * unit_bytes)
}

/// Finds the version in the banner of PostMark: `PostMark v1.51 : 8/14/01`.
pub(super) fn version(text: &str) -> Option<&str> {
    let (_, tail) = text.split_once("PostMark v")?;
    let version = tail.split_whitespace().next()?;
    decimal(version).map(|_| version)
}

/// Parses a command at the prompt into names and values of parameters: `pm>set number 500`. A size
/// sets two parameters.
pub(super) fn parameters(text: &str) -> Vec<(&'static str, String)> {
    let Some((_, tail)) = text.rsplit_once("pm>") else { return Vec::new() };
    let words: Vec<&str> = tail.split_whitespace().collect();
    let values: &[(&'static str, &str)] = match words.as_slice() {
        ["set", "size", low] => &[("size-low", *low), ("size-high", *low)],
        ["set", "size", low, high] => &[("size-low", *low), ("size-high", *high)],
        ["set", "number", value] => &[("number", *value)],
        ["set", "transactions", value] => &[("transactions", *value)],
        ["set", "subdirectories", value] => &[("subdirs", *value)],
        ["set", "seed", value] => &[("seed", *value)],
        ["set", "read", value] => &[("read-size", *value)],
        ["set", "write", value] => &[("write-size", *value)],
        ["set", "bias", "read", value] => &[("bias-read", *value)],
        ["set", "bias", "create", value] => &[("bias-create", *value)],
        ["set", "buffering", "true"] => &[("buffering", "yes")],
        ["set", "buffering", "false"] => &[("buffering", "no")],
        _ => &[],
    };
    let is_known = |(name, value): &&(&'static str, &str)| {
        *name == "buffering" || whole(value).is_some_and(|value| value > 0)
    };
    values.iter().filter(is_known).map(|&(name, value)| (name, value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::{CountAndRate, ReportLine, line, parameters, version};

    #[test]
    fn lines_are_those_of_a_report() {
        let counted = |count, per_second| CountAndRate { count, per_second };
        for (text, wanted) in [
            ("Time:", ReportLine::Heading),
            ("\t14 seconds total", ReportLine::Seconds(14)),
            (
                "\t6 seconds of transactions (83 per second)",
                ReportLine::Transactions { seconds: 6, per_second: 83 },
            ),
            ("\t764 created (54 per second)", ReportLine::Created(counted(764, 54))),
            (
                "\t\tCreation alone: 500 files (100 per second)",
                ReportLine::CreationAlone(counted(500, 100)),
            ),
            (
                "Mixed with transactions: 264 files (44 per second)",
                ReportLine::Mixed(counted(264, 44)),
            ),
            ("\t2.00 megabytes read (1.50 kilobytes per second)", ReportLine::DataRead(1536.0)),
            ("\t0.000000 bytes written (0.000000 bytes per second)", ReportLine::DataWritten(0.0)),
        ] {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn foreign_lines_are_ignored() {
        for text in [
            "",
            "Time: 12",
            "-1 seconds total",
            "6 seconds of transactions (83.5 per second)",
            "764 made (54 per second)",
            "Creation alone: 500 (100 per second)",
            "2.00 gigabytes read (1.50 kilobytes per second)",
            "1e3 megabytes read (1.50 kilobytes per second)",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }

    #[test]
    fn prompt_and_first_line_give_the_options() {
        assert_eq!(version("PostMark v1.51 : 8/14/01"), Some("1.51"));
        assert_eq!(version("PostMark vX"), None);
        let pairs = parameters("pm>set size 500 500000");
        assert_eq!(pairs, [("size-low", "500".into()), ("size-high", "500000".to_owned())]);
        assert_eq!(parameters("pm>pm>set buffering false"), [("buffering", "no".to_owned())]);
        for text in ["set number 5", "pm>set number 0", "pm>set number many", "pm>run", "pm>"] {
            assert!(parameters(text).is_empty(), "{text}");
        }
    }
}
