//! Results of programs that measure anything: tables of numbers, hyperfine, Google Benchmark.

use treering_model::{BetterDirection, Scope, Unit};
use treering_registry::{ForeignTrial, ImportResult, ImportedTrial, import};

/// Document as hyperfine 1.18 writes it, of two commands with three runs each.
pub(crate) const HYPERFINE: &str = r#"{
  "results": [
    {
      "command": "sort --parallel 1 words.txt",
      "mean": 1.25,
      "stddev": 0.05,
      "median": 1.25,
      "user": 1.1,
      "system": 0.1,
      "min": 1.2,
      "max": 1.3,
      "times": [
        1.25,
        1.3,
        1.2
      ],
      "memory_usage_byte": [
        4096000,
        4100096,
        4096000
      ],
      "exit_codes": [
        0,
        0,
        0
      ],
      "parameters": {
        "threads": "1"
      }
    },
    {
      "command": "sort --parallel 2 words.txt",
      "mean": 0.8,
      "stddev": null,
      "median": 0.8,
      "user": 1.2,
      "system": 0.1,
      "min": 0.7,
      "max": 0.9,
      "times": [
        0.8,
        0.9,
        0.7
      ],
      "exit_codes": [
        0,
        1,
        null
      ]
    }
  ]
}
"#;

/// Document as Google Benchmark 1.7 writes it, of two benchmarks with two repetitions each.
pub(crate) const GOOGLE_BENCHMARK: &str = r#"{
  "context": {
    "date": "2026-04-03T22:55:12+02:00",
    "host_name": "oak",
    "executable": "./bench",
    "num_cpus": 8,
    "mhz_per_cpu": 2400,
    "cpu_scaling_enabled": false,
    "caches": [
      {"type": "Data", "level": 1, "size": 32768, "num_sharing": 2}
    ],
    "load_avg": [0.5,0.25,0.125],
    "library_build_type": "release"
  },
  "benchmarks": [
    {"name": "walk/8", "run_name": "walk/8", "run_type": "iteration", "repetitions": 2,
     "repetition_index": 0, "threads": 1, "iterations": 402,
     "real_time": 1.5e+03, "cpu_time": 1.25e+03, "time_unit": "ns",
     "items_per_second": 2000.0, "bytes_per_second": 2097152.0, "depth": 3.0},
    {"name": "walk/8", "run_name": "walk/8", "run_type": "iteration", "repetitions": 2,
     "repetition_index": 1, "threads": 1, "iterations": 402,
     "real_time": 1.75e+03, "cpu_time": 1.5e+03, "time_unit": "ns"},
    {"name": "walk/8_mean", "run_name": "walk/8", "run_type": "aggregate",
     "aggregate_name": "mean", "iterations": 2,
     "real_time": 1.625e+03, "cpu_time": 1.375e+03, "time_unit": "ns"},
    {"name": "walk/8_cv", "run_name": "walk/8", "run_type": "aggregate",
     "aggregate_name": "cv", "aggregate_unit": "percentage", "iterations": 2,
     "real_time": NaN, "cpu_time": 5e-02, "time_unit": "ns"},
    {"name": "sum", "run_name": "sum", "run_type": "iteration", "repetition_index": 0,
     "real_time": 2.5, "cpu_time": 2.5, "time_unit": "ms"},
    {"name": "sum", "run_name": "sum", "run_type": "iteration", "repetition_index": 1,
     "error_occurred": true, "error_message": "no room", "real_time": 0.0, "cpu_time": 0.0}
  ]
}
"#;

/// Table of a history with all columns.
pub(crate) const TABLE: &str = "\
time,version,commit,metric,value,unit,direction,variant,round,link
2026-04-03T20:55:12Z,1.0.1,7b26a38,parse,13.93,ns/iter,lower,gcc,1,https://example.org/7b26a38
2026-04-03T20:55:12Z,1.0.1,7b26a38,parse,14.10,ns/iter,lower,gcc,2,https://example.org/7b26a38
2026-04-03T20:55:12Z,1.0.1,7b26a38,copy,200,MB/s,higher,gcc,1,https://example.org/7b26a38
2026-04-04,1.0.2,6fc44d4,parse,-0,us,lower,clang,1,
";

fn foreign(content: &ImportedTrial) -> &ForeignTrial {
    match content {
        ImportedTrial::Foreign(trial) => trial,
        ImportedTrial::Own(_) => panic!("a trial of treering"),
    }
}

fn trials(imported: &ImportResult) -> Vec<&ForeignTrial> {
    imported.found.iter().map(|found| foreign(&found.content)).collect()
}

