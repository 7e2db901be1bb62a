//! `treering history`: points in the order of time, changes of level with the facts that changed,
//! gates.

use std::fmt::Write as _;

use serde_json::Value;
use treering_testkit::Program;

use crate::program;

/// Creates fs_mark logs, one for each day of a month.
pub(crate) fn month(rate: impl Fn(u32) -> f64) -> Program {
    let program = program();
    let mut log = String::new();
    for day in 1..=28 {
        // The scatter of about one percent is deterministic.
        let rate = rate(day) * (1.0 + f64::from(day * day * 37 % 29) / 1400.0);
        _ = write!(
            log,
            "#  ./fs_mark  -d  /mnt/a  -s  0  -n  1000  -L  1\n\
             #\tVersion 3.3, 1 thread(s) starting at Sat Nov {day:02} 19:08:46 2025\n\n\
             FSUse%        Count         Size    Files/sec     App Overhead\n     \
             0         1000            0      {rate:.1}            12345\n\n"
        );
    }
    let file = program.home().join("month.log");
    std::fs::write(&file, log).unwrap();
    let labels = ["month"; 28].join(",");
    program.run(["import", file.to_str().unwrap(), "--label", &labels]).ends_with(0);
    program
}

fn data(program: &Program, words: &[&str]) -> Value {
    let words = [&["history", "--format", "json"], words].concat();
    serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap()
}

#[test]
fn a_change_of_level_has_a_day_a_size_and_an_interval() {
    let program = month(|day| if day < 17 { 1000.0 } else { 900.0 });
    let found = data(&program, &[]);
    assert_eq!(found["format"], "treering history");
    let series = &found["series"][0];
    assert_eq!(series["points"].as_array().unwrap().len(), 28, "{found}");
    assert_eq!(series["points"][0]["key"], "2025-11-01");
    let changes = series["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{found}");
    assert_eq!(
        (&changes[0]["point"], &changes[0]["worse"]),
        (&Value::from(16), &Value::from(true))
    );
    let interval = changes[0]["interval"].as_array().unwrap();
    assert!(interval[0].as_f64() < Some(0.9) && interval[1].as_f64() > Some(0.9), "{found}");
    let page = program.run(["history"]).ends_with(0).stdout;
    assert!(page.contains("worse (-9.9 %) from 2025-11-17 on."), "{page}");
    let html = program.run(["history", "--format", "html"]).ends_with(0).stdout;
    assert!(html.contains("<svg") && html.contains("from 2025-11-17"), "a chart by level");
}

#[test]
fn a_month_without_a_change_has_none_and_one_bad_day_is_suspect() {
    let steady = month(|_| 1000.0);
    assert_eq!(data(&steady, &[])["series"][0]["changes"], Value::Array(Vec::new()));
    steady.run(["history", "--gate"]).ends_with(0);
    let suspect = month(|day| if day == 28 { 700.0 } else { 1000.0 });
    let found = data(&suspect, &[]);
    assert_eq!(found["series"][0]["suspect"]["worse"], true, "{found}");
    assert_eq!(found["series"][0]["suspect"]["points_needed"], 2, "{found}");
    suspect.run(["history", "--gate"]).ends_with(5);
    let page = suspect.run(["history"]).ends_with(0).stdout;
    assert!(page.contains("2025-11-28 is suspect"), "{page}");
}

#[test]
fn the_gate_ignores_old_changes_and_improvements() {
    let program = month(|day| if day < 17 { 1000.0 } else { 900.0 });
    program.run(["history", "--gate"]).ends_with(0);
    program.run(["history", "--gate", "--recent", "12"]).ends_with(1);
    let ignoring = |change: &str, code: i32| {
        let words = ["history", "--gate", "--recent", "12", "--smallest-change", change];
        program.run(words).ends_with(code);
    };
    ignoring("5%", 1);
    ignoring("15%", 0);
    ignoring("a lot", 2);
    month(|day| if day < 25 { 900.0 } else { 1000.0 }).run(["history", "--gate"]).ends_with(0);
    // All trials have one label, so the history has one point.
    program.run(["history", "--by", "label", "--gate"]).ends_with(5);
}

