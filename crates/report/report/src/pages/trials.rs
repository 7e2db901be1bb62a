//! Page of `treering list`: trials of a store, one row each.

use treering_model::{Ending, Metric, RunMode, TrialId, Unit};

use super::identity::{duration, ending_word, in_short, minute};
use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

/// A trial as listed, with data that a store has without reading tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// Id of the trial.
    pub trial: TrialId,
    /// Shortest unique id of the trial in the store.
    pub short_id: String,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// User label; empty if none was given.
    pub label: String,
    /// Directory under test.
    pub target: String,
    /// Ending of the trial; `None` while it runs.
    pub ending: Option<Ending>,
    /// Duration in nanoseconds; 0 if the trial has not ended.
    pub wall_ns: u64,
    /// Number of phases that ended.
    pub phases: u64,
    /// Number of tasks that ended; `None` where an imported log omits it.
    pub tasks: Option<u64>,
    /// Reason for the exclusion of the trial from comparisons; `None` when it is included.
    pub excluded: Option<String>,
    /// Cell of a campaign that the trial belongs to.
    pub cell: Option<treering_model::Cell>,
    /// Primary metrics.
    pub metrics: Vec<Metric>,
}

/// Page of the list, rows in the given order.
pub fn page(rows: &[TrialRow]) -> Report {
    let mut page = Report::new("Trials");
    if rows.is_empty() {
        page.paragraph("The store contains no trials.");
        return page;
    }
    let have_modes = rows.iter().any(|row| row.mode != rows[0].mode);
    page.table(Table::from_rows("trials", "", rows.iter().map(|row| fields(row, have_modes))));
    page
}

/// Fields of a row: few enough for a line of 100 columns. JSON has all that is known of a trial.
fn fields(row: &TrialRow, have_modes: bool) -> Vec<RowField> {
    let took = match &row.ending {
        Some(Ending::Completed) if row.excluded.is_none() => duration(row.wall_ns),
        ending => ending_word(ending.as_ref(), row.excluded.is_some()),
    };
    // A label names what a trial was of; without it its directory does, except those that a plan
    // made for a moment.
    let named = match row.label.as_str() {
        "" if row.cell.is_none() => &row.target,
        label => label,
    };
    let metric = row.metrics.first().map_or_else(String::new, in_short);
    // Columns that tell trials apart stand first, in sight on a narrow screen.
    let mut fields = vec![
        RowField::text("trial", &row.short_id),
        RowField::new(Column::long_text("workload"), Cell::text(&row.workload)),
        RowField::new(Column::long_text("label or place"), Cell::some_text(named)),
        RowField::new(Column::long_text("first metric"), Cell::some_text(&metric)),
        RowField::new(Column::number("duration", Unit::Seconds), took),
        RowField::text("started (UTC)", minute(row.started_unix_ms)),
    ];
    if have_modes {
        fields.push(RowField::text("mode", row.mode.name()));
    }
    fields
}
