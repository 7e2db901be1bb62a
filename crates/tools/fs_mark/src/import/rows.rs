//! Rows of fs_mark's table, plain and verbose, and the lines around them.

use treering_kit::import::number::{decimal, whole};

/// Row of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IterationRow {
    /// Used share of the filesystem; `None` in a table without that column.
    pub(super) used_percent: Option<u64>,
    /// Number of files so far, over all iterations.
    pub(super) count: u64,
    pub(super) size_bytes: u64,
    /// The sum of the workers' own rates.
    pub(super) files_per_second: f64,
    /// Overhead of all workers together, in microseconds.
    pub(super) overhead_us: u64,
    /// Verbose output: least, mean and most microseconds of each kind of call.
    pub(super) calls: Vec<(&'static str, [u64; 3])>,
}

const CALLS: [&str; 6] = ["create", "write", "fsync", "sync", "close", "unlink"];

impl IterationRow {
    /// True if the row can follow `before`.
    pub(super) fn follows(&self, before: &Self) -> bool {
        self.count > before.count
            && self.size_bytes == before.size_bytes
            && self.calls.len() == before.calls.len()
    }
}

/// Reads a row.
pub(super) fn row(text: &str) -> Option<IterationRow> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let times_count = 3 * CALLS.len();
    let (used, words) = match words.len() {
        4 => (None, words.as_slice()),
        count if count == 4 + times_count => (None, words.as_slice()),
        _ => {
            let (used, words) = words.split_first()?;
            (Some(whole(used).filter(|percent| *percent <= 100)?), words)
        }
    };
    let (&[count, size, rate, overhead], times) = words.split_first_chunk::<4>()?;
    if !rate.contains('.') || !(times.is_empty() || times.len() == times_count) {
        return None;
    }
    let mut calls = Vec::new();
    for (call, times) in CALLS.into_iter().zip(times.chunks_exact(3)) {
        calls.push((call, [whole(times[0])?, whole(times[1])?, whole(times[2])?]));
    }
    Some(IterationRow {
        used_percent: used,
        count: whole(count)?,
        size_bytes: whole(size)?,
        files_per_second: decimal(rate)?,
        overhead_us: whole(overhead)?,
        calls,
    })
}

/// True for the line of column names, of which the first may be missing.
pub(super) fn is_heading(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| *word == "FSUse%");
    let names = ["Count", "Size", "Files/sec", "App", "Overhead"];
    names.into_iter().all(|name| words.next() == Some(name))
}

/// Line after the rows, or between the column names and the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrailingLine {
    /// Mean or percentile of the rows, from newer versions.
    Statistic,
    /// Early end: a directory had too little room for the next files.
    NoSpace,
    /// Continuation of the names of verbose columns, on a line of its own.
    Verbose,
}

/// Parses a line after the rows, or between the column names and the rows.
pub(super) fn closing(text: &str) -> Option<TrailingLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Average" | "p50" | "p90" | "p99", "Files/sec:", _] => Some(TrailingLine::Statistic),
        ["Insufficient", "free", "space", "in", ..] => Some(TrailingLine::NoSpace),
        [name, "(Min/Avg/Max)", ..] if CALLS.contains(&name.to_lowercase().as_str()) => {
            Some(TrailingLine::Verbose)
        }
        ["CREAT", "(Min/Avg/Max)", ..] => Some(TrailingLine::Verbose),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{TrailingLine, closing, is_heading, row};

    #[test]
    fn plain_and_verbose_rows_are_read() {
        let plain = row("     2         8000            1        375.6         27175895").unwrap();
        assert_eq!((plain.used_percent, plain.count, plain.size_bytes), (Some(2), 8000, 1));
        assert_eq!((plain.files_per_second, plain.overhead_us), (375.6, 27_175_895));
        assert!(plain.calls.is_empty());
        let verbose = row(
            "     6          200        10240       1247.4              966        8       12 \
             57        6        8       53      558      774    11722        0        0        0 \
             1        1        7        8       10       70",
        )
        .unwrap();
        assert_eq!(verbose.calls[2], ("fsync", [558, 774, 11_722]));
        assert!(!verbose.follows(&plain), "another size");
        let without = row("  8000   51200   375.6   27175895").unwrap();
        assert_eq!((without.used_percent, without.count), (None, 8000));
        for odd in ["", "1 2 3 4 5", "101 2 3 4.0 5", "1 2 3 4.0 5 6", "a 2 3 4.0 5"] {
            assert_eq!(row(odd), None, "{odd}");
        }
    }

    #[test]
    fn lines_around_rows_are_recognized() {
        let heading = "FSUse%        Count         Size    Files/sec     App Overhead";
        assert!(is_heading(heading));
        assert!(is_heading(&format!("{heading}        CREAT (Min/Avg/Max)")));
        assert!(is_heading("Count  Size  Files/sec  App Overhead"));
        assert!(!is_heading("FSUse% Count"));
        assert_eq!(closing("p90 Files/sec: 44362"), Some(TrailingLine::Statistic));
        assert_eq!(
            closing("CREAT (Min/Avg/Max)   WRITE (Min/Avg/Max)"),
            Some(TrailingLine::Verbose)
        );
        assert_eq!(closing("anything"), None);
    }
}
