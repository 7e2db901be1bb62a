//! The header and the rows of fs_mark 3.3, and the closing lines of its later version, byte for
//! byte.
//!
//! This module only formats. Texts end with a newline.

use super::account::{FileCounters, MinAvgMax};
use super::methods::{HASH_SECONDS, SubdirPolicy, SyncMethod};

/// Parameters shown in the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderParams {
    /// Bytes of each file.
    pub bytes: u64,
    /// Bytes of each write.
    pub write_bytes: u32,
    /// Length of a file name in bytes.
    pub name_bytes: usize,
    /// Number of random bytes in each name.
    pub random_bytes: usize,
    /// Sync method.
    pub sync: SyncMethod,
    /// Subdirectory policy.
    pub policy: SubdirPolicy,
    /// Workers.
    pub workers: u16,
}

/// Header text of a sync method.
fn sync_words(method: SyncMethod) -> &'static str {
    match method {
        SyncMethod::Nothing => "NO SYNC: Test does not issue sync() or fsync() calls.",
        SyncMethod::Inband => "INBAND FSYNC: fsync() per file in write loop.",
        SyncMethod::SystemFirst => {
            "SYSTEM SYNC/SINGLE FSYNC: Issue sync() after main write loop and 1 file fsync() per \
             subdirectory."
        }
        SyncMethod::Reverse => {
            "POST REVERSE: Reopen and fsync() each file in reverse order after main write loop."
        }
        SyncMethod::SystemReverse => {
            "SYNC POST REVERSE: Issue sync() and then reopen and fsync() each file in reverse \
             order after main write loop."
        }
        SyncMethod::Post => "POST: Reopen and fsync() each file in order after main write loop.",
        SyncMethod::SystemPost => {
            "SYNC POST: Issue sync() and then reopen and fsync() each file in order after main \
             write loop."
        }
    }
}

fn directories_words(policy: SubdirPolicy) -> String {
    match policy {
        SubdirPolicy::Flat => "no subdirectories used".to_owned(),
        SubdirPolicy::RoundRobin { subdirs, files } => format!(
            "Round Robin between directories across {subdirs} subdirectories with {files} files \
             per subdirectory."
        ),
        SubdirPolicy::TimeHash { subdirs } | SubdirPolicy::Random { subdirs } => format!(
            "Time based hash between directories across {subdirs} subdirectories with \
             {HASH_SECONDS} seconds per subdirectory."
        ),
    }
}

/// The lines before the rows, for standard output or for the log.
pub(crate) fn header(
    words: &[String],
    started: &str,
    params: &HeaderParams,
    verbose: bool,
    is_log: bool,
) -> String {
    let typed = words.iter().fold(String::new(), |typed, word| typed + " " + word + " ");
    let HeaderParams { name_bytes, random_bytes, bytes, write_bytes, workers, .. } = params;
    let stamp_bytes = name_bytes - random_bytes;
    let sync = sync_words(params.sync);
    let directories = directories_words(params.policy);
    let mut text = format!(
        "\n# {typed}\n\
         #\tVersion 3.3, {workers} thread(s) starting at {started}\n\
         #\tSync method: {sync}\n\
         #\tDirectories:  {directories}\n\
         #\tFile names: {name_bytes} bytes long, ({stamp_bytes} initial bytes of time stamp with \
         {random_bytes} random bytes at end of name)\n\
         #\tFiles info: size {bytes} bytes, written with an IO size of {write_bytes} bytes per \
         write\n\
         #\tApp overhead is time in microseconds spent in the test not doing file writing related \
         system calls.\n"
    );
    let mark = if is_log { "#" } else { "" };
    if verbose {
        text += mark;
        text += "#\tAll system call times are reported in microseconds.\n\n";
    } else {
        text += mark;
        text += "\n";
    }
    text += &format!(
        "{:>6} {:>12} {:>12} {:>12} {:>16}",
        "FSUse%", "Count", "Size", "Files/sec", "App Overhead"
    );
    if verbose {
        for name in ["CREAT", "WRITE", "FSYNC", "SYNC", "CLOSE", "UNLINK"] {
            text += &format!(" {:>26}", format!("{name} (Min/Avg/Max)"));
        }
    }
    text + "\n"
}

