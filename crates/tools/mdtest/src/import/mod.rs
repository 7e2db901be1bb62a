//! Import of mdtest 1.9 to 4.1: the command line, and the tables of rates and times over the
//! iterations.
//!
//! The table headed ms/op holds the seconds of whole phases.

mod command;
mod lines;

use treering_model::metrics::MetricSpec;
use treering_model::metrics::rates::{
    ITERATION_OPERATIONS_PER_SECOND, OPERATIONS_PER_SECOND, RANK_OPERATIONS_PER_SECOND,
    STONEWALL_OPERATIONS_PER_SECOND,
};
use treering_model::metrics::times::{
    ELAPSED_SECONDS, ITERATION_ELAPSED_SECONDS, RANK_ELAPSED_SECONDS, STONEWALL_SECONDS,
};
use treering_model::{Scope, USED_FACT};

use lines::{OutputLine, TableRow, line};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads output of mdtest.
pub(crate) struct MdtestImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "mdtest";

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 5] = [
    KnownText {
        line: "stonewall rank ",
        numbers: LeftOutNumbers::All,
        why: "how far a single rank had come when the time was over",
    },
    KnownText {
        line: "errno ",
        numbers: LeftOutNumbers::Named(&["errno"]),
        why: "the number of an error, which the line names",
    },
    KnownText {
        line: "V-",
        numbers: LeftOutNumbers::All,
        why: "a remark of mdtest about its own code and options",
    },
    KnownText {
        line: "Nodemap: ",
        numbers: LeftOutNumbers::All,
        why: "the machine of each rank, whose numbers are stored",
    },
    KnownText {
        line: "random seed: ",
        numbers: LeftOutNumbers::All,
        why: "an option of the command line, or the time of day",
    },
];

impl Importer for MdtestImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
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
        ParsedOutputs::new(stretch.end(), run.trial(), remarks)
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
    used: Option<(Option<f64>, String)>,
    planned: Option<String>,
    iterations: u64,
    /// Rows of the table of rates.
    rows: Vec<TableRow>,
    /// Rows of the table of times.
    times: Vec<TableRow>,
    /// True once the table of rates has begun; its rows follow.
    has_rates: bool,
    has_times: bool,
    /// True if the rows have the standard deviation over the ranks, and not over the iterations.
    ranks_deviate: bool,
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
            OutputLine::Used(percent, line) => self.used = Some((percent, line)),
            OutputLine::Planned(text) => self.planned = Some(text),
            OutputLine::Table { is_time, iterations } => {
                self.iterations = iterations;
                self.has_rates |= !is_time;
                self.has_times |= is_time;
            }
            OutputLine::Columns { ranks_deviate } => self.ranks_deviate = ranks_deviate,
            OutputLine::Row(row) if self.ranks_deviate && row.of_ranks.is_some() => {
                self.add_row(row.with_deviation_of_ranks());
            }
            OutputLine::Row(row) => self.add_row(row),
            OutputLine::Furniture => {}
            OutputLine::Wall(wall) => self.wall = Some(wall),
            OutputLine::WrongData => self.verification_failed = true,
            OutputLine::Finished(at) => (self.finished_unix_ms, self.is_finished) = (at, true),
        }
    }

    /// Adds a row to its table. After the table of times all rows are its own.
    fn add_row(&mut self, row: TableRow) {
        if self.has_times {
            self.times.push(row);
        } else if self.has_rates {
            self.rows.push(row);
        }
    }

    fn remarks(&self) -> impl Iterator<Item = String> {
        let times = self.has_times.then(|| {
            "the table called ms/op has the seconds of whole phases and is taken so".to_owned()
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
        if let Some((percent, line)) = self.used {
            if let Some(percent) = percent {
                trial.fact(USED_FACT, percent);
            }
            trial.fact("import.space", line);
        }
        if let Some(planned) = self.planned {
            trial.fact("import.planned", planned);
        }
        if let Some([least, most, mean]) = self.wall {
            trial.fact("import.stonewall_items", format!("{least} to {most}, {mean} in the mean"));
        }
        trial.ended(self.finished_unix_ms);
        self.rows.iter().for_each(|row| RATES.add(&mut trial, row, self.iterations));
        self.times.iter().for_each(|row| TIMES.add(&mut trial, row, self.iterations));
        Some(trial)
    }
}

/// Metrics of a table.
struct TableMetrics {
    mean: MetricSpec,
    of_iterations: MetricSpec,
    of_ranks: MetricSpec,
    stonewall: MetricSpec,
    decides: bool,
}

const RATES: TableMetrics = TableMetrics {
    mean: OPERATIONS_PER_SECOND,
    of_iterations: ITERATION_OPERATIONS_PER_SECOND,
    of_ranks: RANK_OPERATIONS_PER_SECOND,
    stonewall: STONEWALL_OPERATIONS_PER_SECOND,
    decides: true,
};
const TIMES: TableMetrics = TableMetrics {
    mean: ELAPSED_SECONDS,
    of_iterations: ITERATION_ELAPSED_SECONDS,
    of_ranks: RANK_ELAPSED_SECONDS,
    stonewall: STONEWALL_SECONDS,
    decides: false,
};

impl TableMetrics {
    /// Adds the metrics of a row; none if the test was not run.
    fn add(&self, trial: &mut ForeignTrial, row: &TableRow, iterations: u64) {
        let [max, min, mean, deviation] = row.numbers;
        if mean <= 0.0 || !mean.is_finite() {
            return;
        }
        let of = || Scope::Kind(row.kind.to_owned());
        if row.is_stonewall {
            trial.metrics.push(self.stonewall.of(of(), mean).of_tasks(iterations));
            return;
        }
        let is_measured = !row.kind.starts_with("tree") && !row.kind.ends_with("rename");
        let mean_metric = self.mean.of(of(), mean).primary_if(self.decides && is_measured);
        trial.metrics.push(mean_metric.of_tasks(iterations));
        let mut add = |spec: MetricSpec, word: &str, value: f64| {
            if value.is_finite() {
                trial.metrics.push(spec.of_member(&[word], of(), value).of_tasks(iterations));
            }
        };
        // A single iteration has a spread where mdtest takes that of its ranks.
        if iterations > 1 || max > min {
            for (word, value) in [("max", max), ("min", min), ("stddev", deviation)] {
                add(self.of_iterations, word, value);
            }
        }
        if let Some(of_ranks) = row.of_ranks {
            for (word, value) in ["max", "min", "mean", "stddev"].into_iter().zip(of_ranks) {
                add(self.of_ranks, word, value);
            }
        }
    }
}
