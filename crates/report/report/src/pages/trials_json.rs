//! List of trials as data: `treering list --format json`.

use serde::Serialize;
use treering_model::{Cell, Ending, Metric};

use super::trials::TrialRow;
use crate::data::{Data, moment};

/// Data of the trials, in row order.
#[derive(Debug, Serialize)]
pub struct TrialList<'t> {
    trials: Vec<ListedTrial<'t>>,
}

impl Data for TrialList<'_> {
    const FORMAT: &'static str = "treering list";
    const VERSION: u32 = 1;
}

#[derive(Debug, Serialize)]
struct ListedTrial<'t> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    workload: &'t str,
    mode: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    target: &'t str,
    /// State: `running`, `completed`, `failed`, `invalid` or `interrupted`.
    state: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    why: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
    phases: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<&'t Cell>,
    metrics: &'t [Metric],
}

impl<'t> TrialList<'t> {
    /// Creates the data from the rows of the list.
    pub fn new(rows: &'t [TrialRow]) -> Self {
        Self { trials: rows.iter().map(ListedTrial::new).collect() }
    }
}

impl<'t> ListedTrial<'t> {
    fn new(row: &'t TrialRow) -> Self {
        Self {
            id: row.trial.text(),
            started: moment(row.started_unix_ms),
            workload: &row.workload,
            mode: row.mode.name(),
            label: &row.label,
            target: &row.target,
            state: row.ending.as_ref().map_or("running", Ending::name),
            why: row.ending.as_ref().map_or("", Ending::why),
            excluded: row.excluded.as_deref(),
            wall_ns: (row.wall_ns > 0).then_some(row.wall_ns),
            phases: row.phases,
            tasks: row.tasks,
            cell: row.cell.as_ref(),
            metrics: &row.metrics,
        }
    }
}