fn remarks(text: &str) -> Vec<String> {
    let imported = import(text.as_bytes());
    imported.remarks.iter().map(|remark| format!("{}: {}", remark.line, remark.what)).collect()
}

fn fact<'t>(trial: &'t ForeignTrial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

/// Values of a table of one metric, with the remarks.
fn values(rows: &str) -> (Vec<f64>, Vec<String>) {
    let text = format!("time,metric,value,unit,direction\n{rows}\n");
    let imported = import(text.as_bytes());
    (trials(&imported).iter().map(|trial| trial.metrics[0].value).collect(), remarks(&text))
}

#[test]
fn runs_of_hyperfine_are_rounds_and_commands_are_sides() {
    let imported = import(HYPERFINE.as_bytes());
    let all = trials(&imported);
    assert_eq!(all.len(), 6);
    assert!(imported.found.iter().all(|found| found.tool == "hyperfine" && found.lines == (1, 52)));
    let seconds: Vec<f64> = all.iter().map(|trial| trial.metrics[0].value).collect();
    assert_eq!(seconds, [1.25, 1.3, 1.2, 0.8, 0.9, 0.7]);
    assert!(all.iter().all(|trial| trial.metrics[0].name == "elapsed_seconds"));
    assert!(all.iter().all(|trial| trial.metrics[0].primary && trial.is_round));
    assert_eq!(all[0].name, "sort --parallel 1 words.txt");
    assert_eq!(all[0].wall_ns, 1_250_000_000);
    assert_eq!(all[1].metrics[1].value, 4_100_096.0);
    assert_eq!(fact(all[1], "import.round"), Some("2"));
    assert_eq!(fact(all[1], "import.parameter.threads"), Some("1"));
    assert_eq!(fact(all[3], "import.variant"), Some("sort --parallel 2 words.txt"));
    let failed: Vec<bool> = all.iter().map(|trial| trial.is_interrupted).collect();
    assert_eq!(failed, [false, false, false, false, true, true]);
    assert_eq!(
        remarks(HYPERFINE),
        [
            "1: run 2 of `sort --parallel 2 words.txt` ended with 1; kept as interrupted",
            "1: run 3 of `sort --parallel 2 words.txt` was ended by a signal; kept as interrupted"
        ]
    );
}

#[test]
fn a_single_command_leaves_its_label_to_the_file() {
    let text = r#"{"results":[{"command":"true","times":[0.5,0.25]}]}"#;
    let imported = import(text.as_bytes());
    assert_eq!(imported.remarks, []);
    assert!(trials(&imported).iter().all(|trial| trial.name.is_empty()));
}

#[test]
fn a_document_that_is_cut_says_where() {
    let cut = &HYPERFINE[..HYPERFINE.find("0.7,").unwrap()];
    let said = remarks(cut);
    assert!(said[0].starts_with("38: column "), "{said:?}");
    assert!(said[0].contains("this JSON of hyperfine cannot be read: EOF"), "{said:?}");
    let huge = HYPERFINE.replace("1.25,\n        1.3", "1.25,\n        1e400");
    assert!(remarks(&huge)[0].contains("number out of range"), "{:?}", remarks(&huge));
    let negative = HYPERFINE.replace("        1.3,", "        -1.3,");
    assert!(remarks(&negative)[0].contains("has no time that can be"), "{:?}", remarks(&negative));
}

#[test]
fn repetitions_of_google_benchmark_are_rounds_and_aggregates_are_not() {
    let imported = import(GOOGLE_BENCHMARK.as_bytes());
    let all = trials(&imported);
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|trial| trial.started_unix_ms == Some(1_775_249_712_000)));
    let named: Vec<(String, f64)> =
        all[0].metrics.iter().map(|metric| (metric.full_name(), metric.value)).collect();
    assert_eq!(
        named,
        [
            ("walk/8/iteration_nanoseconds".into(), 1500.0),
            ("walk/8/iteration_cpu_nanoseconds".into(), 1250.0),
            ("walk/8/operations_per_second".into(), 2000.0),
            ("walk/8/mib_per_second".into(), 2.0),
            ("sum/iteration_nanoseconds".into(), 2_500_000.0),
            ("sum/iteration_cpu_nanoseconds".into(), 2_500_000.0)
        ]
    );
    assert_eq!(all[1].metrics[0].scope, Scope::Kind("walk/8".into()));
    assert_eq!(all[1].metrics.len(), 2, "the repetition that failed has none");
    assert_eq!(fact(all[0], "benchmark.host_name"), Some("oak"));
    assert_eq!(
        remarks(GOOGLE_BENCHMARK),
        [
            "1: `sum` was not measured `no room`; left out",
            "1: counters are not read, as no direction of theirs is better: `depth`"
        ]
    );
}

