//! Reports of PostMark: whole, in other text, truncated, of old versions, and any bytes.

use std::ops::ControlFlow;

use proptest::prelude::*;
use treering_kit::import::Importer;
use treering_kit::import::log::Log;
use treering_kit::import::trial::{ForeignTrial, ImportedTrial};

use super::PostmarkImporter;

/// Invented session at the prompt, in the format of version 1.51.
const REPORT: &str = "PostMark v1.51 : 8/14/01
pm>set size 1000 9000
pm>set number 300
pm>set transactions 900
pm>run
Creating files...Done
Performing transactions..........Done
Deleting files...Done
Time:
\t60 seconds total
\t40 seconds of transactions (22 per second)

Files:
\t750 created (12 per second)
\t\tCreation alone: 300 files (30 per second)
\t\tMixed with transactions: 450 files (11 per second)
\t430 read (10 per second)
\t470 appended (11 per second)
\t750 deleted (12 per second)
\t\tDeletion alone: 300 files (33 per second)
\t\tMixed with transactions: 450 files (11 per second)

Data:
\t3.00 megabytes read (51.20 kilobytes per second)
\t6.00 megabytes written (102.40 kilobytes per second)
pm>quit
";

static IMPORTERS: &[&dyn Importer] = &[&PostmarkImporter];

/// Imports a text: its trials, the remarks, and the number of lines that belong to reports.
fn import(text: &str) -> (Vec<ForeignTrial>, Vec<String>, usize) {
    let mut log = Log::of_bytes(text.as_bytes(), IMPORTERS);
    let (mut trials, mut remarks, mut lines, mut at) = (Vec::new(), Vec::new(), 0, 0);
    while at < log.len() {
        if !PostmarkImporter.begins(&log, at) {
            at += 1;
            continue;
        }
        let reading = PostmarkImporter.read_each(&mut log, at, &mut |content| {
            if let ImportedTrial::Foreign(trial) = content {
                trials.push(*trial);
            }
            ControlFlow::Continue(())
        });
        assert!(reading.end > at && reading.end <= log.len(), "{} behind {at}", reading.end);
        remarks.extend(reading.remarks.into_iter().map(|remark| remark.what));
        lines += reading.end - at;
        at = reading.end;
    }
    (trials, remarks, lines)
}

/// Full names and values of the metrics of a trial.
fn metrics(trial: &ForeignTrial) -> Vec<(String, f64)> {
    trial.metrics.iter().map(|metric| (metric.full_name(), metric.value)).collect()
}

