//! Results of fsperf, which keeps them in a database of SQLite: each run is a trial, under the
//! purpose that its user gave it.
//!
//! `database` turns such a database into lines of JSON, one for each run, and `metric` knows what
//! the columns mean.

pub(crate) mod database;
mod metric;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::{Log, without_control_characters};
use treering_kit::import::number::{moment_unix_ms, nanoseconds};
use treering_kit::import::trial::{ForeignTrial, ImportedTrial};
use treering_kit::import::{Importer, ParsedOutputs, Remark, TrialConsumer, collected};
use treering_model::{Metric, VARIANT_FACT, VERSION_FACT};

use metric::{TableKind, named};

/// Name of the tool.
const TOOL: &str = "fsperf";
/// First letters of the line of a run.
const OPENING: &str = "{\"fsperf_run\":";
/// Fact with the name of the machine.
const HOST_FACT: &str = "import.host";
/// Longest text of a run, in characters.
const TEXT_CHARS_MOST: usize = 200;
/// Largest number of remarks about lines; more are not told.
const REMARKS_MOST: usize = 20;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 1] = [KnownText {
    line: OPENING,
    numbers: LeftOutNumbers::Named(&["id"]),
    why: "the numbers of the rows of the database are no results",
}];

/// Importer of the lines of runs.
pub(super) struct FsperfImporter;

/// Line of a run.
#[derive(Deserialize, Serialize)]
struct RunLine {
    fsperf_run: RunFields,
    results: Vec<ResultRow>,
}

/// Row of the table of runs.
#[derive(Default, Deserialize, Serialize)]
struct RunFields {
    id: i64,
    #[serde(default)]
    kernel: String,
    #[serde(default)]
    config: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    hostname: String,
    #[serde(default)]
    purpose: String,
    #[serde(default)]
    time: String,
}

/// Row of a table of results.
#[derive(Deserialize, Serialize)]
struct ResultRow {
    table: String,
    /// Traced function, in the table of latencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    values: BTreeMap<String, f64>,
}

impl Importer for FsperfImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        log.line(at).starts_with(OPENING)
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        collected(|hand_on| self.read_each(log, at, hand_on))
    }

    fn read_each(
        &self,
        log: &mut Log<'_>,
        at: usize,
        hand_on: &mut TrialConsumer<'_>,
    ) -> ParsedOutputs {
        let mut remarks = Vec::new();
        let mut end = at;
        while self.begins(log, end) {
            match serde_json::from_str::<RunLine>(log.line(end)) {
                Ok(run) => {
                    let trial = ImportedTrial::Foreign(Box::new(trial(run)));
                    if hand_on(trial).is_break() {
                        end += 1;
                        break;
                    }
                }
                Err(error) if remarks.len() < REMARKS_MOST => {
                    let what = format!("this run of fsperf cannot be read: {error}; left out");
                    remarks.push(Remark { line: end + 1, what });
                }
                Err(_) => {}
            }
            end += 1;
            log.forget_before(end);
        }
        ParsedOutputs { end, outputs: Vec::new(), remarks }
    }
}

fn trial(run: RunLine) -> ForeignTrial {
    let RunLine { fsperf_run: fields, results } = run;
    let text = |text: &str| -> String {
        without_control_characters(text).trim().chars().take(TEXT_CHARS_MOST).collect()
    };
    let mut trial = ForeignTrial {
        workload: TOOL,
        name: text(&fields.purpose),
        started_unix_ms: moment_unix_ms(&fields.time).filter(|ms| *ms > 0),
        is_round: true,
        // A database grows: runs that were imported before are known again.
        stands_alone: true,
        ..ForeignTrial::default()
    };
    trial.record_tool(None);
    trial.parameter("test", text(&fields.name));
    trial.parameter("config", text(&fields.config));
    for (name, value) in [
        (VERSION_FACT, &fields.kernel),
        (VARIANT_FACT, &fields.config),
        (HOST_FACT, &fields.hostname),
    ] {
        if !value.trim().is_empty() {
            trial.fact(name, text(value));
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &results {
        let number = counts.entry(&row.table).or_default();
        *number += 1;
        let Some(table) = TableKind::named(&row.table) else { continue };
        let function = row.function.as_deref().map(&text);
        let before = trial.metrics.len();
        for (column, value) in &row.values {
            // A zero is what fsperf writes for what was not measured.
            let Some(metric) = named(table, function.as_deref(), column, *value) else { continue };
            let has = |others: &[Metric]| others.iter().any(|other| other.name == metric.name);
            // The same amount may also stand there in kilobytes.
            if has(&trial.metrics[before..]) {
                continue;
            }
            let is_taken = has(&trial.metrics);
            let mut metric = metric;
            if is_taken {
                metric.name = format!("{} {number} {}", table.title(), metric.name);
            }
            if table == TableKind::Time && column == "elapsed" {
                trial.wall_ns = nanoseconds(*value).unwrap_or(0);
            }
            trial.metrics.push(metric);
        }
    }
    trial
}

#[cfg(test)]
mod tests {
    use super::{ResultRow, RunFields, RunLine, trial};

    fn row(table: &str, values: &[(&str, f64)]) -> ResultRow {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        ResultRow { table: table.to_owned(), function: None, values }
    }

    #[test]
    fn a_second_job_of_a_run_has_names_of_its_own() {
        let results = vec![
            row("fio_results", &[("read_iops", 12.5), ("write_iops", 0.0)]),
            row("fio_results", &[("read_iops", 14.5)]),
            row("notes", &[("read_iops", 3.0)]),
        ];
        let run = trial(RunLine { fsperf_run: RunFields::default(), results });
        let metrics: Vec<(&str, f64)> =
            run.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        assert_eq!(metrics, [("read_iops", 12.5), ("fio 2 read_iops", 14.5)]);
    }
}