#[test]
fn versions_that_do_not_name_aggregates_are_read_by_the_names() {
    let text = r#"{"context": {"date": "2026-04-03 20:55:12", "num_cpus": 4},
      "benchmarks": [
        {"name": "walk", "iterations": 10, "real_time": 10, "cpu_time": 9, "time_unit": "us"},
        {"name": "walk", "iterations": 10, "real_time": 12, "cpu_time": 11, "time_unit": "us"},
        {"name": "walk_mean", "iterations": 2, "real_time": 11, "cpu_time": 10, "time_unit": "us"},
        {"name": "walk_stddev", "iterations": 0, "real_time": 1, "cpu_time": 1, "time_unit": "us"},
        {"name": "geo_mean", "iterations": 9, "real_time": 3, "cpu_time": 3, "time_unit": "us"}
      ]}"#;
    let imported = import(text.as_bytes());
    let all = trials(&imported);
    let first: Vec<f64> = all.iter().map(|trial| trial.metrics[0].value).collect();
    assert_eq!(first, [10_000.0, 12_000.0]);
    assert_eq!(all[0].metrics[2].full_name(), "geo_mean/iteration_nanoseconds");
    let only_aggregates = text.replace("\"walk\"", "\"walk_median\"").replace("geo", "walk_cv");
    let only_aggregates =
        only_aggregates.replace("\"name\"", "\"run_type\":\"aggregate\",\"name\"");
    let said = remarks(&only_aggregates);
    assert!(said[0].contains("no repetition of a benchmark"), "{said:?}");
}

#[test]
fn rows_of_a_table_with_the_same_time_version_variant_and_round_are_a_trial() {
    let imported = import(TABLE.as_bytes());
    assert_eq!(imported.remarks, []);
    let all = trials(&imported);
    let names: Vec<(&str, usize)> =
        all.iter().map(|trial| (trial.name.as_str(), trial.metrics.len())).collect();
    assert_eq!(names, [("1.0.1", 2), ("1.0.1", 1), ("1.0.2", 1)]);
    let (parse, copy) = (&all[0].metrics[0], &all[0].metrics[1]);
    assert_eq!((parse.unit, parse.value), (Unit::Nanoseconds, 13.93));
    assert_eq!((copy.unit, copy.better), (Unit::MibPerSecond, BetterDirection::Higher));
    assert!((copy.value - 200e6 / 1_048_576.0).abs() < 1e-9);
    assert_eq!(all[0].started_unix_ms, Some(1_775_249_712_000));
    assert_eq!(all[2].started_unix_ms, Some(1_775_260_800_000));
    assert!(all[2].metrics[0].value.is_sign_positive(), "a negative zero is a zero");
    assert_eq!(fact(all[0], "version"), Some("1.0.1"));
    assert_eq!(fact(all[0], "commit"), Some("7b26a38"));
    assert_eq!(fact(all[0], "link"), Some("https://example.org/7b26a38"));
    assert_eq!(fact(all[2], "import.variant"), Some("clang"));
    assert_eq!(fact(all[2], "link"), None);
}

#[test]
fn the_same_table_is_read_with_other_separators_line_ends_and_quotes() {
    let wanted = import(TABLE.as_bytes());
    let quoted: Vec<String> =
        TABLE.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect();
    let quoted = quoted.concat();
    for text in [
        TABLE.replace(',', ";"),
        TABLE.replace(',', "\t"),
        TABLE.replace('\n', "\r\n"),
        format!("\u{feff}{TABLE}"),
        format!("\u{feff}{quoted}"),
        quoted,
        TABLE.to_uppercase().lines().next().unwrap().to_owned()
            + &TABLE[TABLE.find('\n').unwrap()..],
    ] {
        let imported = import(text.as_bytes());
        assert_eq!(imported.remarks, [], "{text}");
        assert_eq!(imported.found, wanted.found, "{text}");
    }
}

#[test]
fn rows_without_a_round_that_repeat_a_metric_are_rounds() {
    let (found, said) = values("2026-04-03,a,1,s,lower\n2026-04-03,a,2,s,lower");
    assert_eq!((found, said), (vec![1.0, 2.0], vec![]));
    let twice = TABLE.replace(",2,https", ",1,https");
    let said = remarks(&twice);
    assert_eq!(said, ["3: a row above has the same round and metric `parse`; row left out"]);
}

