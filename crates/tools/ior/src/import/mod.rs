//! Output of ior 2.10 to 4.1: the options, a line for each write and read, and the summary.
//!
//! Each repetition of a test is a phase. Rates come from the lines of the tests, or from the
//! summary if there are none.

mod lines;

use treering_model::metrics::MetricSpec;
use treering_model::metrics::rates::{
    ITERATION_OPERATIONS_PER_SECOND, MIB_PER_SECOND, OPERATIONS_PER_SECOND,
    REPETITION_MIB_PER_SECOND, STONEWALL_BYTES,
};
use treering_model::metrics::times::{
    CLOSE_SECONDS, ELAPSED_SECONDS, OPEN_SECONDS, SECONDS, STONEWALL_SECONDS,
    TRANSFER_LATENCY_SECONDS, TRANSFERS_SECONDS,
};
use treering_model::{Fact, Metric, PhaseTotals, Scope, USED_FACT};

use lines::{AccessSide, OutputLine, SPACE_FACT, SummaryRow, TableRow, line};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::number::{decimal, nanoseconds};
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads output of ior.
pub(crate) struct IorImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "ior";
/// Largest number of facts about a run.
const FACTS_MOST: usize = 500;
/// Largest relative error of a rate in a row of a test, which has at least four digits.
const ROW_ERROR: f64 = 2e-4;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 10] = [
    KnownText {
        line: "WARNING: Task ",
        numbers: LeftOutNumbers::All,
        why: "a request that moved a part, and was continued by the next one",
    },
    KnownText {
        line: "WARNING: Expected aggregate file size",
        numbers: LeftOutNumbers::All,
        why: "it follows from the sizes and the number of tasks",
    },
    KnownText {
        line: "WARNING: Stat() of aggregate file size",
        numbers: LeftOutNumbers::All,
        why: "the bytes moved are what the rate is computed of",
    },
    KnownText {
        line: "Commencing ",
        numbers: LeftOutNumbers::All,
        why: "the time of day at which a test began",
    },
    KnownText {
        line: "Using Time Stamp ",
        numbers: LeftOutNumbers::All,
        why: "the time of day, of which the data are made",
    },
    KnownText {
        line: "task ",
        numbers: LeftOutNumbers::Named(&["task"]),
        why: "which task ran on which machine",
    },
    KnownText { line: "Machine", numbers: LeftOutNumbers::All, why: "a name" },
    KnownText {
        line: ": stonewalling pairs accessed: ",
        numbers: LeftOutNumbers::All,
        why: "how far a single task had come; the least and the most are stored",
    },
    KnownText {
        line: "#File Hits Dist:",
        numbers: LeftOutNumbers::All,
        why: "how many tasks chose a file to read, by chance",
    },
    KnownText {
        line: "ior WARNING: ",
        numbers: LeftOutNumbers::All,
        why: "the number of an error, which the line names, and a line of ior's code",
    },
];

impl Importer for IorImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        // Tables are shown without what is above them; `read` refuses rows without a heading.
        matches!(
            line(log.line(at)),
            Some(
                OutputLine::Version(_)
                    | OutputLine::Heading
                    | OutputLine::Columns(_)
                    | OutputLine::Row(_)
            )
        )
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
        if run.has_bare_rows() {
            let what = "rows of ior without the line that names their columns".to_owned();
            remarks.push(Remark { line: at + 1, what });
            return ParsedOutputs { end: stretch.end(), outputs: Vec::new(), remarks };
        }
        let trial = run.trial();
        if trial.is_none() {
            let message =
                "ior has no results: its run failed or its output is truncated".to_owned();
            remarks.push(Remark { line: at + 1, what: message });
        }
        ParsedOutputs::new(stretch.end(), trial, remarks)
    }
}

/// A run, put together line by line.
#[derive(Default)]
struct ParsedRun {
    version: Option<String>,
    began_unix_ms: Option<i64>,
    finished_unix_ms: Option<i64>,
    path: String,
    arguments: Vec<String>,
    parameters: Vec<(&'static str, String)>,
    facts: Vec<Fact>,
    rows: Vec<TableRow>,
    removals: Vec<f64>,
    columns: Vec<String>,
    summaries: Vec<SummaryRow>,
    has_heading: bool,
}

impl ParsedRun {
    /// True if the line can belong to this run.
    fn goes_on(&self, parsed: &OutputLine) -> bool {
        let has_summary = !self.summaries.is_empty();
        match parsed {
            OutputLine::Version(_) => {
                self.version.is_none() && self.rows.is_empty() && self.columns.is_empty()
            }
            // A second table without a launch line before it is another run, as when two tables
            // are pasted one after the other; a script of tests has a table for each test.
            OutputLine::Heading => !has_summary && (self.rows.is_empty() || self.version.is_some()),
            OutputLine::Columns(_) => self.columns.is_empty(),
            _ => true,
        }
    }

