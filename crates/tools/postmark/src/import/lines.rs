//! The lines of a report of PostMark, and of the text around it.

use treering_kit::import::number::{decimal, whole};

/// Number of files, and files per second as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) count: u64,
    pub(super) per_second: u64,
}

/// Figure of one line of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Line {
    /// `Time:`, `Files:` or `Data:`.
    Heading,
    /// Seconds of the whole run.
    Seconds(u64),
    /// Seconds of the transactions, and transactions per second.
    Transactions {
        seconds: u64,
        per_second: u64,
    },
    Created(Counted),
    CreationAlone(Counted),
    Read(Counted),
    Appended(Counted),
    Deleted(Counted),
    DeletionAlone(Counted),
    /// Files created or deleted by transactions, depending on the lines before.
    Mixed(Counted),
    /// Bytes read per second.
    DataRead(f64),
    /// Bytes written per second.
    DataWritten(f64),
}

/// Parses a line; `None` unless the whole line is in the format of PostMark.
pub(super) fn line(text: &str) -> Option<Line> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Time:" | "Files:" | "Data:"] => Some(Line::Heading),
        [seconds, "seconds", "total"] => whole(seconds).map(Line::Seconds),
        [seconds, "seconds", "of", "transactions", rate, "per", "second)"] => {
            let (seconds, per_second) = (whole(seconds)?, whole(rate.strip_prefix('(')?)?);
            Some(Line::Transactions { seconds, per_second })
        }
        ["Creation", "alone:", rest @ ..] => alone(rest).map(Line::CreationAlone),
        ["Deletion", "alone:", rest @ ..] => alone(rest).map(Line::DeletionAlone),
        ["Mixed", "with", "transactions:", rest @ ..] => alone(rest).map(Line::Mixed),
        [count, what, rate, "per", "second)"] => {
            let made = match *what {
                "created" => Line::Created,
                "read" => Line::Read,
                "appended" => Line::Appended,
                "deleted" => Line::Deleted,
                _ => return None,
            };
            counted(count, rate).map(made)
        }
        [amount, unit, what, rate, rate_unit, "per", "second)"] => {
            bytes(amount, unit)?;
            let rate = bytes(rate.strip_prefix('(')?, rate_unit)?;
            match *what {
                "read" => Some(Line::DataRead(rate)),
                "written" => Some(Line::DataWritten(rate)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Parses `500 files (55 per second)`.
fn alone(words: &[&str]) -> Option<Counted> {
    match words {
        [count, "files", rate, "per", "second)"] => counted(count, rate),
        _ => None,
    }
}

fn counted(count: &str, rate: &str) -> Option<Counted> {
    Some(Counted { count: whole(count)?, per_second: whole(rate.strip_prefix('(')?)? })
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
    let (_, rest) = text.split_once("PostMark v")?;
    let version = rest.split_whitespace().next()?;
    decimal(version).map(|_| version)
}

/// Parses a command at the prompt into names and values of parameters: `pm>set number 500`. A size
/// sets two parameters.
pub(super) fn parameters(text: &str) -> Vec<(&'static str, String)> {
    let Some((_, rest)) = text.rsplit_once("pm>") else { return Vec::new() };
    let words: Vec<&str> = rest.split_whitespace().collect();
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
    use super::{Counted, Line, line, parameters, version};

    #[test]
    fn lines_are_those_of_a_report() {
        let counted = |count, per_second| Counted { count, per_second };
        for (text, wanted) in [
            ("Time:", Line::Heading),
            ("\t14 seconds total", Line::Seconds(14)),
            (
                "\t6 seconds of transactions (83 per second)",
                Line::Transactions { seconds: 6, per_second: 83 },
            ),
            ("\t764 created (54 per second)", Line::Created(counted(764, 54))),
            (
                "\t\tCreation alone: 500 files (100 per second)",
                Line::CreationAlone(counted(500, 100)),
            ),
            ("Mixed with transactions: 264 files (44 per second)", Line::Mixed(counted(264, 44))),
            ("\t2.00 megabytes read (1.50 kilobytes per second)", Line::DataRead(1536.0)),
            ("\t0.000000 bytes written (0.000000 bytes per second)", Line::DataWritten(0.0)),
        ] {
            assert_eq!(line(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_others_print_is_not_read() {
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
    fn the_prompt_and_the_first_line_say_how_it_was_run() {
        assert_eq!(version("PostMark v1.51 : 8/14/01"), Some("1.51"));
        assert_eq!(version("PostMark vX"), None);
        let said = parameters("pm>set size 500 500000");
        assert_eq!(said, [("size-low", "500".into()), ("size-high", "500000".to_owned())]);
        assert_eq!(parameters("pm>pm>set buffering false"), [("buffering", "no".to_owned())]);
        for text in ["set number 5", "pm>set number 0", "pm>set number many", "pm>run", "pm>"] {
            assert!(parameters(text).is_empty(), "{text}");
        }
    }
}
