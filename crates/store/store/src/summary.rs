//! List of trials: one short summary each, newest first, fast for many thousands.

use rusqlite::ToSql;
use treering_model::{Cell, Ending, RunMode, TrialId};

use crate::annotate;
use crate::load::cell;
use crate::values::fields::RowFields;
use crate::values::word;
use crate::version::Version;
use crate::writer::{WriterLiveness, WriterProcess};
use crate::{Store, StoreError};

/// Columns selected for each trial after its label and reason for exclusion.
const SUMMARY: &str = "t.id, t.started_unix_ms, t.workload, t.mode, t.target, \
    (SELECT count(*) FROM phases p WHERE p.trial = t.trial), \
    (SELECT count(*) FROM cautions q WHERE q.trial = t.trial), \
    c.campaign AS \"cells.campaign\", c.plan AS \"cells.plan\", c.digest AS \"cells.digest\", \
    c.variant AS \"cells.variant\", c.job AS \"cells.job\", c.round AS \"cells.round\", \
    c.role AS \"cells.role\", \
    e.why AS \"endings.why\", e.ending AS \"endings.ending\", e.wall_ns AS \"endings.wall_ns\", \
    d.trial AS \"departures.trial\", w.pid AS \"writers.pid\", \
    w.start_ticks AS \"writers.start_ticks\", w.boot_id AS \"writers.boot_id\", \
    w.pid_namespace AS \"writers.pid_namespace\" \
    FROM trials t \
    LEFT JOIN cells c ON c.trial = t.trial \
    LEFT JOIN endings e ON e.trial = t.trial \
    LEFT JOIN departures d ON d.trial = t.trial \
    LEFT JOIN writers w ON w.trial = t.trial";

/// Filter for the list of trials. The default selects all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Workload to select.
    pub workload: Option<String>,
    /// Current label to select.
    pub label: Option<String>,
    /// Name of the plan to select.
    pub plan: Option<String>,
    /// Earliest start, in milliseconds since 1970 (UTC), inclusive.
    pub since_unix_ms: Option<i64>,
    /// Latest start, in milliseconds since 1970 (UTC), exclusive.
    pub until_unix_ms: Option<i64>,
    /// Maximum number of trials; the newest are kept.
    pub limit: Option<usize>,
}

/// State of a trial: running, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// The trial has no ending and its writer is alive.
    Running,
    /// The trial ended. Without an ending and without a live writer it counts as interrupted.
    Ended(Ending),
}

impl TrialState {
    /// Name of the state in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended(ending) => ending.name(),
        }
    }
}

/// Summary of a trial in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialSummary {
    /// Id of the trial.
    pub trial: TrialId,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Name of the workload.
    pub workload: String,
    /// Mode of the workload: classic or native.
    pub mode: RunMode,
    /// Current user label; empty if there is none.
    pub label: String,
    /// Reason for its exclusion from comparisons; `None` when it is included.
    pub excluded: Option<String>,
    /// Directory under test.
    pub target: String,
    /// Number of phases that ended.
    pub phases: u64,
    /// Number of cautions.
    pub cautions: u64,
    /// Cell of a campaign that the trial belongs to, if any.
    pub cell: Option<Cell>,
    /// State of the trial.
    pub state: TrialState,
    /// Duration in nanoseconds; 0 without an ending.
    pub wall_ns: u64,
}

impl Store {
    /// Lists the trials that match a filter, newest first.
    ///
    /// # Errors
    /// If the file cannot be read, or has invalid contents.
    pub fn trials(&self, filter: &Filter) -> Result<Vec<TrialSummary>, StoreError> {
        let (label, excluded) = if self.version() < Version::WITH_ANNOTATIONS {
            ("t.label", "NULL")
        } else {
            (annotate::LABEL, annotate::EXCLUSION)
        };
        let with_label = format!("{label} = ?");
        let mut conditions = Vec::new();
        let mut values: Vec<&dyn ToSql> = Vec::new();
        if let Some(workload) = &filter.workload {
            conditions.push("t.workload = ?");
            values.push(workload);
        }
        if let Some(label) = &filter.label {
            conditions.push(with_label.as_str());
            values.push(label);
        }
        if let Some(plan) = &filter.plan {
            conditions.push("c.plan = ?");
            values.push(plan);
        }
        if let Some(since) = &filter.since_unix_ms {
            conditions.push("t.started_unix_ms >= ?");
            values.push(since);
        }
        if let Some(until) = &filter.until_unix_ms {
            conditions.push("t.started_unix_ms < ?");
            values.push(until);
        }
        let mut query =
            format!("SELECT {label} AS label, {excluded} AS \"annotations.text\", {SUMMARY}");
        if !conditions.is_empty() {
            query.push_str(" WHERE ");
            query.push_str(&conditions.join(" AND "));
        }
        query.push_str(" ORDER BY t.started_unix_ms DESC, t.id DESC LIMIT ?");
        // In SQLite a negative limit means no limit.
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        values.push(&limit);
        let mut liveness = WriterLiveness::default();
        self.rows(&query, values.as_slice(), "trials", |fields| summary(fields, &mut liveness))
    }
}

fn summary(
    fields: &mut RowFields<'_>,
    liveness: &mut WriterLiveness,
) -> Result<TrialSummary, StoreError> {
    let (label, excluded) = (fields.text()?, fields.text_or_null()?);
    let mut summary = TrialSummary {
        trial: fields.word(|text| text.parse().ok())?,
        started_unix_ms: fields.integer()?,
        workload: fields.text()?,
        mode: fields.word(word::mode_from)?,
        label,
        excluded,
        target: fields.text()?,
        phases: fields.integer()?,
        cautions: fields.integer()?,
        cell: cell_or_null(fields)?,
        state: TrialState::Ended(Ending::Interrupted),
        wall_ns: 0,
    };
    if let Some(why) = fields.text_or_null()? {
        let ending = fields.word(|name| Ending::from_parts(name, &why))?;
        summary.state = TrialState::Ended(ending);
        summary.wall_ns = fields.integer()?;
        return Ok(summary);
    }
    fields.skip(2);
    let departed: Option<i64> = fields.integer_or_null()?;
    if departed.is_none() && writer(fields)?.is_some_and(|writer| liveness.contains(&writer)) {
        summary.state = TrialState::Running;
    }
    Ok(summary)
}

/// Reads the cell of a trial, if the row has one.
fn cell_or_null(fields: &mut RowFields<'_>) -> Result<Option<Cell>, StoreError> {
    if fields.is_null() {
        fields.skip(7);
        return Ok(None);
    }
    cell(fields).map(Some)
}

fn writer(fields: &mut RowFields<'_>) -> Result<Option<WriterProcess>, StoreError> {
    let Some(pid) = fields.integer_or_null()? else {
        return Ok(None);
    };
    Ok(Some(WriterProcess {
        pid,
        start_ticks: fields.integer()?,
        boot_id: fields.text()?,
        pid_namespace: fields.text()?,
    }))
}
