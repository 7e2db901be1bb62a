//! Output of fs_mark 3.3: a header of comments, then a row for each iteration.
//!
//! Each row becomes a phase with its own metrics. Files/sec is taken as printed: the sum of the
//! workers' rates, each over the worker's own time, which exceeds the number of files over the
//! common time.

mod command;
mod rows;

use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_model::metrics::fs_mark::{
    APP_OVERHEAD_SECONDS, CALL_LARGEST_SECONDS, CALL_LEAST_SECONDS, CALL_MEAN_SECONDS,
    CLASSIC_FILES_PER_SECOND,
};
use treering_model::{
    IMPORT_FACT, ITERATION_PHASE, Metric, Scope, USED_GROWTH_FACT, USED_GROWTH_FILES_FACT,
};

use rows::{IterationRow, TrailingLine, closing, is_heading, row};
use treering_kit::import::log::{Log, shortened};
use treering_kit::import::number::ctime_unix_ms;
use treering_kit::import::rows::PhaseRows;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Reads output of fs_mark.
pub(crate) struct FsMarkImporter;

/// Maximum number of lines into which a command line with many directories is broken.
const HEADER_LINES_MOST: usize = 400;
/// Maximum number of foreign lines between two rows.
const GAP_LINES_MOST: usize = 20;
/// The kind of task that makes files, as in native runs.
const CREATE: &str = "create";

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 7] = [
    KnownText {
        line: "File names: ",
        numbers: LeftOutNumbers::All,
        why: "they repeat options of the command line, or what stands for them",
    },
    KnownText {
        line: "Files info: ",
        numbers: LeftOutNumbers::All,
        why: "they repeat options of the command line, or what stands for them",
    },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Words(&[0, 1]),
        why: "the used share, whose growth is stored, and the sum of the rows' files",
    },
    KnownText {
        line: " Files/sec: ",
        numbers: LeftOutNumbers::All,
        why: "means and percentiles follow from the rows",
    },
    KnownText {
        line: "#\tSync method",
        numbers: LeftOutNumbers::All,
        why: "it repeats an option of the command line",
    },
    KnownText {
        line: "#\tDirectories",
        numbers: LeftOutNumbers::All,
        why: "it repeats options of the command line",
    },
    // A mail wraps the line above here.
    KnownText {
        line: " seconds per subdirectory",
        numbers: LeftOutNumbers::All,
        why: "it repeats options of the command line",
    },
];

impl Importer for FsMarkImporter {
    fn tool(&self) -> &'static str {
        "fs_mark"
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        is_heading(log.line(at)) || version_line(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut trial = ForeignTrial { workload: "fs_mark", ..ForeignTrial::default() };
        let mut remarks = Vec::new();
        let mut next = at;
        if version_line(log, at).is_some() {
            next = header(log, at, &mut trial, &mut remarks);
        } else {
            trial.fact(IMPORT_FACT, "fs_mark");
            let message = "a table of fs_mark without its header: its options are unknown";
            remarks.push(Remark { line: at + 1, what: message.to_owned() });
        }
        let mut table = ParsedTable::starting_at(next);
        table.read(self, log, at);
        table.add_to(&mut trial);
        if let Some(line) = table.ran_out_at {
            trial.is_interrupted = true;
            let message = format!("it says {}; kept as interrupted", shortened(log.line(line)));
            remarks.push(Remark { line: line + 1, what: message });
        }
        if trial.rows.is_empty() {
            let message =
                "fs_mark has no rows: its run failed or its output is truncated".to_owned();
            remarks.push(Remark { line: at + 1, what: message });
            return ParsedOutputs::new(table.stretch.end(), None, remarks);
        }
        remarks.extend(table.stretch.remarks());
        ParsedOutputs::new(table.stretch.end(), [trial], remarks)
    }
}

/// Index of the version comment that follows a command line in a comment.
fn version_line(log: &Log<'_>, at: usize) -> Option<usize> {
    let comment = log.line(at).strip_prefix('#')?;
    if comment.starts_with('\t') || !comment.contains("fs_mark") && !comment.contains(" -d") {
        return None;
    }
    let behind = at + 1..(at + HEADER_LINES_MOST).min(log.len());
    let version = behind.into_iter().find(|at| log.line(*at).starts_with('#'))?;
    let words = log.line(version);
    (words.contains("Version ") && words.contains("thread(s)")).then_some(version)
}