fn value(trial: &ForeignTrial, name: &str) -> Option<f64> {
    metrics(trial).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[test]
fn a_whole_report_is_read() {
    let (trials, remarks, lines) = import(REPORT);
    assert_eq!((trials.len(), remarks, lines), (1, Vec::new(), 17));
    let trial = &trials[0];
    assert_eq!(trial.facts[0].value, "postmark 1.51");
    let parameters: Vec<String> =
        trial.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(parameters, ["number=300", "size-low=1000", "size-high=9000", "transactions=900"]);
    let wanted = [
        ("elapsed_seconds", 60.0),
        ("transaction/operations_per_second", 22.0),
        ("transaction/seconds", 40.0),
        ("create/files_per_second", 30.0),
        ("transaction create/files_per_second", 11.25),
        ("transaction read/files_per_second", 10.75),
        ("transaction append/files_per_second", 11.75),
        ("delete/files_per_second", 33.0),
        ("transaction delete/files_per_second", 11.25),
        ("read_mib_per_second", 0.05),
        ("write_mib_per_second", 0.1),
    ];
    let imported = metrics(trial);
    assert_eq!(imported.len(), wanted.len());
    for ((name, value), (known, expected)) in imported.iter().zip(wanted) {
        assert!(name == known && (value - expected).abs() < 1e-9, "{name}: {value}");
    }
    let primary: Vec<&str> = trial
        .metrics
        .iter()
        .filter(|metric| metric.primary)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(primary, ["operations_per_second"]);
    assert_eq!(trial.phases.iter().map(|phase| phase.files).collect::<Vec<_>>(), [300, 900, 300]);
    assert_eq!(trial.wall_ns, 60_000_000_000);
    assert!(!trial.is_interrupted);
}

#[test]
fn report_without_session_has_only_printed_parameters() {
    let (_, report) = REPORT.split_once("Deleting files...Done\n").unwrap();
    let (trials, _, _) = import(&format!("Results of the week:\n\n{report}Bye\n{report}"));
    assert_eq!(trials.len(), 2);
    for trial in trials {
        assert_eq!(trial.facts[0].value, "postmark");
        assert_eq!(trial.parameters, [("number".to_owned(), "300".to_owned())]);
    }
}

#[test]
fn each_run_of_a_session_has_the_options_set_before_it() {
    let (session, report) = REPORT.split_once("pm>run").unwrap();
    let report = report.strip_suffix("pm>quit\n").unwrap();
    let text = format!("{session}pm>run{report}pm>set size 77\npm>run{report}pm>quit\n");
    let (trials, _, _) = import(&text);
    let size = |trial: &ForeignTrial| {
        trial.parameters.iter().find(|(name, _)| name == "size-high").unwrap().1.clone()
    };
    assert_eq!(trials.iter().map(size).collect::<Vec<_>>(), ["9000", "77"]);
}

#[test]
fn truncated_coarse_and_contradicting_reports_are_remarked() {
    let says = |text: &str, words: &str| {
        let (trials, remarks, _) = import(text);
        assert!(remarks.iter().any(|remark| remark.contains(words)), "{words}: {remarks:?}");
        trials.into_iter().next().unwrap()
    };
    let (torn, _) = REPORT.split_once("\nData").unwrap();
    let trial = says(torn, "truncated");
    assert!(trial.is_interrupted);
    assert_eq!(value(&trial, "read_mib_per_second"), None);
    let (torn, _) = REPORT.split_once("\nFiles").unwrap();
    assert!(says(torn, "truncated").parameters.iter().all(|(name, _)| name != "number"));
    says(&REPORT.replace("40 seconds of", "1 seconds of"), "known to no more than 100 %");
    says(&REPORT.replace("750 created", "751 created"), "751 files were created, but 300 alone");
    // A printed rate that contradicts count and seconds is kept.
    let (trials, _, _) = import(&REPORT.replace("430 read (10", "430 read (12"));
    assert_eq!(value(&trials[0], "transaction read/files_per_second"), Some(12.0));
    let trial = says(&REPORT.replace("v1.51", "v1.13"), "count megabytes otherwise");
    assert_eq!(value(&trial, "write_mib_per_second"), None);
    assert!(!trial.is_interrupted);
}

#[test]
fn similar_foreign_text_is_no_report() {
    for text in ["Time:\n", "Time:\n14 seconds total\n", "14 seconds total\nbye\n", "Files:\n"] {
        let (trials, _, _) = import(text);
        assert!(trials.is_empty(), "{text}");
    }
}

/// Generates lines of a report: whole, torn, with other numbers, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let line = prop::sample::select(REPORT.lines().map(str::to_owned).collect::<Vec<_>>());
    let torn = (line.clone(), 0..60_usize).prop_map(|(line, at)| line.chars().take(at).collect());
    let large = line.clone().prop_map(|line| line.replace(['0', '1', '4'], "99999999"));
    let empty = line.clone().prop_map(|line| line.replace(char::is_numeric, "0"));
    let any = prop_oneof![4 => line, 1 => torn, 1 => large, 1 => empty, 1 => ".{0,40}"];
    prop::collection::vec(any, 0..80).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn corrupted_reports_give_finite_numbers(text in pieces()) {
        let (trials, _, _) = import(&text);
        for trial in trials {
            prop_assert!(trial.metrics.iter().all(|metric| metric.value.is_finite()));
        }
    }

    #[test]
    fn numbers_of_any_size_are_parsed_or_dropped(
        seconds in any::<u64>(),
        count in any::<u64>(),
    ) {
        let text = REPORT
            .replace("60 seconds", &format!("{seconds} seconds"))
            .replace("40 seconds of", &format!("{seconds} seconds of"))
            .replace("450 files", &format!("{count} files"));
        let (trials, _, _) = import(&text);
        prop_assert_eq!(trials.len(), 1);
        prop_assert!(trials[0].metrics.iter().all(|metric| metric.value.is_finite()));
    }
}