#[test]
fn unknown_names_are_reported_with_the_known_ones() {
    let program = month(|_| 1000.0);
    program.run(["history", "--by", "weather"]).ends_with(2).complains("weather");
    let ran = program.run(["history", "--metric", "speed"]).ends_with(2);
    ran.complains("files_per_second");
    program.run(["history", "--anchor", "ext4"]).ends_with(2).complains("ext4");
    program.run(["history", "--store", "nowhere"]).ends_with(2);
}

#[test]
fn an_acknowledged_change_passes_the_gate() {
    let program = month(|day| if day < 17 { 1000.0 } else { 900.0 });
    let gate = |code: i32| {
        program.run(["history", "--gate", "--recent", "20"]).ends_with(code);
    };
    gate(1);
    let acknowledge = |point: &str| {
        program.run(["history", "--acknowledge", point, "--reason", "known: compiler 14"])
    };
    acknowledge("2025-11-18")
        .ends_with(2)
        .complains("no change of level or trend begins at this point");
    acknowledge("2025-11-18").ends_with(2).complains("2025-11-17");
    program.run(["history", "--acknowledge", "2025-11-17"]).ends_with(2).complains("--reason");
    let acknowledged = acknowledge("2025-11-17").ends_with(0);
    acknowledged.complains("worse from 2025-11-17 on is known: known: compiler 14");
    gate(0);
    let found = data(&program, &[]);
    assert_eq!(found["series"][0]["changes"][0]["known"], "known: compiler 14", "{found}");
    let page = program.run(["history"]).ends_with(0).stdout;
    assert!(page.contains("known, worse (-9.9 %) from 2025-11-17 on"), "{page}");
    // A history by another key has the same changes.
    let found = data(&program, &["--by", "import.lines"]);
    assert_eq!(found["series"][0]["changes"][0]["known"], "known: compiler 14", "{found}");

    // Exports and packs include the acknowledgement.
    let export = program.home().join("export.json");
    let export = export.to_str().unwrap();
    program.run(["export", "-o", export]).ends_with(0);
    let other = program.home().join("other.db");
    let store = ["--store", other.to_str().unwrap()];
    program.run([&["import", export][..], &store].concat()).ends_with(0);
    let found = data(&program, &store);
    assert_eq!(found["series"][0]["changes"][0]["known"], "known: compiler 14", "{found}");

    program.run(["history", "--withdraw", "2025-11-20"]).ends_with(2).complains("2025-11-17");
    program.run(["history", "--withdraw", "2025-11-17"]).ends_with(0);
    gate(1);
    let none = program.run(["history", "--withdraw", "2025-11-17"]).ends_with(2);
    none.complains("no known change");
}

#[test]
fn points_have_the_links_of_their_trials_or_of_an_address() {
    let program = month(|day| if day < 17 { 1000.0 } else { 900.0 });
    let found = data(&program, &["--link", "https://example.org/{}"]);
    assert_eq!(found["series"][0]["points"][0]["link"], "https://example.org/2025-11-01");
    let page = program.run(["history", "--link", "https://example.org/{}"]).ends_with(0).stdout;
    assert!(page.contains("https://example.org/2025-11-17"), "{page}");
    program.run(["history", "--link", "javascript:{}"]).ends_with(2).complains("--link");
}

#[test]
fn an_acknowledged_trend_passes_the_gate_until_it_is_withdrawn() {
    let program = month(|day| 1000.0 * (1.0 - 0.006 * f64::from(day)));
    let gate = |code: i32| {
        program.run(["history", "--gate"]).ends_with(code);
    };
    gate(1);
    let since = ["history", "--acknowledge", "2025-11-01", "--reason", "the disk wears"];
    let acknowledged = program.run(since).ends_with(0);
    acknowledged.complains("slowly worse since 2025-11-01 is known: the disk wears");
    gate(0);
    let found = data(&program, &[]);
    assert_eq!(found["series"][0]["trend"]["known"], "the disk wears", "{found}");
    let page = program.run(["history"]).ends_with(0).stdout.replace(['\n', '\u{a0}'], " ");
    assert!(page.contains("known, slowly worse since 2025-11-01"), "{page}");
    program.run(["history", "--withdraw", "2025-11-01"]).ends_with(0);
    gate(1);
}
