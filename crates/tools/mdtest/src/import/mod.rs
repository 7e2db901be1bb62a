//! Import of mdtest 1.9 to 4.1: the command line, and the table of rates over the iterations.
//!
//! The table headed ms/op holds the seconds of whole phases, so it is skipped.

mod command;
mod lines;

use treering_model::metrics::rates::{ITERATION_OPERATIONS_PER_SECOND, OPERATIONS_PER_SECOND};
use treering_model::{Scope, USED_FACT};

use lines::{OutputLine, TableRow, line};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::{ForeignTrial, ImportedTrial};
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads output of mdtest.
pub(crate) struct MdtestImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "mdtest";

impl Importer for MdtestImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        match line(log.line(at)) {
            Some(OutputLine::Launched { .. } | OutputLine::Table { .. }) => true,
            // Also ior begins so.
            Some(OutputLine::Started(_)) => (at + 1..at + 5)
                .any(|next| matches!(line(log.line(next)), Some(OutputLine::Launched { .. }))),
            _ => false,
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while let Some(parsed) = stretch.next_parsed(log, line) {
            if !run.goes_on(&parsed) {
                break;
            }
            let is_last = matches!(parsed, OutputLine::Finished(_));
            run.take(parsed);
            stretch.take(log, 1);
            if is_last {
                break;
            }
        }
        let mut remarks = stretch.remarks();
        remarks.extend(run.remarks().map(|message| Remark { line: at + 1, what: message }));
        let outputs = run.trial().map(|trial| ImportedTrial::Foreign(Box::new(trial)));
        ParsedOutputs { end: stretch.end(), outputs: outputs.into_iter().collect(), remarks }
    }
}

/// A run, put together line by line.
#[derive(Default)]
struct ParsedRun {
    started_unix_ms: Option<i64>,
    finished_unix_ms: Option<i64>,
    version: Option<String>,
    ranks: Option<u64>,
    nodes: Option<u64>,
    words: Vec<String>,
    path: String,
    used_percent: Option<f64>,
    iterations: u64,
    rows: Vec<TableRow>,
    /// True once the table of rates has begun; its rows follow.
    has_rates: bool,
    has_times: bool,
    wall: Option<[f64; 3]>,
    is_finished: bool,
    verification_failed: bool,
}

impl ParsedRun {
    /// True if `parsed` can be the next line of this run.
    fn goes_on(&self, parsed: &OutputLine) -> bool {
        let has_table = self.has_rates || self.has_times;
        match parsed {
            OutputLine::Started(_) => {
                self.started_unix_ms.is_none() && self.version.is_none() && !has_table
            }
            OutputLine::Launched { .. } => self.version.is_none() && !has_table,
            OutputLine::Table { is_time, .. } => {
                if *is_time {
                    !self.has_times
                } else {
                    !self.has_rates
                }
            }
            _ => true,
        }
    }

    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Started(at) => self.started_unix_ms = at,
            OutputLine::Launched { version, ranks, nodes } => {
                self.version = Some(version);
                self.ranks = Some(ranks);
                self.nodes = Some(nodes);
            }
            OutputLine::Command(words) => self.words = words,
            OutputLine::Path(path) => self.path = path,
            OutputLine::Used(percent) => self.used_percent = Some(percent),
            OutputLine::Table { is_time, iterations } => {
                self.iterations = iterations;
                self.has_rates |= !is_time;
                self.has_times |= is_time;
            }
            // After the table of times all rows are its own.
            OutputLine::Row(row) if self.has_rates && !self.has_times => self.rows.push(row),
            OutputLine::Row(_) | OutputLine::Furniture => {}
            OutputLine::Wall(wall) => self.wall = Some(wall),
            OutputLine::WrongData => self.verification_failed = true,
            OutputLine::Finished(at) => (self.finished_unix_ms, self.is_finished) = (at, true),
        }
    }

    fn remarks(&self) -> impl Iterator<Item = String> {
        let times = self.has_times.then(|| {
            "the table called ms/op has the seconds of whole phases and was passed over".to_owned()
        });
        let wrong = self.verification_failed.then(|| {
            "what was read was not what was written: the run is kept as interrupted".to_owned()
        });
        let no_table = self.rows.is_empty().then(|| {
            "mdtest has no table of rates: its run failed or its output is truncated".to_owned()
        });
        [times, wrong, no_table].into_iter().flatten()
    }

    fn trial(self) -> Option<ForeignTrial> {
        if self.rows.is_empty() {
            return None;
        }
        let mut trial = ForeignTrial {
            workload: TOOL,
            target: self.path.clone(),
            started_unix_ms: self.started_unix_ms,
            parameters: command::parameters(&self.words),
            is_interrupted: self.verification_failed,
            ..ForeignTrial::default()
        };
        trial.record_tool(self.version.as_deref());
        trial.record_launched(&self.words, self.ranks);
        if let Some(ranks) = self.ranks {
            trial.parameter("ranks", ranks);
        }
        if let Some(nodes) = self.nodes {
            trial.parameter("nodes", nodes);
        }
        if let Some(percent) = self.used_percent {
            trial.fact(USED_FACT, percent);
        }
        if let Some([least, most, mean]) = self.wall {
            trial.fact("import.stonewall_items", format!("{least} to {most}, {mean} in the mean"));
        }
        trial.ended(self.finished_unix_ms);
        for row in &self.rows {
            add_metrics(&mut trial, row, self.iterations);
        }
        Some(trial)
    }
}

/// Adds the metrics of a row; none if the test was not run.
fn add_metrics(trial: &mut ForeignTrial, row: &TableRow, iterations: u64) {
    let [max, min, mean, deviation] = row.numbers;
    if mean <= 0.0 || !mean.is_finite() {
        return;
    }
    let of = || Scope::Kind(row.kind.to_owned());
    let decides = !row.kind.starts_with("tree") && !row.kind.ends_with("rename");
    let rate = OPERATIONS_PER_SECOND.of(of(), mean).primary_if(decides);
    trial.metrics.push(rate.of_tasks(iterations));
    if iterations > 1 {
        let spread = [("max", max), ("min", min), ("stddev", deviation)];
        let spread = spread.into_iter().filter(|(_, value)| value.is_finite());
        trial.metrics.extend(spread.map(|(word, value)| {
            ITERATION_OPERATIONS_PER_SECOND.of_member(&[word], of(), value).of_tasks(iterations)
        }));
    }
}