/// Result row of one iteration, over all workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResultRow {
    /// Files of the iteration.
    pub files: u64,
    /// Sum of the workers' rates.
    pub files_per_second: f64,
    overhead_us: u64,
    columns: [MinAvgMax; 6],
}

impl ResultRow {
    /// Row for these workers.
    pub(crate) fn from_workers(workers: &[FileCounters]) -> Self {
        let mut row = Self::default();
        for counters in workers {
            row.files += counters.files;
            row.files_per_second += counters.files_per_second();
            row.overhead_us += counters.overhead_us;
        }
        let count = workers.len() as u64;
        for (place, column) in row.columns.iter_mut().enumerate() {
            let of = || workers.iter().map(|counters| counters.columns()[place]);
            column.min_us = of().map(|times| times.min_us).min().unwrap_or(0);
            column.max_us = of().map(|times| times.max_us).max().unwrap_or(0);
            let means: u64 = of().map(|times| times.avg_us).sum();
            column.avg_us = means.checked_div(count).unwrap_or(0);
        }
        row
    }

    /// Text of the row; `count` is the number of files over all iterations so far.
    pub(crate) fn line(&self, used_percent: u64, count: u64, size: u64, verbose: bool) -> String {
        let mut line = format!(
            "{used_percent:>6} {count:>12} {size:>12} {:>12.1} {:>16}",
            self.files_per_second, self.overhead_us
        );
        if verbose {
            for MinAvgMax { min_us, avg_us, max_us } in self.columns {
                line += &format!(" {min_us:>8} {avg_us:>8} {max_us:>8}");
            }
        }
        line + "\n"
    }
}

/// Closing lines of the version after 3.3: quantiles of the rates, which are truncated to whole
/// numbers; the "slow" end has the high rates.
pub(crate) fn closing(rates: &[f64]) -> String {
    if rates.is_empty() {
        return String::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the original cuts; rates are finite and not negative"
    )]
    let mut whole: Vec<u64> = rates.iter().map(|rate| *rate as u64).collect();
    whole.sort_unstable_by(|a, b| b.cmp(a));
    let at = |share: usize| whole[(whole.len() * share / 100).min(whole.len() - 1)];
    let sum: u64 = whole.iter().sum();
    let average = sum as f64 / whole.len() as f64;
    format!(
        "Average Files/sec: {average:>12.1}\np50 Files/sec: {}\np90 Files/sec: {}\n\
         p99 Files/sec: {}\n",
        at(50),
        at(90),
        at(99)
    )
}

#[cfg(test)]
mod tests {
    use super::{HeaderParams, ResultRow, closing, header};
    use crate::classic::account::{FileCounters, MinAvgMax};
    use crate::classic::methods::{SubdirPolicy, SyncMethod};

    const ASKED: HeaderParams = HeaderParams {
        bytes: 1,
        write_bytes: 16_384,
        name_bytes: 40,
        random_bytes: 24,
        sync: SyncMethod::Nothing,
        policy: SubdirPolicy::TimeHash { subdirs: 100 },
        workers: 8,
    };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Header printed by Debian's fs_mark 3.3.
    const HEADER: &str = "
#  /usr/bin/fs_mark  -D  100  -S0  -n  1000  -s  1  -L  3  -d  /m/0  -d  /m/1 
#\tVersion 3.3, 8 thread(s) starting at Fri Nov 20 17:39:05 2026
#\tSync method: NO SYNC: Test does not issue sync() or fsync() calls.
#\tDirectories:  Time based hash between directories across 100 subdirectories with 180 seconds per subdirectory.
#\tFile names: 40 bytes long, (16 initial bytes of time stamp with 24 random bytes at end of name)
#\tFiles info: size 1 bytes, written with an IO size of 16384 bytes per write
#\tApp overhead is time in microseconds spent in the test not doing file writing related system calls.

FSUse%        Count         Size    Files/sec     App Overhead
";

