//! Every page in every format as golden files, except HTML, which has tests of its own.
//!
//! After an intended change, `INSTA_UPDATE=always cargo test -p treering-report` rewrites them;
//! review the difference before committing it.

use treering_model::{Annotation, AnnotationKind, Ending, Trial};
use treering_report::formats::{ALL, by_name, terminal};
use treering_report::pages::trial_json::ShownTrial;
use treering_report::pages::trials::TrialRow;
use treering_report::pages::trials_json::TrialList;
use treering_report::pages::{run, trial, trials};
use treering_report::{Data, Format, Report, write_data};

use crate::fixture::{self, SHORT_ID};
use crate::rendered;

const COMMAND: &str = "treering compilebench --directory /mnt/scratch --initial-dirs 6 --runs 9 \
                       --seed 555 --label 'v6.12 baseline'";

/// Page as `treering show` builds it.
pub(crate) fn show(shown: &Trial, everything: bool) -> Report {
    let view = trial::TrialView {
        short_id: SHORT_ID,
        command: Some(COMMAND),
        tasks: everything,
        seconds: everything,
        charts: false,
    };
    trial::page(shown, &view)
}

/// Row of the list, as the command line fills it from the store.
pub(crate) fn row(shown: &Trial, ending: Option<Ending>) -> TrialRow {
    TrialRow {
        trial: shown.beginning.trial,
        short_id: SHORT_ID.to_owned(),
        started_unix_ms: shown.beginning.started_unix_ms,
        workload: shown.beginning.workload.clone(),
        mode: shown.beginning.mode,
        label: shown.beginning.label.clone(),
        target: shown.beginning.target.clone(),
        ending,
        wall_ns: shown.wall_ns,
        phases: shown.phases.len() as u64,
        tasks: Some(shown.tasks.len() as u64),
        excluded: shown.exclusion().map(str::to_owned),
        cell: shown.beginning.cell.clone(),
        metrics: shown.metrics.iter().filter(|metric| metric.primary).cloned().collect(),
    }
}

/// List of all synthetic trials.
pub(crate) fn list() -> Report {
    trials::page(&rows())
}

/// Rows of the list of all synthetic trials, one of them excluded.
fn rows() -> Vec<TrialRow> {
    let running = TrialRow {
        wall_ns: 0,
        metrics: Vec::new(),
        label: String::new(),
        ..row(&fixture::aging(), None)
    };
    let ended = |trial: &Trial| row(trial, Some(trial.ending.clone()));
    let excluded = Some("a backup ran meanwhile".to_owned());
    vec![
        ended(&fixture::aging()),
        running,
        TrialRow { excluded, ..ended(&fixture::failed_at_once()) },
        ended(&fixture::interrupted()),
    ]
}

/// Checks machine-readable data against a golden file.
fn golden_data(name: &str, data: &impl Data) {
    let mut bytes = Vec::new();
    write_data(data, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count(), 1);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(value["format"].is_string() && value["version"].is_u64(), "{value}");
    let text = serde_json::to_string_pretty(&value).unwrap();
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(format!("{name}.data"), text);
    });
}

/// Checks the page in every format against golden files; JSON is pretty-printed for review.
fn golden(page: &str, report: &Report) {
    for format in ALL.iter().filter(|format| format.name() != "html") {
        let mut text = rendered(report, *format);
        if format.name() == "json" {
            assert_eq!(text.lines().count(), 1);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            text = serde_json::to_string_pretty(&value).unwrap();
        }
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("{page}.{}", format.name()), text);
        });
    }
}

#[test]
fn list_of_trials() {
    golden("list", &list());
    golden_data("list", &TrialList::new(&rows()));
}

#[test]
fn a_trial_as_data() {
    let mut trial = fixture::aging();
    let at = |at_unix_ms, change| Annotation { at_unix_ms, change };
    let (label, was) = (trial.beginning.label.clone(), "first".to_owned());
    let reason = "a backup ran meanwhile".to_owned();
    trial.annotations = vec![
        at(1_763_665_726_000, AnnotationKind::Relabelled { label, was }),
        at(1_763_665_727_999, AnnotationKind::Excluded { reason }),
    ];
    let view = |all| trial::TrialView {
        short_id: SHORT_ID,
        command: Some(COMMAND),
        tasks: all,
        seconds: all,
        charts: false,
    };
    golden_data("show", &ShownTrial::new(&trial, &view(false)));
    golden_data("show_everything", &ShownTrial::new(&trial, &view(true)));
    golden("show_excluded", &trial::page(&trial, &view(false)));
    golden_data("show_extreme", &ShownTrial::new(&fixture::extreme(), &view(true)));
}

