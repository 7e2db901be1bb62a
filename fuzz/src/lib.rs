//! What several targets share: a folder in memory that goes away again, the four files of a
//! dataset, a trial shown in every way there is, and what every message about a file obeys.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use treering_datasets::TreeState;
use treering_model::Trial;
use treering_registry::{ImportResult, ImportedTrial};
use treering_report::export::{ExportForm, export};
use treering_report::formats;
use treering_report::pages::{run, trial as trial_page};
use treering_script::ConfigError;

/// A folder in memory where there is one.
pub fn folder() -> TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a folder for the fuzz target")
}

/// Writes the four lists of a dataset, in the order of [`TreeState::ALL`], into a folder.
pub fn write_lists<'a>(folder: &Path, lists: impl IntoIterator<Item = &'a [u8]>) {
    for (state, list) in TreeState::ALL.into_iter().zip(lists) {
        fs::write(folder.join(state.classic_file()), list).expect("a file for the fuzz target");
    }
}

/// Checks what an import of hostile bytes found: finite figures, trials that can be shown, and
/// remarks without control characters.
pub fn check_import(imported: &ImportResult) {
    for found in &imported.found {
        match &found.content {
            ImportedTrial::Foreign(trial) => {
                assert!(trial.metrics.iter().all(|metric| metric.value.is_finite()));
            }
            ImportedTrial::Own(trial) => show(trial),
        }
    }
    for remark in &imported.remarks {
        assert!(!remark.what.chars().any(char::is_control));
    }
}

/// Shows a trial as `treering show`, `export` and the end of a run do; only the bytes are dropped.
pub fn show(trial: &Trial) {
    let view = trial_page::TrialView {
        short_id: "0",
        command: Some("x"),
        tasks: true,
        seconds: true,
        charts: true,
    };
    for page in [trial_page::page(trial, &view), run::page(trial, None)] {
        for format in formats::ALL {
            format.render(&page, &mut Vec::new()).expect("memory takes it");
        }
    }
    for form in ExportForm::ALL {
        export(form, [trial], &mut Vec::new()).expect("memory takes it");
    }
}

/// The most lines of a refusal: twenty faults, each with its line, a caret and a hint.
const LINES_MAX: usize = 100;

/// What a file's reader says of it names a place in each line that is not indented; below it may
/// stand the line with a caret and what would be right. Faults beyond the first twenty are counted
/// at the end. A terminal can show it all.
pub fn check_message(file: &str, message: &str) {
    let place = format!("{file}:");
    assert!(message.starts_with(&place), "{message}");
    assert!(message.lines().count() <= LINES_MAX, "{message}");
    for line in message.lines() {
        let is_ours = [&place, "  ", "and "].iter().any(|start| line.starts_with(start));
        assert!(is_ours, "{message}");
    }
    check_shown(message);
}

/// A terminal can show the message.
pub fn check_shown(message: &str) {
    for line in message.lines() {
        assert!(!line.contains(char::is_control), "{message:?}");
        assert!(line.len() < 2_000, "{message}");
    }
}

/// A refusal is such a message, and says what would be right.
pub fn check_refusal(file: &str, error: &ConfigError) {
    assert!(error.hint.is_some(), "{error}");
    check_message(file, &error.message);
}
