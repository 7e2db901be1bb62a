//! `treering list`: the trials of a store, one row each.

use treering_model::{Ending, Metric, Mode, TrialId, Unit};

use super::identity::{duration, ending_word, in_short, utc};
use crate::{Cell, Column, Report, Table};

/// Metrics that a row has room for.
const METRICS: usize = 3;

/// A trial as the list knows it: what a store can tell without reading tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// The trial.
    pub trial: TrialId,
    /// The shortest name of the trial that the store understands.
    pub short_id: String,
    /// Milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// The workload's name.
    pub workload: String,
    /// Classic or native.
    pub mode: Mode,
    /// The user's label, empty when none was given.
    pub label: String,
    /// The directory under test.
    pub target: String,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    /// Duration in nanoseconds; 0 when it has not ended.
    pub wall_ns: u64,
    /// Phases that ended.
    pub phases: u64,
    /// Tasks that ended; `None` where a log does not tell them.
    pub tasks: Option<u64>,
    /// Why it is left out of comparisons; `None` when it is compared.
    pub excluded: Option<String>,
    /// Where it stands in a campaign.
    pub cell: Option<treering_model::Cell>,
    /// The primary metrics.
    pub metrics: Vec<Metric>,
}

/// The page, rows in the order given.
pub fn page(rows: &[TrialRow]) -> Report {
    let mut page = Report::new("Trials");
    if rows.is_empty() {
        page.paragraph("The store contains no trials.");
        return page;
    }
    let columns = vec![
        Column::text("trial"),
        Column::text("started (UTC)"),
        Column::long_text("workload"),
        Column::text("mode"),
        Column::long_text("label"),
        Column::long_text("target"),
        Column::text("ending"),
        Column::number("duration", Unit::Seconds),
        Column::count("phases"),
        Column::count("tasks"),
        Column::long_text("primary metrics"),
    ];
    let mut table = Table::new("trials", "", columns);
    table.rows.extend(rows.iter().map(cells));
    page.table(table);
    page
}

fn cells(row: &TrialRow) -> Vec<Cell> {
    vec![
        Cell::text(&row.short_id),
        Cell::text(utc(row.started_unix_ms)),
        Cell::text(&row.workload),
        Cell::text(row.mode.name()),
        Cell::some_text(&row.label),
        Cell::some_text(&row.target),
        ending_word(row.ending.as_ref(), row.excluded.is_some()),
        duration(row.wall_ns),
        Cell::whole(row.phases),
        row.tasks.map_or(Cell::Missing, Cell::whole),
        Cell::some_text(&metrics(&row.metrics)),
    ]
}

fn metrics(metrics: &[Metric]) -> String {
    let mut shown: Vec<String> = metrics.iter().take(METRICS).map(in_short).collect();
    if metrics.len() > METRICS {
        shown.push(format!("{} more", metrics.len() - METRICS));
    }
    shown.join("; ")
}