/// Reads the header comments; returns the index of the line with the column names, or the end.
fn header(log: &Log<'_>, at: usize, trial: &mut ForeignTrial, remarks: &mut Vec<Remark>) -> usize {
    let version = version_line(log, at).unwrap_or(at);
    let words: Vec<&str> =
        (at..version).flat_map(|at| log.line(at).split_whitespace()).skip(1).collect();
    match command::parameters(&words) {
        Ok(command) => {
            trial.parameters = command.parameters;
            trial.target = command.directories.join(" ");
            trial.record_command(&words[1..]);
        }
        Err(odd) => remarks.push(Remark { line: at + 1, what: odd.to_string() }),
    }
    let text = log.line(version);
    let tool = text.split("Version ").nth(1).and_then(|tail| tail.split(',').next());
    trial.fact(IMPORT_FACT, format!("fs_mark {}", tool.unwrap_or("").trim()).trim());
    let workers = text.split("thread(s)").next().and_then(|text| text.split_whitespace().last());
    trial.parameter("workers", workers.unwrap_or("unknown"));
    let started = text.split(" starting at ").nth(1).and_then(ctime_unix_ms);
    trial.started_unix_ms = started;
    let mut next = version + 1;
    while next < log.len() && next < at + 2 * HEADER_LINES_MOST && !is_heading(log.line(next)) {
        if row(log.line(next)).is_some() || version_line(log, next).is_some() {
            break;
        }
        next += 1;
    }
    next
}

/// Rows of the table.
struct ParsedTable {
    rows: PhaseRows,
    first: Option<IterationRow>,
    last: Option<IterationRow>,
    /// Total time of the rows in seconds, from their files and rates.
    seconds: f64,
    stretch: LineCursor,
    /// Index of the line that reports too little space.
    ran_out_at: Option<usize>,
}

impl ParsedTable {
    fn starting_at(line: usize) -> Self {
        Self {
            rows: PhaseRows::named(ITERATION_PHASE),
            first: None,
            last: None,
            seconds: 0.0,
            stretch: LineCursor::from(line),
            ran_out_at: None,
        }
    }

    fn read(&mut self, importer: &FsMarkImporter, log: &mut Log<'_>, at: usize) {
        while self.stretch.next() < log.len().min(self.stretch.end() + GAP_LINES_MOST) {
            let line = self.stretch.next();
            log.forget_before(self.stretch.end());
            let is_heading_of_ours = is_heading(log.line(line)) && self.rows.is_empty();
            if is_heading_of_ours {
                self.stretch.take(log, 1);
                continue;
            }
            // The second line of the names of the columns, in verbose output.
            if line > at && (importer.begins(log, line) || any_begins(log, line)) {
                break;
            }
            match log.read(line, row) {
                Some((row, count)) if self.last.as_ref().is_none_or(|last| row.follows(last)) => {
                    self.take(row);
                    self.stretch.take(log, count);
                }
                _ => match closing(log.line(line)) {
                    Some(TrailingLine::NoSpace) => {
                        self.ran_out_at = Some(line);
                        self.stretch.take(log, 1);
                    }
                    Some(TrailingLine::Statistic | TrailingLine::Verbose) => {
                        self.stretch.take(log, 1);
                    }
                    None => self.stretch.pass(log),
                },
            }
        }
    }

    /// Adds a row as a phase with its metrics.
    fn take(&mut self, row: IterationRow) {
        if self.first.is_none() {
            self.rows.column(&CLASSIC_FILES_PER_SECOND, &[]);
            self.rows.column(&APP_OVERHEAD_SECONDS, &[]);
            for (call, _) in &row.calls {
                for time in [&CALL_LEAST_SECONDS, &CALL_MEAN_SECONDS, &CALL_LARGEST_SECONDS] {
                    self.rows.column(time, &[call]);
                }
            }
            self.first = Some(row.clone());
        }
        let before = self.last.as_ref().map_or(0, |last| last.count);
        let files = row.count.saturating_sub(before);
        self.seconds += files as f64 / row.files_per_second;
        let seconds = |us: u64| us as f64 / 1e6;
        let calls = row.calls.iter().flat_map(|(_, times)| times.map(seconds));
        let own = [row.files_per_second, seconds(row.overhead_us)];
        self.rows.push(files, files.saturating_mul(row.size_bytes), own.into_iter().chain(calls));
        self.last = Some(row);
    }

    /// Overall rate: all files divided by the time that the rows' rates imply.
    fn whole_rate(&self, files: u64) -> Option<Metric> {
        let value = files as f64 / self.seconds;
        let rate = CLASSIC_FILES_PER_SECOND.of(Scope::Kind(CREATE.to_owned()), value);
        (value.is_finite() && value > 0.0).then(|| rate.primary().of_tasks(self.rows.len() as u64))
    }

    /// Adds the rows, metrics and facts of the whole run to the trial.
    fn add_to(&mut self, trial: &mut ForeignTrial) {
        let (Some(first), Some(last)) = (&self.first, &self.last) else { return };
        trial.metrics.extend(self.whole_rate(last.count));
        if let (Some(first), Some(last)) = (first.used_percent, last.used_percent) {
            trial.fact(USED_GROWTH_FACT, last.saturating_sub(first));
        }
        trial.fact(USED_GROWTH_FILES_FACT, last.count - first.count);
        trial.parameter("rows", self.rows.len());
        if !trial.parameters.iter().any(|(name, _)| name == "size") {
            trial.parameter("size", first.size_bytes);
        }
        trial.rows = std::mem::take(&mut self.rows);
    }
}
