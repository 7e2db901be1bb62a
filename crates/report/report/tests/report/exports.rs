//! Exports are read back and checked.

use std::collections::BTreeSet;

use serde_json::Value;
use treering_model::{Trial, is_unsafe};
use treering_report::export::{EXPORT_VERSION, ExportForm, Exporter, export};

use crate::fixture;
use crate::hostile::is_harmless_csv;

fn exported(form: ExportForm, trials: &[Trial]) -> String {
    let mut bytes = Vec::new();
    export(form, trials, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn sample_trials() -> Vec<Trial> {
    vec![
        fixture::aging(),
        fixture::failed_at_once(),
        fixture::interrupted(),
        fixture::extreme(),
        fixture::hostile(),
    ]
}

/// Reads header and rows; asserts that every row is as long as the header.
fn read_csv(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        record.unwrap().iter().map(str::to_owned).collect()
    };
    (header, reader.records().map(row).collect())
}

fn field<'r>(header: &[String], row: &'r [String], name: &str) -> &'r str {
    let place = header.iter().position(|column| column == name).unwrap();
    &row[place]
}

#[test]
fn json_round_trips_trials() {
    let text = exported(ExportForm::Json, &sample_trials());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["treering_export"]["version"], EXPORT_VERSION);
    let again: Vec<Trial> = serde_json::from_value(value["trials"].clone()).unwrap();
    assert_eq!(again, sample_trials());
}

#[test]
fn json_has_quantiles_beside_the_buckets() {
    let trial = fixture::aging();
    let text = exported(ExportForm::Json, std::slice::from_ref(&trial));
    let value: Value = serde_json::from_str(&text).unwrap();
    let op = &value["trials"][0]["tasks"][0]["ops"][0];
    let latency = &trial.tasks[0].ops[0].latency;
    assert_eq!(op["latency_ns"]["timed"], latency.samples());
    assert_eq!(op["latency_ns"]["p50"], latency.quantile_ns(0.5));
    assert_eq!(op["latency_ns"]["max"], latency.max_ns());
    assert_eq!(op["latency"].as_array().unwrap().len(), latency.buckets().count());
    assert!(value["trials"][0]["phases"][1]["ops"][0]["latency_ns"]["p99"].is_u64());
}

/// Field names are stable: a change here requires a new version of the export.
#[test]
fn json_keeps_its_shape() {
    let text = exported(ExportForm::Json, &[fixture::aging()]);
    let value: Value = serde_json::from_str(&text).unwrap();
    let mut paths = BTreeSet::new();
    collect_paths(&value, String::new(), &mut paths);
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        let paths: Vec<String> = paths.into_iter().collect();
        insta::assert_snapshot!("export.json_shape", paths.join("\n"));
    });
}

fn collect_paths(value: &Value, path: String, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                collect_paths(inner, format!("{path}.{name}"), paths);
            }
        }
        Value::Array(items) => {
            for inner in items {
                collect_paths(inner, format!("{path}[]"), paths);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            paths.insert(path);
        }
    }
}

#[test]
fn json_streams_one_trial_at_a_time() {
    let trials = [fixture::aging(), fixture::failed_at_once()];
    let mut bytes = Vec::new();
    let mut exporter = Exporter::begin(ExportForm::Json, &mut bytes).unwrap();
    for trial in &trials {
        exporter.trial(trial).unwrap();
    }
    exporter.finish().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text, exported(ExportForm::Json, &trials));
    // Two lines of opening and closing, and one line for each trial.
    assert_eq!(text.lines().count(), 4);
    for (line, trial) in text.lines().skip(1).zip(&trials) {
        let again: Trial = serde_json::from_str(line.trim_end_matches(',')).unwrap();
        assert_eq!(again, *trial);
    }
}

