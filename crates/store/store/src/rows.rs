//! Conversion of events to table rows. The recorder decides when they are written.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use treering_model::{
    Artifact, Cell, CpuTime, Ending, Fact, Metric, OpTotals, PhaseTotals, TaskTotals, TrialEvent,
    TrialHeader,
};

use crate::StoreError;
use crate::values::{packing, word};
use crate::writer::WriterProcess;

const TRIAL: &str = "INSERT INTO trials (id, event_version, started_unix_ms, treering_version, \
    workload, mode, label, target) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const WRITER: &str = "INSERT INTO writers (trial, pid, start_ticks, boot_id, pid_namespace) \
    VALUES (?1, ?2, ?3, ?4, ?5)";
const DEPARTURE: &str = "INSERT INTO departures (trial) VALUES (?1)";
const PARAMETER: &str =
    "INSERT INTO parameters (trial, ordinal, name, value) VALUES (?1, ?2, ?3, ?4)";
const CELL: &str = "INSERT INTO cells (trial, campaign, plan, digest, variant, job, round, role) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const FACT: &str =
    "INSERT INTO facts (trial, seq, ordinal, name, value) VALUES (?1, ?2, ?3, ?4, ?5)";
const PHASE_START: &str =
    "INSERT INTO phase_starts (trial, seq, phase, name, at_ns) VALUES (?1, ?2, ?3, ?4, ?5)";
const PHASE: &str = "INSERT INTO phases (trial, seq, phase, name, began_ns, wall_ns, tasks, \
    files, bytes, user_ns, system_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const PHASE_OP: &str = "INSERT INTO phase_ops (trial, seq, ordinal, op, calls, errors, bytes, \
    samples, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, latency) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const INTERVAL: &str = "INSERT INTO intervals (trial, seq, ordinal, second, calls, bytes) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const TASK: &str = "INSERT INTO tasks (trial, seq, phase, task, worker, kind, subject, state, \
    tally, began_ns, wall_ns, sync_ns, user_ns, system_ns, sync_user_ns, sync_system_ns, files, \
    bytes, listed_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
    ?15, ?16, ?17, ?18, ?19)";
const TASK_OP: &str = "INSERT INTO task_ops (trial, seq, ordinal, op, calls, errors, bytes, \
    samples, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, latency) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const COUNTERS: &str = "INSERT INTO counters (trial, seq, bytes, body) VALUES (?1, ?2, ?3, ?4)";