    #[test]
    fn the_header_is_that_of_the_original() {
        let typed = words("/usr/bin/fs_mark -D 100 -S0 -n 1000 -s 1 -L 3 -d /m/0 -d /m/1");
        let started = "Fri Nov 20 17:39:05 2026";
        assert_eq!(header(&typed, started, &ASKED, false, false), HEADER);
        let log = HEADER.replace("calls.\n\nFSUse", "calls.\n#\nFSUse");
        assert_eq!(header(&typed, started, &ASKED, false, true), log);
    }

    #[test]
    fn the_verbose_header_is_that_of_the_original() {
        let params = HeaderParams {
            sync: SyncMethod::Reverse,
            policy: SubdirPolicy::RoundRobin { subdirs: 4, files: 2 },
            workers: 2,
            bytes: 20_000,
            ..ASKED
        };
        let text = header(&words("fs_mark -v"), "now", &params, true, false);
        let end = "#\tAll system call times are reported in microseconds.\n\n\
                   FSUse%        Count         Size    Files/sec     App Overhead        \
                   CREAT (Min/Avg/Max)        WRITE (Min/Avg/Max)        FSYNC (Min/Avg/Max)         \
                   SYNC (Min/Avg/Max)        CLOSE (Min/Avg/Max)       UNLINK (Min/Avg/Max)\n";
        assert!(text.ends_with(&format!("calls.\n{end}")), "{text}");
        assert!(text.contains(
            "\n#\tDirectories:  Round Robin between directories across 4 subdirectories with 2 \
             files per subdirectory.\n"
        ));
        let log = header(&words("fs_mark -v"), "now", &params, true, true);
        assert!(log.ends_with(&format!("calls.\n#{end}")), "{log}");
        let flat = HeaderParams { policy: SubdirPolicy::Flat, ..params };
        let text = header(&[], "now", &flat, true, true);
        assert!(text.contains("\n#\tDirectories:  no subdirectories used\n"), "{text}");
    }

    /// Checks a row against a run of the original with two workers, whose logs are known.
    #[test]
    fn rows_are_sums_of_rates_and_means_of_means() {
        let column = |min_us, avg_us, max_us| MinAvgMax { min_us, avg_us, max_us };
        let first = FileCounters {
            files: 3,
            loop_us: 5767,
            overhead_us: 159,
            create: column(32, 37, 40),
            write: column(33, 42, 73),
            ..FileCounters::default()
        };
        let second = FileCounters {
            files: 3,
            loop_us: 5845,
            overhead_us: 212,
            create: column(42, 45, 49),
            write: column(15, 33, 59),
            ..FileCounters::default()
        };
        let row = ResultRow::from_workers(&[first, second]);
        assert_eq!(
            row.line(78, 6, 20_000, false),
            "    78            6        20000       1033.5              371\n"
        );
        let line = row.line(78, 6, 20_000, true);
        let columns = "       32       41       49       15       37       73        0        0";
        assert!(line.starts_with(&format!(
            "    78            6        20000       1033.5              371{columns}"
        )));
        assert_eq!(line.len(), 62 + 6 * 27 + 1);
        // Scripts read the fourth column of the lines after the header.
        assert_eq!(line.split_whitespace().nth(3), Some("1033.5"));
    }

    #[test]
    fn long_numbers_are_not_cut() {
        let counters =
            FileCounters { files: 5_000_000_000, loop_us: 1_000_000, ..FileCounters::default() };
        let line = ResultRow::from_workers(&[counters]).line(100, 5_000_000_000, 1 << 40, false);
        assert_eq!(line, "   100   5000000000 1099511627776 5000000000.0                0\n");
    }

    #[test]
    fn closing_lines_cut_and_sort_as_the_original() {
        let rates = [54_026.9, 85_000.5, 44_362.2];
        assert_eq!(
            closing(&rates),
            "Average Files/sec:      61129.3\np50 Files/sec: 54026\np90 Files/sec: 44362\n\
             p99 Files/sec: 44362\n"
        );
        assert_eq!(closing(&[]), "");
    }
}
