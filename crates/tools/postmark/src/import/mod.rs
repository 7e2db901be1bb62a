//! Reports of PostMark 1.5 to 1.53 in their long form: seconds, files, data.
//!
//! The clock of PostMark has whole seconds, and a report never shows less than one. A report names
//! no options; lines at the prompt above it may.

mod lines;
mod trial;

use treering_kit::import::known_text::KnownText;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

use lines::{CountAndRate, ReportLine, line};

/// Importer of the reports of PostMark.
pub(crate) struct PostmarkImporter;

/// Name of the tool, and of its workload.
const TOOL: &str = "postmark";
/// Maximum number of foreign lines between two lines of a report.
const GAP_LINES_MOST: usize = 20;
/// Number of lines above a report that are searched for version and options.
const ABOVE_LINES_MOST: usize = 200;

impl Importer for PostmarkImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &[]
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let text = log.line(at).trim();
        let seconds = if text == "Time:" { at + 1 } else { at };
        // No other tool prints these two lines in a row.
        (seconds > at || text.ends_with("seconds total"))
            && matches!(line(log.line(seconds)), Some(ReportLine::Seconds(_)))
            && matches!(log.read(seconds + 1, line), Some((ReportLine::Transactions { .. }, _)))
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut report = ParsedReport::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len().min(stretch.end() + GAP_LINES_MOST) && !report.is_whole() {
            let next = stretch.next();
            let begins_again = next > at && report.seconds.is_some() && any_begins(log, next);
            if begins_again {
                break;
            }
            match log.read(next, line) {
                Some((parsed, lines)) if report.take(parsed) => stretch.take(log, lines),
                Some(_) => break,
                None => stretch.pass(log),
            }
        }
        let mut remarks = stretch.remarks();
        let (trial, parsed) = trial::trial(&report, &above(log, at));
        remarks.extend(parsed.into_iter().map(|message| Remark { line: at + 1, what: message }));
        ParsedOutputs::new(stretch.end().max(at + 1), [trial], remarks)
    }
}

/// Figures of a report, as far as they were read.
#[derive(Clone, Copy, Debug, Default)]
struct ParsedReport {
    seconds: Option<u64>,
    /// Seconds of the transactions, and transactions per second.
    transactions: Option<(u64, u64)>,
    created: Option<CountAndRate>,
    creation_alone: Option<CountAndRate>,
    created_mixed: Option<CountAndRate>,
    read: Option<CountAndRate>,
    appended: Option<CountAndRate>,
    deleted: Option<CountAndRate>,
    deletion_alone: Option<CountAndRate>,
    deleted_mixed: Option<CountAndRate>,
    read_rate: Option<f64>,
    written_rate: Option<f64>,
}

impl ParsedReport {
    /// Stores the figure of a line. Returns false if the report has that figure already.
    fn take(&mut self, parsed: ReportLine) -> bool {
        let mixed = if self.deleted.is_some() || self.deletion_alone.is_some() {
            &mut self.deleted_mixed
        } else {
            &mut self.created_mixed
        };
        match parsed {
            ReportLine::Heading => true,
            ReportLine::Seconds(seconds) => keep(&mut self.seconds, seconds),
            ReportLine::Transactions { seconds, per_second } => {
                keep(&mut self.transactions, (seconds, per_second))
            }
            ReportLine::Created(counted) => keep(&mut self.created, counted),
            ReportLine::CreationAlone(counted) => keep(&mut self.creation_alone, counted),
            ReportLine::Mixed(counted) => keep(mixed, counted),
            ReportLine::Read(counted) => keep(&mut self.read, counted),
            ReportLine::Appended(counted) => keep(&mut self.appended, counted),
            ReportLine::Deleted(counted) => keep(&mut self.deleted, counted),
            ReportLine::DeletionAlone(counted) => keep(&mut self.deletion_alone, counted),
            ReportLine::DataRead(rate) => keep(&mut self.read_rate, rate),
            ReportLine::DataWritten(rate) => keep(&mut self.written_rate, rate),
        }
    }

    fn is_whole(&self) -> bool {
        self.read_rate.is_some() && self.written_rate.is_some()
    }
}

fn keep<T>(place: &mut Option<T>, value: T) -> bool {
    let is_new = place.is_none();
    place.get_or_insert(value);
    is_new
}

/// Version and options from the lines above a report.
#[derive(Debug, Default)]
struct ReportPreamble {
    version: Option<String>,
    parameters: Vec<(&'static str, String)>,
}

/// Reads the lines between the banner of PostMark and the report.
fn above(log: &Log<'_>, at: usize) -> ReportPreamble {
    let mut above = ReportPreamble::default();
    let lines = at.saturating_sub(ABOVE_LINES_MOST)..at;
    let started = lines.clone().rev().find(|line| lines::version(log.line(*line)).is_some());
    // Options above belong to this run only if its banner is there.
    let Some(started) = started else { return above };
    above.version = lines::version(log.line(started)).map(str::to_owned);
    for text in (started..at).map(|line| log.line(line)) {
        for (name, value) in lines::parameters(text) {
            above.parameters.retain(|(known, _)| *known != name);
            above.parameters.push((name, value));
        }
    }
    above
}

#[cfg(test)]
mod tests;
