//! JSON of an export: the model's own JSON, with quantiles added to each histogram.
//!
//! Structures are destructured field by field, so that a new field of the model causes a compile
//! error here. Unknown values are omitted.

use std::io;

use serde::Serialize;
use treering_analysis::KnownTotals;
use treering_model::{
    Annotation, Artifact, Caution, Counters, CpuTime, Ending, Fact, IntervalTotals, Latency,
    Metric, OpTotals, PhaseTotals, TaskTotals, Trial, TrialHeader,
};

use super::EXPORT_VERSION;
use crate::json;

/// Writes the opening before the first trial.
pub(super) fn begin(out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "{{\"treering_export\":{{\"version\":{EXPORT_VERSION}}},\"trials\":[")
}

/// Writes a trial in a line of its own.
pub(super) fn trial(trial: &Trial, first: bool, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(if first { b"\n" } else { b",\n" })?;
    json::write(&ExportedTrial::new(trial), out)
}

/// Writes the closing after the last trial.
pub(super) fn finish(out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(b"\n]}\n")
}

#[derive(Serialize)]
struct ExportedTrial<'t> {
    beginning: &'t TrialHeader,
    facts: &'t [Fact],
    phases: Vec<ExportedPhase<'t>>,
    tasks: Vec<TaskForm<'t>>,
    metrics: &'t [Metric],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    artifacts: &'t [Artifact],
    cautions: &'t [Caution],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    annotations: &'t [Annotation],
    ending: &'t Ending,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
}

impl<'t> ExportedTrial<'t> {
    fn new(trial: &'t Trial) -> Self {
        #[rustfmt::skip]
        let Trial {
            beginning, facts, phases, tasks, metrics, artifacts, cautions, annotations, ending,
            wall_ns,
        } = trial;
        let known = KnownTotals::for_trial(trial);
        Self {
            beginning,
            facts,
            phases: phases.iter().map(|phase| exported_phase(phase, known)).collect(),
            tasks: tasks.iter().map(|task| TaskForm::new(task, known)).collect(),
            metrics,
            artifacts,
            cautions,
            annotations,
            ending,
            wall_ns: (*wall_ns > 0).then_some(*wall_ns),
        }
    }
}

/// A task as written by exports and `treering show --tasks`.
#[derive(Debug, Serialize)]
pub(crate) struct TaskForm<'t> {
    phase: u32,
    task: u32,
    worker: u16,
    kind: &'t str,
    subject: &'t str,
    state: &'t str,
    tally: &'t str,
    began_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<CpuTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync_cpu: Option<CpuTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listed_bytes: Option<u64>,
    ops: Vec<ExportedOp<'t>>,
    #[serde(skip_serializing_if = "Counters::is_empty")]
    counters: &'t Counters,
}

impl<'t> TaskForm<'t> {
    pub(crate) fn new(totals: &'t TaskTotals, known: KnownTotals) -> Self {
        #[rustfmt::skip]
        let TaskTotals {
            phase, task, worker, kind, subject, state, tally, began_ns, wall_ns, sync_ns, cpu,
            sync_cpu, files, bytes, listed_bytes, ops, direct: _, counters,
        } = totals;
        Self {
            phase: *phase,
            task: *task,
            worker: *worker,
            kind,
            subject,
            state,
            tally,
            began_ns: *began_ns,
            wall_ns: known.amount(*wall_ns),
            sync_ns: known.amount(*sync_ns),
            cpu: known.amount(*cpu),
            sync_cpu: known.amount(*sync_cpu),
            files: KnownTotals::files(*files),
            bytes: known.amount(*bytes),
            listed_bytes: known.amount(*listed_bytes),
            ops: exported_ops(ops),
            counters,
        }
    }
}

#[derive(Serialize)]
struct ExportedPhase<'t> {
    phase: u32,
    name: &'t str,
    began_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<CpuTime>,
    ops: Vec<ExportedOp<'t>>,
    intervals: &'t [IntervalTotals],
}

fn exported_phase(totals: &PhaseTotals, known: KnownTotals) -> ExportedPhase<'_> {
    let PhaseTotals { phase, name, began_ns, wall_ns, tasks, files, bytes, cpu, ops, intervals } =
        totals;
    ExportedPhase {
        phase: *phase,
        name,
        began_ns: *began_ns,
        wall_ns: known.amount(*wall_ns),
        tasks: known.amount(*tasks),
        files: KnownTotals::files(*files),
        bytes: known.amount(*bytes),
        cpu: known.amount(*cpu),
        ops: exported_ops(ops),
        intervals,
    }
}

#[derive(Debug, Serialize)]
struct ExportedOp<'t> {
    #[serde(flatten)]
    totals: &'t OpTotals,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ns: Option<Quantiles>,
}

fn exported_ops(ops: &[OpTotals]) -> Vec<ExportedOp<'_>> {
    let exported =
        |totals| ExportedOp { totals, latency_ns: Quantiles::from_latency(&totals.latency) };
    ops.iter().map(exported).collect()
}

/// Quantiles of a histogram in nanoseconds.
#[derive(Debug, Serialize)]
struct Quantiles {
    timed: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Quantiles {
    /// Computes the quantiles; `None` when no call was timed.
    fn from_latency(latency: &Latency) -> Option<Self> {
        (latency.samples() > 0).then(|| Self {
            timed: latency.samples(),
            p50: latency.quantile_ns(0.5),
            p90: latency.quantile_ns(0.9),
            p99: latency.quantile_ns(0.99),
            p999: latency.quantile_ns(0.999),
            max: latency.max_ns(),
        })
    }
}
