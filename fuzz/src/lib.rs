//! What several targets share: a folder in memory that goes away again, the four files of a
//! dataset, and a trial shown in every way there is.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use treering_model::Trial;
use treering_report::export::{ExportForm, export};
use treering_report::formats;
use treering_report::pages::{run, trial as trial_page};
use treering_workloads::compilebench::dataset::State;

/// A folder in memory where there is one.
pub fn folder() -> TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a folder for the fuzz target")
}

/// Writes the four lists of a dataset, in the order of [`State::ALL`], into a folder.
pub fn write_lists<'a>(folder: &Path, lists: impl IntoIterator<Item = &'a [u8]>) {
    for (state, list) in State::ALL.into_iter().zip(lists) {
        fs::write(folder.join(state.classic_file()), list).expect("a file for the fuzz target");
    }
}

/// Shows a trial as `treering show`, `export` and the end of a run do; only the bytes are dropped.
pub fn show(trial: &Trial) {
    let view = trial_page::View {
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
