//! Import of mdtest 1.9 to 4.1: the command, and the table of rates over its iterations.
//!
//! The table that is called ms/op has the seconds of whole phases, so that it is passed over.

mod command;
mod lines;

use treering_model::metrics::rates::{ITERATION_OPERATIONS_PER_SECOND, OPERATIONS_PER_SECOND};
use treering_model::{Scope, USED_FACT};

use lines::{Line, Row, line};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::{Content, ForeignTrial};
use treering_kit::import::{Importer, Reading, Remark};

/// Reads output of mdtest.
pub(crate) struct Mdtest;

/// Name of the tool and of its workload.
const TOOL: &str = "mdtest";

impl Importer for Mdtest {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        match line(log.line(at)) {
            Some(Line::Launched { .. } | Line::Table { .. }) => true,
            // Also ior begins so.
            Some(Line::Started(_)) => (at + 1..at + 5)
                .any(|next| matches!(line(log.line(next)), Some(Line::Launched { .. }))),
            _ => false,
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading {
        let mut run = Run::default();
        let mut stretch = LineCursor::from(at);
        while let Some(said) = stretch.said(log, line) {
            if !run.goes_on(&said) {
                break;
            }
            let is_last = matches!(said, Line::Finished(_));
            run.take(said);
            stretch.take(log, 1);
            if is_last {
                break;
            }
        }
        let mut remarks = stretch.remarks();
        remarks.extend(run.remarks().map(|what| Remark { line: at + 1, what }));
        let outputs = run.trial().map(|trial| Content::Foreign(Box::new(trial)));
        Reading { end: stretch.end(), outputs: outputs.into_iter().collect(), remarks }
    }
}

/// A run, put together line by line.
#[derive(Default)]
struct Run {
    started_unix_ms: Option<i64>,
    finished_unix_ms: Option<i64>,
    version: Option<String>,
    ranks: Option<u64>,
    nodes: Option<u64>,
    words: Vec<String>,
    path: String,
    used_percent: Option<f64>,
    iterations: u64,
    rows: Vec<Row>,
    /// True once the table of rates has begun; its rows follow.
    has_rates: bool,
    has_times: bool,
    wall: Option<[f64; 3]>,
    is_finished: bool,
    verification_failed: bool,
}

impl Run {
    /// True if `said` can be the next line of the run.
    fn goes_on(&self, said: &Line) -> bool {
        let has_table = self.has_rates || self.has_times;
        match said {
            Line::Started(_) => {
                self.started_unix_ms.is_none() && self.version.is_none() && !has_table
            }
            Line::Launched { .. } => self.version.is_none() && !has_table,
            Line::Table { is_time, .. } => {
                if *is_time {
                    !self.has_times
                } else {
                    !self.has_rates
                }
            }
            _ => true,
        }
    }

    fn take(&mut self, said: Line) {
        match said {
            Line::Started(at) => self.started_unix_ms = at,
            Line::Launched { version, ranks, nodes } => {
                self.version = Some(version);
                self.ranks = Some(ranks);
                self.nodes = Some(nodes);
            }
            Line::Command(words) => self.words = words,
            Line::Path(path) => self.path = path,
            Line::Used(percent) => self.used_percent = Some(percent),
            Line::Table { is_time, iterations } => {
                self.iterations = iterations;
                self.has_rates |= !is_time;
                self.has_times |= is_time;
            }
            // After the table of times all rows are its own.
            Line::Row(row) if self.has_rates && !self.has_times => self.rows.push(row),
            Line::Row(_) | Line::Furniture => {}
            Line::Wall(wall) => self.wall = Some(wall),
            Line::WrongData => self.verification_failed = true,
            Line::Finished(at) => (self.finished_unix_ms, self.is_finished) = (at, true),
        }
    }

    fn remarks(&self) -> impl Iterator<Item = String> {
        let times = self.has_times.then(|| {
            "the table called ms/op has the seconds of whole phases and was passed over".to_owned()
        });
        let wrong = self.verification_failed.then(|| {
            "what was read was not what was written: the run is kept as interrupted".to_owned()
        });
        let none = self.rows.is_empty().then(|| {
            "mdtest has no table of rates: its run failed or its output is truncated".to_owned()
        });
        [times, wrong, none].into_iter().flatten()
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
        trial.made_by(self.version.as_deref());
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
            tell(&mut trial, row, self.iterations);
        }
        Some(trial)
    }
}

/// The metrics of a row; none where the test was not done.
fn tell(trial: &mut ForeignTrial, row: &Row, iterations: u64) {
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
