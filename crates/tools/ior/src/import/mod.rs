//! Output of ior 2.10 to 4.1: the options, a line for each write and read, and the summary.
//!
//! Rates come from the lines of the tests, or from the summary if there are none.

mod lines;

use treering_model::metrics::rates::{MIB_PER_SECOND, REPETITION_MIB_PER_SECOND};
use treering_model::{Scope, USED_FACT};

use lines::{AccessSide, OutputLine, SummaryLine, line};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::{ForeignTrial, ImportedTrial};
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Reads output of ior.
pub(crate) struct IorImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "ior";

impl Importer for IorImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        matches!(line(log.line(at)), Some(OutputLine::Version(_)))
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while let Some(parsed) = stretch.next_parsed(log, line) {
            if matches!(parsed, OutputLine::Version(_)) && run.version.is_some() {
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
        let trial = run.trial();
        if trial.is_none() {
            let message =
                "ior has no results: its run failed or its output is truncated".to_owned();
            remarks.push(Remark { line: at + 1, what: message });
        }
        let outputs = trial.map(|trial| ImportedTrial::Foreign(Box::new(trial)));
        ParsedOutputs { end: stretch.end(), outputs: outputs.into_iter().collect(), remarks }
    }
}

/// A run, put together line by line.
#[derive(Default)]
struct ParsedRun {
    version: Option<String>,
    began_unix_ms: Option<i64>,
    finished_unix_ms: Option<i64>,
    path: String,
    used_percent: Option<f64>,
    arguments: Vec<String>,
    parameters: Vec<(&'static str, String)>,
    rows: Vec<(AccessSide, f64)>,
    summaries: Vec<SummaryLine>,
}

impl ParsedRun {
    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Version(version) => self.version = Some(version),
            OutputLine::Began(at) => self.began_unix_ms = at,
            OutputLine::Finished(at) => self.finished_unix_ms = at,
            OutputLine::Path(path) => self.path = path,
            OutputLine::Used(percent) => self.used_percent = Some(percent),
            OutputLine::Command(arguments) => self.arguments = arguments,
            OutputLine::Option(name, value) => self.parameters.push((name, value)),
            OutputLine::Row(side, rate) => self.rows.push((side, rate)),
            OutputLine::Summary(summary) => self.summaries.push(summary),
            OutputLine::Furniture => {}
        }
    }

    fn trial(self) -> Option<ForeignTrial> {
        let mut trial = ForeignTrial {
            workload: TOOL,
            target: self.path.clone(),
            started_unix_ms: self.began_unix_ms,
            ..ForeignTrial::default()
        };
        for side in [AccessSide::Write, AccessSide::Read] {
            self.tell(&mut trial, side);
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
        if let Some(percent) = self.used_percent {
            trial.fact(USED_FACT, percent);
        }
        trial.ended(self.finished_unix_ms);
        Some(trial)
    }

    /// Adds the rates of a direction: the mean over its repetitions, and their spread.
    fn tell(&self, trial: &mut ForeignTrial, side: AccessSide) {
        let rates = self.rows.iter().filter(|(of, _)| *of == side).map(|(_, rate)| *rate);
        let rates: Vec<f64> = rates.filter(|rate| rate.is_finite() && *rate > 0.0).collect();
        let summary = self.summaries.iter().find(|summary| summary.side == side);
        let count = rates.len() as f64;
        let (mean, spread, repetitions) = if rates.is_empty() {
            let Some(SummaryLine { max, min, mean, .. }) = summary else { return };
            (*mean, [*max, *min], 1)
        } else {
            let max = rates.iter().copied().fold(f64::MIN, f64::max);
            let min = rates.iter().copied().fold(f64::MAX, f64::min);
            (rates.iter().sum::<f64>() / count, [max, min], rates.len() as u64)
        };
        if !mean.is_finite() || mean <= 0.0 {
            return;
        }
        let of = || Scope::Kind(side.word().to_owned());
        trial.metrics.push(MIB_PER_SECOND.of(of(), mean).primary().of_tasks(repetitions));
        if repetitions > 1 || rates.is_empty() {
            for (word, value) in ["max", "min"].into_iter().zip(spread) {
                let metric = REPETITION_MIB_PER_SECOND.of_member(&[word], of(), value);
                trial.metrics.push(metric.of_tasks(repetitions));
            }
        }
    }
}