#[test]
fn show_a_trial() {
    golden("show", &show(&fixture::aging(), false));
}

#[test]
fn show_a_trial_with_tasks_and_seconds() {
    golden("show_everything", &show(&fixture::aging(), true));
}

#[test]
fn show_a_trial_that_failed_at_once() {
    golden("show_failed", &show(&fixture::failed_at_once(), true));
}

#[test]
fn show_a_trial_that_was_killed() {
    golden("show_interrupted", &show(&fixture::interrupted(), false));
}

#[test]
fn show_extreme_numbers() {
    golden("show_extreme", &show(&fixture::extreme(), true));
}

#[test]
fn end_of_a_run() {
    let stored = run::StoreLocation { short_id: SHORT_ID, place: "/var/lib/treering/trials.db" };
    golden("run", &run::page(&fixture::aging(), Some(&stored)));
    golden("run_not_stored", &run::page(&fixture::failed_at_once(), None));
}

#[test]
fn an_empty_store() {
    let text = rendered(&trials::page(&[]), by_name("plain").unwrap());
    insta::assert_snapshot!(text, @r"
    Trials
    ======

    The store contains no trials.
    ");
}

#[test]
fn terminal_narrow_and_in_colour() {
    let narrow = terminal::Terminal { width: 60, colour: false };
    let coloured = terminal::Terminal { width: 60, colour: true };
    let page = show(&fixture::aging(), false);
    let text = rendered(&page, &narrow);
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("show.terminal_60", text);
    });
    assert!(
        text.lines()
            .filter(|line| !line.contains("compilebench --dir"))
            .all(|line| line.chars().count() <= 60)
    );
    // Colour is only added to the text.
    let painted = rendered(&page, &coloured);
    assert_ne!(painted, text);
    assert_eq!(without_colour(&painted), text);
}

#[test]
fn wide_terminals_split_nothing() {
    let wide = terminal::Terminal { width: 200, colour: false };
    let text = rendered(&list(), &wide);
    assert!(text.lines().any(|line| line.contains("started") && line.contains("first metric")));
}

fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut tail = text;
    while let Some((before, after)) = tail.split_once("\x1b[") {
        plain.push_str(before);
        tail = after.split_once('m').unwrap().1;
    }
    plain + tail
}

#[test]
fn names_of_formats_are_words_of_the_command_line() {
    let names: Vec<&str> = ALL.iter().map(|format: &&dyn Format| format.name()).collect();
    assert_eq!(names, ["terminal", "plain", "markdown", "csv", "json", "html"]);
}

/// Names of all fields in a value, at any depth, except those of tasks, which exports contain, too.
fn fields(value: &serde_json::Value, names: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                if name != "tasks" {
                    fields(value, names);
                }
            }
        }
        serde_json::Value::Array(array) => array.iter().for_each(|element| fields(element, names)),
        _ => {}
    }
}

#[test]
fn every_field_of_the_data_is_described() {
    let described = include_str!("../../../../../docs/json.md");
    let view =
        trial::TrialView { tasks: true, seconds: true, command: Some("x"), ..Default::default() };
    let mut names = std::collections::BTreeSet::new();
    let parsed = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    let mut bytes = Vec::new();
    write_data(&TrialList::new(&rows()), &mut bytes).unwrap();
    fields(&parsed(&bytes), &mut names);
    bytes.clear();
    write_data(&ShownTrial::new(&fixture::aging(), &view), &mut bytes).unwrap();
    fields(&parsed(&bytes), &mut names);
    for name in names {
        let is_there =
            described.contains(&format!("`{name}`")) || described.contains(&format!("\"{name}\""));
        assert!(is_there, "docs/json.md does not describe `{name}`");
    }
}