const TICK: &str =
    "INSERT INTO ticks (trial, seq, phase, at_ns, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const METRIC: &str = "INSERT INTO metrics (trial, seq, name, scope, part, value, unit, better, \
    is_primary, tasks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const CAUTION: &str = "INSERT INTO cautions (trial, seq, code, message) VALUES (?1, ?2, ?3, ?4)";
const ARTIFACT: &str = "INSERT INTO artifacts (trial, seq, kind, version, phase, name, bytes, \
    body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const ENDING: &str =
    "INSERT INTO endings (trial, seq, ending, why, wall_ns) VALUES (?1, ?2, ?3, ?4, ?5)";

/// A row of any table except `trials`, complete except for the trial's number.
#[derive(Debug)]
pub(crate) struct TableRow {
    statement: &'static str,
    values: Vec<Value>,
}

impl TableRow {
    /// Inserts the row.
    pub(crate) fn insert(&self, connection: &Connection, trial: i64) -> rusqlite::Result<()> {
        let trial = Value::Integer(trial);
        let values = std::iter::once(&trial).chain(&self.values);
        connection.prepare_cached(self.statement)?.execute(params_from_iter(values)).map(drop)
    }

    /// Creates the row about the process that writes the trial.
    pub(crate) fn writer(writer: &WriterProcess) -> Result<Self, StoreError> {
        let values = vec![
            Value::Integer(writer.pid.into()),
            number("start ticks", writer.start_ticks)?,
            text(&writer.boot_id),
            text(&writer.pid_namespace),
        ];
        Ok(Self { statement: WRITER, values })
    }

    /// Creates the row that releases the trial.
    pub(crate) const fn departure() -> Self {
        Self { statement: DEPARTURE, values: Vec::new() }
    }
}

/// Inserts the row of `trials` and returns its number.
pub(crate) fn insert_trial(
    connection: &Connection,
    beginning: &TrialHeader,
) -> rusqlite::Result<i64> {
    connection.prepare_cached(TRIAL)?.insert((
        beginning.trial.text(),
        beginning.event_version,
        beginning.started_unix_ms,
        &beginning.treering_version,
        &beginning.workload,
        beginning.mode.name(),
        &beginning.label,
        &beginning.target,
    ))
}

/// Rows of an event, parents first; for `Began` those besides the one in `trials`.
///
/// # Errors
/// [`StoreError::Unstorable`] for numbers that a column cannot hold.
pub(crate) fn of_event(event: &TrialEvent, seq: i64) -> Result<Vec<TableRow>, StoreError> {
    let at = Value::Integer(seq);
    Ok(match event {
        TrialEvent::Began(beginning) => {
            let cell = beginning.cell.as_ref().map(of_cell);
            cell.into_iter().chain(of_parameters(&beginning.parameters)).collect()
        }
        TrialEvent::Environment { facts } => of_facts(facts, seq),
        TrialEvent::PhaseBegan { phase, name, at_ns } => {
            let values = vec![at, Value::from(*phase), text(name), number("start", *at_ns)?];
            vec![TableRow { statement: PHASE_START, values }]
        }
        TrialEvent::TaskBegan { .. } => Vec::new(),
        TrialEvent::Ticked { phase, at_ns, counters } => {
            let mut values = vec![at, Value::from(*phase), number("time of a tick", *at_ns)?];
            values.extend(packed("counters of a tick", counters.json())?);
            vec![TableRow { statement: TICK, values }]
        }
        TrialEvent::TaskEnded(totals) => of_task(totals, seq)?,
        TrialEvent::PhaseEnded(totals) => of_phase(totals, seq)?,
        TrialEvent::Measured(metric) => vec![of_metric(metric, seq)?],
        TrialEvent::Produced(artifact) => vec![of_artifact(artifact, at)?],
        TrialEvent::Cautioned(caution) => {
            let values = vec![at, text(caution.code.name()), text(&caution.message)];
            vec![TableRow { statement: CAUTION, values }]
        }
        TrialEvent::Ended { ending, at_ns } => vec![of_ending(ending, *at_ns, at)?],
    })
}

fn of_ending(ending: &Ending, at_ns: u64, at: Value) -> Result<TableRow, StoreError> {
    let values =
        vec![at, text(ending.name()), text(ending.why()), number("duration of the trial", at_ns)?];
    Ok(TableRow { statement: ENDING, values })
}

fn of_artifact(artifact: &Artifact, at: Value) -> Result<TableRow, StoreError> {
    let mut values = vec![
        at,
        text(&artifact.kind),
        Value::from(artifact.version),
        artifact.phase.map_or(Value::Null, Value::from),
        text(&artifact.name),
    ];
    values.extend(packed("body of an artifact", &artifact.body)?);
    Ok(TableRow { statement: ARTIFACT, values })
}

/// Length of a body in bytes, and the compressed body.
fn packed(name: &'static str, body: &str) -> Result<[Value; 2], StoreError> {
    let packed = packing::pack(body)
        .map_err(|why| StoreError::Unstorable { what: name, value: why.to_string() })?;
    let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
    Ok([number(name, bytes)?, Value::Blob(packed)])
}

fn of_cell(cell: &Cell) -> TableRow {
    let values = vec![
        text(&cell.campaign.text()),
        text(&cell.plan),
        text(&cell.digest),
        text(&cell.variant),
        text(&cell.job),
        Value::from(cell.round),
        text(cell.role.name()),
    ];
    TableRow { statement: CELL, values }
}

fn of_parameters(parameters: &[(String, String)]) -> Vec<TableRow> {
    let rows = (0_i64..).zip(parameters).map(|(ordinal, (name, value))| TableRow {
        statement: PARAMETER,
        values: vec![Value::Integer(ordinal), text(name), text(value)],
    });
    rows.collect()
}

fn of_facts(facts: &[Fact], seq: i64) -> Vec<TableRow> {
    let rows = (0_i64..).zip(facts).map(|(ordinal, fact)| TableRow {
        statement: FACT,
        values: vec![
            Value::Integer(seq),
            Value::Integer(ordinal),
            text(&fact.name),
            text(&fact.value),
        ],
    });
    rows.collect()
}

fn of_metric(metric: &Metric, seq: i64) -> Result<TableRow, StoreError> {
    if !metric.value.is_finite() {
        return Err(StoreError::Unstorable { what: "metric", value: metric.value.to_string() });
    }
    let (scope, part) = word::scope(&metric.scope);
    let values = vec![
        Value::Integer(seq),
        text(&metric.name),
        text(scope),
        text(part),
        Value::Real(metric.value),
        text(metric.unit.word()),
        text(word::better(metric.better)),
        Value::Integer(metric.primary.into()),
        number("tasks of a metric", metric.tasks)?,
    ];
    Ok(TableRow { statement: METRIC, values })
}

fn of_phase(totals: &PhaseTotals, seq: i64) -> Result<Vec<TableRow>, StoreError> {
    let [user_ns, system_ns] = cpu(totals.cpu)?;
    let values = vec![
        Value::Integer(seq),
        Value::from(totals.phase),
        text(&totals.name),
        number("start of a phase", totals.began_ns)?,
        number("duration of a phase", totals.wall_ns)?,
        Value::from(totals.tasks),
        number("files of a phase", totals.files)?,
        number("bytes of a phase", totals.bytes)?,
        user_ns,
        system_ns,
    ];
    let mut rows = vec![TableRow { statement: PHASE, values }];
    of_ops(PHASE_OP, &totals.ops, seq, &mut rows)?;
    for (ordinal, interval) in (0_i64..).zip(&totals.intervals) {
        let values = vec![
            Value::Integer(seq),
            Value::Integer(ordinal),
            Value::from(interval.second),
            number("calls of an interval", interval.calls)?,
            number("bytes of an interval", interval.bytes)?,
        ];
        rows.push(TableRow { statement: INTERVAL, values });
    }
    Ok(rows)
}

fn of_task(totals: &TaskTotals, seq: i64) -> Result<Vec<TableRow>, StoreError> {
    let [user_ns, system_ns] = cpu(totals.cpu)?;
    let [sync_user_ns, sync_system_ns] = cpu(totals.sync_cpu)?;
    let values = vec![
        Value::Integer(seq),
        Value::from(totals.phase),
        Value::from(totals.task),
        Value::from(totals.worker),
        text(&totals.kind),
        text(&totals.subject),
        text(&totals.state),
        text(&totals.tally),
        number("start of a task", totals.began_ns)?,
        number("duration of a task", totals.wall_ns)?,
        number("sync of a task", totals.sync_ns)?,
        user_ns,
        system_ns,
        sync_user_ns,
        sync_system_ns,
        number("files of a task", totals.files)?,
        number("bytes of a task", totals.bytes)?,
        number("listed bytes of a task", totals.listed_bytes)?,
    ];
    let mut rows = vec![TableRow { statement: TASK, values }];
    of_ops(TASK_OP, &totals.ops, seq, &mut rows)?;
    // Counters beyond the maximum length are dropped: they must not fail a run.
    if !totals.counters.is_empty() && totals.counters.json().len() <= packing::BODY_BYTES_MOST {
        let mut values = vec![Value::Integer(seq)];
        values.extend(packed("counters of a task", totals.counters.json())?);
        rows.push(TableRow { statement: COUNTERS, values });
    }
    Ok(rows)
}

fn of_ops(
    statement: &'static str,
    ops: &[OpTotals],
    seq: i64,
    rows: &mut Vec<TableRow>,
) -> Result<(), StoreError> {
    for (ordinal, totals) in (0_i64..).zip(ops) {
        let samples = totals.latency.samples();
        let mut values = vec![
            Value::Integer(seq),
            Value::Integer(ordinal),
            text(totals.op.name()),
            number("calls", totals.calls)?,
            number("errors", totals.errors)?,
            number("bytes of calls", totals.bytes)?,
            number("samples", samples)?,
        ];
        if samples == 0 {
            values.extend([const { Value::Null }; 6]);
        } else {
            for quantile in [0.5, 0.9, 0.99, 0.999] {
                values.push(number("latency", totals.latency.quantile_ns(quantile))?);
            }
            values.push(number("latency", totals.latency.max_ns())?);
            values.push(Value::Blob(totals.latency.to_bytes()));
        }
        rows.push(TableRow { statement, values });
    }
    Ok(())
}

fn cpu(cpu: CpuTime) -> Result<[Value; 2], StoreError> {
    Ok([number("CPU time", cpu.user_ns)?, number("CPU time", cpu.system_ns)?])
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Converts a number to SQLite's signed integer.
fn number(name: &'static str, number: u64) -> Result<Value, StoreError> {
    i64::try_from(number)
        .map(Value::Integer)
        .map_err(|_| StoreError::Unstorable { what: name, value: number.to_string() })
}