    /// True if nothing says what the columns of the rows are: no version, no heading, no summary.
    fn has_bare_rows(&self) -> bool {
        let is_named = self.has_heading || self.version.is_some() || !self.summaries.is_empty();
        !is_named && !self.rows.is_empty()
    }

    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Version(version) => self.version = Some(version),
            OutputLine::Began(at) => self.began_unix_ms = at,
            OutputLine::Finished(at) => self.finished_unix_ms = at,
            OutputLine::Path(path) => self.path = path,
            OutputLine::Used(percent, line) => {
                self.fact(USED_FACT, percent.to_string());
                self.fact(SPACE_FACT, line);
            }
            OutputLine::Fact(name, text) => self.fact(name, text),
            OutputLine::Command(arguments) => self.arguments = arguments,
            OutputLine::Option(name, value) => self.parameters.push((name, value)),
            OutputLine::Row(row) => self.rows.push(row),
            OutputLine::Removed(seconds) => self.removals.push(seconds),
            OutputLine::Columns(names) => self.columns = names,
            OutputLine::Summary(summary) => self.summaries.push(summary),
            OutputLine::Heading => self.has_heading = true,
            OutputLine::Furniture => {}
        }
    }

    /// Adds a fact; one of several with the same name gets its number.
    fn fact(&mut self, name: &str, value: String) {
        if self.facts.len() >= FACTS_MOST {
            return;
        }
        let is_again = |fact: &&Fact| {
            fact.name.strip_prefix(name).is_some_and(|t| t.is_empty() || t.starts_with('.'))
        };
        let name = match self.facts.iter().filter(is_again).count() {
            0 => name.to_owned(),
            before => format!("{name}.{}", before + 1),
        };
        self.facts.push(Fact { name, value });
    }

    fn trial(self) -> Option<ForeignTrial> {
        let mut trial = ForeignTrial {
            workload: TOOL,
            target: self.path.clone(),
            started_unix_ms: self.began_unix_ms,
            ..ForeignTrial::default()
        };
        for side in [AccessSide::Write, AccessSide::Read] {
            self.add_rates(&mut trial, side);
        }
        if trial.metrics.is_empty() {
            return None;
        }
        trial.record_tool(self.version.as_deref());
        let ranks = self.parameters.iter().find(|(name, _)| *name == "ranks");
        let ranks = ranks.and_then(|(_, number)| number.parse().ok());
        trial.record_launched(&self.arguments, ranks);
        for (name, value) in &self.parameters {
            trial.parameter(name, value);
        }
        self.add_repetitions(&mut trial);
        self.add_options(&mut trial);
        trial.facts.extend(self.facts);
        trial.ended(self.finished_unix_ms);
        Some(trial)
    }

    /// Adds the rates of a direction: the mean over its repetitions, and their spread.
    fn add_rates(&self, trial: &mut ForeignTrial, side: AccessSide) {
        let rates = self.rows.iter().filter(|row| row.side == side).map(|row| row.mib_per_second);
        let rates: Vec<f64> = rates.filter(|rate| rate.is_finite() && *rate > 0.0).collect();
        let summary = self.summaries.iter().find(|summary| summary.side == side);
        let told = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            decimal(summary?.words.get(place)?)
        };
        // The summary has more digits than the rows, which it follows from.
        let exact = |value: f64, name: &str| {
            let is_near = |told: &f64| (told - value).abs() <= value.abs() * ROW_ERROR;
            told(name).filter(is_near).unwrap_or(value)
        };
        let (mean, repetitions) = if rates.is_empty() {
            let Some(mean) = summary.and_then(|row| decimal(row.words.get(2)?)) else { return };
            (mean, 1)
        } else {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            (exact(mean, "Mean(MiB)"), rates.len() as u64)
        };
        if !mean.is_finite() || mean <= 0.0 {
            return;
        }
        let of = || Scope::Kind(side.word().to_owned());
        trial.metrics.push(MIB_PER_SECOND.of(of(), mean).primary().of_tasks(repetitions));
        if rates.len() > 1 {
            let max = rates.iter().copied().fold(f64::MIN, f64::max);
            let min = rates.iter().copied().fold(f64::MAX, f64::min);
            for (word, value) in [("max", exact(max, "Max(MiB)")), ("min", exact(min, "Min(MiB)"))]
            {
                let metric = REPETITION_MIB_PER_SECOND.of_member(&[word], of(), value);
                trial.metrics.push(metric.of_tasks(repetitions));
            }
        }
        if let Some(row) = summary {
            self.add_summary(trial, row, repetitions, rates.len() == 1);
        }
    }

    /// Adds the columns of a row of the summary, unless the rows of the table have them; a single
    /// repetition has no spread.
    fn add_summary(
        &self,
        trial: &mut ForeignTrial,
        row: &SummaryRow,
        repetitions: u64,
        is_single: bool,
    ) {
        let of = || Scope::Kind(row.side.word().to_owned());
        // Deviations have the same name in each group of columns.
        let mut group = "";
        for (name, word) in self.columns.iter().map(String::as_str).zip(&row.words) {
            if let Some((_, unit)) = name.split_once('(') {
                group = unit;
            }
            let Some(value) = decimal(word).filter(|value| *value > 0.0) else { continue };
            let member = |spec: MetricSpec, word| spec.of_member(&[word], of(), value);
            let metric = match (group, name) {
                ("MiB)", "Max(MiB)") => member(REPETITION_MIB_PER_SECOND, "max"),
                ("MiB)", "Min(MiB)") => member(REPETITION_MIB_PER_SECOND, "min"),
                ("MiB)", "StdDev") => member(REPETITION_MIB_PER_SECOND, "stddev"),
                (_, "Max(OPs)") => member(ITERATION_OPERATIONS_PER_SECOND, "max"),
                (_, "Min(OPs)") => member(ITERATION_OPERATIONS_PER_SECOND, "min"),
                (_, "Mean(OPs)") => OPERATIONS_PER_SECOND.of(of(), value),
                ("OPs)", "StdDev") => member(ITERATION_OPERATIONS_PER_SECOND, "stddev"),
                (_, "Mean(s)") => SECONDS.of(of(), value),
                (_, "Stonewall(s)") => STONEWALL_SECONDS.of(of(), value),
                (_, "Stonewall(MiB)") => STONEWALL_BYTES.of(of(), value * 1_048_576.0),
                _ => continue,
            };
            let is_spread = ["Max(", "Min(", "StdDev"].iter().any(|word| name.starts_with(word));
            if is_single && is_spread {
                continue;
            }
            let is_same = |known: &Metric| known.name == metric.name && known.scope == metric.scope;
            if !trial.metrics.iter().any(is_same) {
                trial.metrics.push(metric.of_tasks(repetitions));
            }
        }
    }

    /// Adds the options that only the tables have: sizes in a row, and the rest of the summary.
    fn add_options(&self, trial: &mut ForeignTrial) {
        let first = self.rows.first().into_iter();
        for (name, kib) in
            first.flat_map(|row| [("block", row.block_kib), ("transfer", row.transfer_kib)])
        {
            if !self.parameters.iter().any(|(known, _)| *known == name) {
                trial.parameter(name, format!("{kib} KiB"));
            }
        }
        let options = self.columns.iter().position(|name| name == "Test#");
        for row in &self.summaries {
            if let Some(words) = options.and_then(|first| row.words.get(first..)) {
                trial.fact(&format!("import.summary.{}", row.side.word()), words.join(" "));
            }
        }
    }

    /// Adds each repetition as a phase with the figures of its row.
    fn add_repetitions(&self, trial: &mut ForeignTrial) {
        let count = |side| self.rows.iter().filter(move |row| row.side == side).zip(1_u64..);
        for (row, number) in [AccessSide::Write, AccessSide::Read].into_iter().flat_map(count) {
            let name = format!("{} {}", row.side.word(), number);
            let figures = [
                (MIB_PER_SECOND, Some(row.mib_per_second)),
                (OPERATIONS_PER_SECOND, row.operations_per_second),
                (TRANSFER_LATENCY_SECONDS, row.latency_seconds),
                (OPEN_SECONDS, Some(row.open_seconds)),
                (TRANSFERS_SECONDS, Some(row.transfers_seconds)),
                (CLOSE_SECONDS, Some(row.close_seconds)),
            ];
            add_phase(trial, name, row.total_seconds, &figures);
        }
        for (number, seconds) in (1..).zip(&self.removals) {
            add_phase(trial, format!("remove {number}"), *seconds, &[]);
        }
    }
}

/// Adds a phase of this length with its figures.
fn add_phase(
    trial: &mut ForeignTrial,
    name: String,
    seconds: f64,
    figures: &[(MetricSpec, Option<f64>)],
) {
    let scope = || Scope::Phase(name.clone());
    trial.metrics.push(ELAPSED_SECONDS.of(scope(), seconds));
    let known = figures.iter().filter_map(|(spec, value)| value.map(|value| (spec, value)));
    trial.metrics.extend(known.map(|(spec, value)| spec.of(scope(), value)));
    trial.phases.push(PhaseTotals {
        phase: u32::try_from(trial.phases.len()).unwrap_or(u32::MAX),
        wall_ns: nanoseconds(seconds).unwrap_or(0),
        name,
        ..PhaseTotals::default()
    });
}