#[test]
fn an_empty_export_is_valid() {
    let value: Value = serde_json::from_str(&exported(ExportForm::Json, &[])).unwrap();
    assert_eq!(value["trials"], Value::Array(Vec::new()));
    for form in ExportForm::ALL.into_iter().filter(|&form| form != ExportForm::Json) {
        assert_eq!(read_csv(&exported(form, &[])).1.len(), 0, "{}", form.name());
        assert_eq!(ExportForm::by_name(form.name()), Some(form));
    }
    assert_eq!(ExportForm::by_name("xml"), None);
}

#[test]
fn tables_keep_their_columns() {
    let mut headers = String::new();
    for form in ExportForm::ALL.into_iter().filter(|&form| form != ExportForm::Json) {
        let text = exported(form, &[fixture::aging()]);
        for line in text.split("\r\n").take(3) {
            headers.push_str(line);
            headers.push('\n');
        }
    }
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("export.csv_forms", headers);
    });
}

#[test]
fn one_row_per_task_with_exact_values() {
    let trials = sample_trials();
    let (header, rows) = read_csv(&exported(ExportForm::Csv, &trials));
    let tasks: Vec<_> =
        trials.iter().flat_map(|trial| trial.tasks.iter().map(move |task| (trial, task))).collect();
    assert_eq!(rows.len(), tasks.len());
    for (row, (trial, task)) in rows.iter().zip(tasks) {
        let get = |name| field(&header, row, name);
        assert_eq!(get("trial"), trial.beginning.trial.text());
        if *trial != fixture::hostile() {
            assert_eq!(get("label"), trial.beginning.label);
            assert_eq!(get("kind"), task.kind);
            assert_eq!(get("subject"), task.subject);
        }
        assert_eq!(get("bytes"), task.bytes.to_string());
        assert!((get("seconds").parse::<f64>().unwrap() - task.seconds()).abs() < 1e-6);
        let is_rated = task.wall_ns > 0 && task.files > 0;
        assert_eq!(get("files_per_s").is_empty(), !is_rated);
    }
}

#[test]
fn one_row_per_call_kind_second_and_metric() {
    let trials = sample_trials();
    let count = |of: fn(&Trial) -> usize| trials.iter().map(of).sum::<usize>();
    let of_tasks = count(|trial| trial.tasks.iter().map(|task| task.ops.len()).sum());
    let of_phases = count(|trial| trial.phases.iter().map(|phase| phase.ops.len()).sum());
    let (header, rows) = read_csv(&exported(ExportForm::CsvOps, &trials));
    let scoped = |scope| rows.iter().filter(|row| field(&header, row, "scope") == scope).count();
    assert_eq!((scoped("task"), scoped("phase")), (of_tasks, of_phases));
    let seconds = count(|trial| trial.phases.iter().map(|phase| phase.intervals.len()).sum());
    assert_eq!(read_csv(&exported(ExportForm::CsvIntervals, &trials)).1.len(), seconds);
    let (header, rows) = read_csv(&exported(ExportForm::CsvMetrics, &trials));
    assert_eq!(rows.len(), count(|trial| trial.metrics.len()));
    let values = rows.iter().map(|row| field(&header, row, "value").parse::<f64>().unwrap());
    let metrics = trials.iter().flat_map(|trial| &trial.metrics);
    assert!(values.eq(metrics.map(|metric| metric.value)));
}

#[test]
fn table_cells_hold_no_control_characters_or_formulas() {
    for form in ExportForm::ALL.into_iter().filter(|&form| form != ExportForm::Json) {
        is_harmless_csv(&exported(form, &sample_trials()));
    }
    // JSON is shown on terminals, too.
    let json = exported(ExportForm::Json, &sample_trials());
    assert!(!json.chars().any(|c| c != '\n' && is_unsafe(c)));
}

/// A writer that always fails, like a full disk or a closed pipe.
struct FailingWriter;

impl std::io::Write for FailingWriter {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_is_an_error_of_its_own_kind() {
    for form in ExportForm::ALL {
        let error = export(form, &[fixture::aging()], &mut FailingWriter).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{}", form.name());
    }
}
