//! Page of `treering import`: outputs found in logs, one row each, and unparsed parts.

use treering_model::{Caution, Ending, Trial, TrialHeader};

use super::identity::utc;
use crate::{Cell, Column, Report, Table};

/// An output found in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// File and lines of the output.
    pub place: String,
    /// Tool that wrote it.
    pub tool: String,
    /// True when the trial is in the store.
    pub is_kept: bool,
    /// Identity of the trial.
    pub beginning: TrialHeader,
    /// End of the trial.
    pub ending: Ending,
    /// Cautions of the trial.
    pub cautions: Vec<Caution>,
    /// Description of its numbers of phases, tasks and metrics.
    pub holds: String,
}

impl ImportedRow {
    /// Creates the row of a trial; `apart` holds the numbers of phases and metrics stored
    /// separately from it.
    pub fn new(
        place: String,
        tool: &str,
        is_kept: bool,
        trial: &Trial,
        apart: (usize, usize),
    ) -> Self {
        Self {
            place,
            tool: tool.to_owned(),
            is_kept,
            beginning: trial.beginning.clone(),
            ending: trial.ending.clone(),
            cautions: trial.cautions.clone(),
            holds: holds(trial, apart),
        }
    }
}

/// Page of the import: rows in file order, followed by notes.
pub fn page(rows: &[ImportedRow], notes: &[String], is_dry: bool) -> Report {
    let mut page = Report::new("Import");
    let kept = rows.iter().filter(|row| row.is_kept).count();
    page.paragraph(match (is_dry, rows.len(), kept) {
        (true, 1, _) => "One output found; nothing was stored (--dry-run).".to_owned(),
        (true, count, _) => format!("{count} outputs found; nothing was stored (--dry-run)."),
        (false, 1, 1) => "One output found and stored.".to_owned(),
        (false, count, kept) if count == kept => {
            format!("{count} outputs found and stored.")
        }
        (false, count, kept) => {
            format!("{count} outputs found; {kept} of them new and stored.")
        }
    });
    let columns = vec![
        Column::long_text("where"),
        Column::text("tool"),
        Column::long_text("label"),
        Column::text("trial"),
        Column::text("started (UTC)"),
        Column::text("ended"),
        Column::long_text("holds"),
    ];
    let mut table = Table::new("imported", "", columns);
    for row in rows {
        let beginning = &row.beginning;
        let trial = if row.is_kept { beginning.trial.text() } else { String::new() };
        table.rows.push(vec![
            Cell::text(&row.place),
            Cell::text(&row.tool),
            Cell::some_text(&beginning.label),
            Cell::some_text(&trial),
            Cell::text(utc(beginning.started_unix_ms)),
            Cell::text(row.ending.name()),
            Cell::text(&row.holds),
        ]);
    }
    page.table(table);
    for note in notes {
        page.note(note);
    }
    for row in rows {
        page.cautions(&row.cautions);
    }
    page
}

/// Describes the contents of a trial.
fn holds(trial: &Trial, (phases, metrics): (usize, usize)) -> String {
    let count = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        number => Some(format!("{number} {word}s")),
    };
    let parts = [
        count(trial.phases.len() + phases, "phase"),
        count(trial.tasks.len(), "task"),
        count(trial.metrics.len() + metrics, "metric"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
