//! Output of blogbench 1.0 to 1.2: how it was run, a row for each interval, two final scores.
//!
//! Scores grow with the length of the run, so they are also given per second. Version 1.2 reads 8
//! bytes at a time, so its scores are not comparable with earlier ones; the output does not name
//! the version.

mod lines;
mod trial;
mod version;

use lines::{COLUMNS, OutputLine, ScoreSide, line};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::{Log, first_word};
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Importer of blogbench output.
pub(crate) struct BlogbenchImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "blogbench";
/// Maximum number of foreign lines or error messages between two lines of a run.
const GAP_LINES_MOST: usize = 200;
/// Maximum number of foreign lines between the scores, for output that shows only those.
const SCORES_GAP_LINES_MOST: usize = 3;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 1] = [KnownText {
    line: "The test will run during",
    numbers: LeftOutNumbers::All,
    why: "it follows from the number and the length of the rows",
}];

impl Importer for BlogbenchImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let may_begin = |text: &str| ["Frequency", "Nb", "Final"].contains(&first_word(text));
        let read = log.read_if(may_begin, at, line).map(|(parsed, _)| parsed);
        matches!(
            read,
            Some(OutputLine::Frequency(_) | OutputLine::TableBegins | OutputLine::Score(..))
        )
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len().min(stretch.end() + run.gap()) {
            let next = stretch.next();
            let Some((parsed, count)) = log.read(next, line) else {
                if any_begins(log, next) {
                    break;
                }
                stretch.pass(log);
                continue;
            };
            if !run.goes_on(&parsed) {
                break;
            }
            run.take(parsed);
            stretch.take(log, count);
            if run.is_over() {
                break;
            }
        }
        let end = stretch.end();
        let mut remarks = stretch.remarks();
        let (trial, parsed) = trial::trial(&run, version::version(log, &(at..end)));
        remarks.extend(parsed.into_iter().map(|message| Remark { line: at + 1, what: message }));
        ParsedOutputs::new(end, trial, remarks)
    }
}

/// A run, assembled line by line.
#[derive(Default)]
struct ParsedRun {
    seconds: Option<u64>,
    directory: String,
    threads: Vec<(&'static str, u64)>,
    iterations: Option<u64>,
    has_table: bool,
    rows: Vec<[u64; COLUMNS]>,
    writes: Option<u64>,
    reads: Option<u64>,
    is_full: bool,
}

impl ParsedRun {
    /// True if this line can follow in the run.
    fn goes_on(&self, parsed: &OutputLine) -> bool {
        let has_scores = self.writes.is_some() || self.reads.is_some();
        let is_before_rows = !self.has_table && !has_scores;
        match parsed {
            OutputLine::Frequency(_) => is_before_rows && self.seconds.is_none(),
            OutputLine::Directory(_) => is_before_rows && self.directory.is_empty(),
            OutputLine::Threads(kind, _) => {
                is_before_rows && self.threads.iter().all(|(known, _)| known != kind)
            }
            OutputLine::Iterations(_) => is_before_rows && self.iterations.is_none(),
            OutputLine::TableBegins => is_before_rows,
            OutputLine::Row(row) => {
                let is_later = self.rows.last().is_none_or(|last| last[0] <= row[0]);
                self.has_table && !has_scores && is_later
            }
            OutputLine::Score(ScoreSide::Writes, _) => self.writes.is_none(),
            OutputLine::Score(ScoreSide::Reads, _) => self.reads.is_none(),
            OutputLine::Full | OutputLine::Furniture => true,
        }
    }

    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Frequency(seconds) => self.seconds = Some(seconds),
            OutputLine::Directory(place) => self.directory = place,
            OutputLine::Threads(kind, count) => self.threads.push((kind, count)),
            OutputLine::Iterations(count) => self.iterations = Some(count),
            OutputLine::TableBegins => self.has_table = true,
            OutputLine::Row(row) => self.rows.push(row),
            OutputLine::Score(ScoreSide::Writes, score) => self.writes = Some(score),
            OutputLine::Score(ScoreSide::Reads, score) => self.reads = Some(score),
            OutputLine::Full => self.is_full = true,
            OutputLine::Furniture => {}
        }
    }

    fn is_over(&self) -> bool {
        self.writes.is_some() && self.reads.is_some()
    }

    fn gap(&self) -> usize {
        let has_score = self.writes.is_some() || self.reads.is_some();
        if has_score { SCORES_GAP_LINES_MOST } else { GAP_LINES_MOST }
    }
}
