//! `treering import`: what was found in logs, one row an output, and what could not be understood.

use treering_model::{Beginning, Caution, Ending, Trial};

use super::identity::utc;
use crate::{Cell, Column, Report, Table};

/// An output that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// File and lines.
    pub place: String,
    /// The tool.
    pub tool: String,
    /// Whether it is in the store now.
    pub is_kept: bool,
    /// The trial's identity.
    pub beginning: Beginning,
    /// Its end.
    pub ending: Ending,
    /// Its cautions.
    pub cautions: Vec<Caution>,
    /// How many phases, tasks and metrics it has, in words.
    pub holds: String,
}

impl ImportedRow {
    /// The row of a trial, without what it measured; and how many phases and metrics it has that
    /// are kept apart from it.
    pub fn of(
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

/// The page: rows in the order of the files, notes below.
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

/// What a trial holds, in words.
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