#[test]
fn a_row_that_turns_the_direction_of_its_metric_is_left_out() {
    let (found, said) = values("2026-04-03,a,1,s,lower\n2026-04-04,a,2,s,higher");
    assert_eq!(found, vec![1.0]);
    assert_eq!(said, ["3: line 2 gives `a` the other better direction; row left out"]);
}

#[test]
fn a_number_that_is_none_is_named_with_its_line_and_column() {
    for (field, why) in [
        ("NaN", "a finite number"),
        ("inf", "a finite number"),
        ("0x10", "a finite number"),
        ("", "it is empty"),
        ("1e400", "larger than any"),
        ("\"1,5\"", "a point before its decimals"),
        ("1 000", "a finite number"),
    ] {
        let row = format!("2026-04-03,a,1,s,lower\n2026-04-04,a,{field},s,lower");
        let (found, said) = values(&row);
        assert_eq!(found, [1.0], "{field}");
        assert!(said[0].starts_with("3: column 3 'value': "), "{said:?}");
        assert!(said[0].contains(why) && said[0].ends_with("; row left out"), "{said:?}");
    }
    let (_, said) = values("soon,a,1,s,lower");
    assert!(said[0].starts_with("2: column 1 'time': `soon`: a time is written like"), "{said:?}");
    let (_, said) = values("2026-04-03,a,1,s,lowr");
    assert!(said[0].contains("higher or lower (is it lower?)"), "{said:?}");
    let (_, said) = values("2026-04-03,a,1,s,lower,6");
    assert!(said[0].contains("it has 6 fields, and the first line has 5"), "{said:?}");
    let (_, said) = values("2026-04-03,\"a,1,s,lower");
    assert!(said[0].contains("the quotation mark of field 2 is not closed"), "{said:?}");
}

#[test]
fn a_table_without_a_needed_column_names_it_and_the_nearest() {
    let text = "timestamp,version,commit,benchmark,time_ns,unit\n2026-04-03,1,a,b,4.5,ns\n";
    let imported = import(text.as_bytes());
    assert!(imported.found.is_empty());
    assert_eq!(
        remarks(text),
        ["1: this table has no column 'value' and no column 'direction'; it needs time, metric, \
          value, unit, direction; not understood: `time_ns`"]
    );
    let text = "time,metric,valeu,unit,direction_is\n2026-04-03,a,1,s,lower\n";
    assert_eq!(
        remarks(text),
        ["1: this table has no column 'value' (is it `valeu`?) and no column 'direction' (is it \
          `direction_is`?); it needs time, metric, value, unit, direction; not understood: \
          `valeu`, `direction_is`"]
    );
    for twice in ["time,metric,value,value,unit,direction", "time,date,metric,value,unit,direction"]
    {
        let said = remarks(&format!("{twice}\n2026-04-03,2026-04-03,a,1,s,lower\n"));
        assert!(said[0].contains("are both the "), "{said:?}");
        assert_eq!(said.len(), 1);
    }
}

#[test]
fn a_history_with_a_column_for_each_metric_is_refused_with_the_way_out() {
    let said = remarks("time,commit,read,write\n2024.01.01 3:00:00 +0100,aaa0,154023,10.43\n");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("no column 'metric' and no column 'value'"), "{said:?}");
    assert!(
        said[0].ends_with("; a column for each metric has to become a row for each value"),
        "{said:?}"
    );
}

#[test]
fn unknown_units_and_columns_are_named_once() {
    let text = "time,metric,value,unit,direction,host\n\
                2026-04-03,speed,1,furlongs,higher,oak\n2026-04-04,speed,2,furlongs,higher,oak\n";
    let imported = import(text.as_bytes());
    let all = trials(&imported);
    assert_eq!(all[0].metrics[0].name, "speed (furlongs)");
    assert_eq!(all[0].metrics[0].unit, Unit::Count);
    assert_eq!(
        remarks(text),
        [
            "1: columns that are not read: `host`",
            "2: the unit `furlongs` is not known: its values are plain numbers"
        ]
    );
}

#[test]
fn a_table_ends_where_the_text_goes_on() {
    let text = format!("Hello,\n\n{TABLE}\nBye\n{HYPERFINE}");
    let imported = import(text.as_bytes());
    let lines: Vec<(&str, (usize, usize))> =
        imported.found.iter().map(|found| (found.tool, found.lines)).collect();
    assert_eq!(lines[..3], [("csv", (3, 7)); 3]);
    assert_eq!(lines[3..], [("hyperfine", (10, 61)); 6]);
}
