//! Documents of `hyperfine --export-json`: a command is a side, and each of its runs is a trial.

use std::collections::BTreeMap;
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};

use serde::Deserialize;
use serde_json::Value;
use treering_kit::import::document::opening;
use treering_kit::import::log::{Log, shortened};
use treering_kit::import::number::nanoseconds;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};
use treering_model::metrics::{general, times};
use treering_model::{ROUND_FACT, Scope, VARIANT_FACT};

use super::{ParsedDocument, document, measured};

/// Name of the program.
const TOOL: &str = "hyperfine";
/// First letters of every document, without blanks.
const OPENING: &str = "{\"results\":[{\"command\":";
/// Prefix of the facts with the parameters of a command.
const PARAMETER_PREFIX: &str = "import.parameter.";

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 1] = [KnownText {
    line: "",
    numbers: LeftOutNumbers::Named(&[
        "mean",
        "stddev",
        "median",
        "min",
        "max",
        "user",
        "system",
        "exit_codes",
    ]),
    why: "statistics follow from the runs, and CPU times are means of them",
}];

/// Importer of the documents of hyperfine.
pub(super) struct HyperfineImporter;

impl Importer for HyperfineImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        opening(log, at).starts_with(OPENING)
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let read: ParsedDocument<Export> = document(log, at, TOOL, |line| self.begins(log, line));
        let mut remarks = Vec::new();
        let mut trials = Vec::new();
        match read.content {
            Ok(export) => {
                let is_alone = export.results.len() == 1;
                for result in &export.results {
                    let mut say = |what: String| remarks.push(Remark { line: at + 1, what });
                    trials.extend(result.trials(is_alone, &mut say));
                }
            }
            Err(remark) => remarks.push(remark),
        }
        ParsedOutputs::new(read.end, trials, remarks)
    }
}

#[derive(Deserialize)]
struct Export {
    results: Vec<CommandResult>,
}

/// Runs of one command.
#[derive(Deserialize)]
struct CommandResult {
    command: String,
    #[serde(default)]
    times: Vec<Option<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    memory_usage_byte: Vec<Option<f64>>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

impl CommandResult {
    /// Trials of the runs. The only command of a document gives no label, so that its file does.
    fn trials(&self, is_alone: bool, say: &mut dyn FnMut(String)) -> Vec<ForeignTrial> {
        let command = shortened(&self.command);
        if self.times.is_empty() {
            say(format!("the command {command} has no `times`: a mean alone has no rounds"));
        }
        let mut trials = Vec::new();
        for (number, time) in self.times.iter().enumerate() {
            let round = number + 1;
            let Some(seconds) = measured(*time) else {
                say(format!("run {round} of {command} has no time that can be; left out"));
                continue;
            };
            let mut trial = self.trial(round, is_alone);
            trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
            trial.metrics.push(times::ELAPSED_SECONDS.of(Scope::Trial, seconds).primary());
            let memory = measured(self.memory_usage_byte.get(number).copied().flatten());
            trial
                .metrics
                .extend(memory.map(|bytes| general::PEAK_MEMORY_BYTES.of(Scope::Trial, bytes)));
            match self.exit_codes.get(number) {
                Some(Some(0)) | None => {}
                Some(code) => {
                    trial.is_interrupted = true;
                    let ended = match code {
                        Some(code) => format!("ended with {code}"),
                        None => "was ended by a signal".to_owned(),
                    };
                    say(format!("run {round} of {command} {ended}; kept as interrupted"));
                }
            }
            trials.push(trial);
        }
        trials
    }

    fn trial(&self, round: usize, is_alone: bool) -> ForeignTrial {
        let name = if is_alone { String::new() } else { self.command.clone() };
        let mut trial =
            ForeignTrial { workload: TOOL, name, is_round: true, ..ForeignTrial::default() };
        trial.record_tool(None);
        trial.fact(VARIANT_FACT, &self.command);
        trial.fact(ROUND_FACT, round);
        for (name, value) in &self.parameters {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            trial.fact(&format!("{PARAMETER_PREFIX}{name}"), value);
        }
        trial
    }
}
