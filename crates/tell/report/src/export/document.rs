//! The JSON of an export: the model's own JSON, with quantiles beside each histogram.
//!
//! The structures are taken apart field by field, so that a new word of the model cannot be
//! forgotten here: it would not compile.

use std::io;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use treering_model::{
    Artifact, Beginning, Caution, Cpu, Ending, Fact, Interval, Latency, Metric, OpTotals,
    PhaseTotals, TaskTotals, Trial,
};

use super::EXPORT_VERSION;
use crate::json;

/// Everything before the first trial.
pub(super) fn begin(out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "{{\"treering_export\":{{\"version\":{EXPORT_VERSION}}},\"trials\":[")
}

/// A trial in a line of its own.
pub(super) fn trial(trial: &Trial, first: bool, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(if first { b"\n" } else { b",\n" })?;
    json::write(&ExportedTrial::of(trial), out)
}

/// Everything behind the last trial.
pub(super) fn finish(out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(b"\n]}\n")
}

#[derive(Serialize)]
struct ExportedTrial<'t> {
    beginning: &'t Beginning,
    facts: &'t [Fact],
    #[serde(serialize_with = "each")]
    phases: &'t [PhaseTotals],
    #[serde(serialize_with = "each")]
    tasks: &'t [TaskTotals],
    metrics: &'t [Metric],
    #[serde(skip_serializing_if = "no_artifacts")]
    artifacts: &'t [Artifact],
    cautions: &'t [Caution],
    ending: &'t Ending,
    wall_ns: u64,
}

impl<'t> ExportedTrial<'t> {
    fn of(trial: &'t Trial) -> Self {
        #[rustfmt::skip]
        let Trial {
            beginning, facts, phases, tasks, metrics, artifacts, cautions, ending, wall_ns,
        } = trial;
        let wall_ns = *wall_ns;
        Self { beginning, facts, phases, tasks, metrics, artifacts, cautions, ending, wall_ns }
    }
}

/// Most trials have none.
fn no_artifacts(artifacts: &&[Artifact]) -> bool {
    artifacts.is_empty()
}

/// The form in which something is exported.
trait Exported {
    type Form<'t>: Serialize
    where
        Self: 't;
    fn exported(&self) -> Self::Form<'_>;
}

fn each<T: Exported, S: Serializer>(all: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(all.len()))?;
    for one in all {
        sequence.serialize_element(&one.exported())?;
    }
    sequence.end()
}

#[derive(Serialize)]
struct ExportedTask<'t> {
    phase: u32,
    task: u32,
    worker: u16,
    kind: &'t str,
    subject: &'t str,
    state: &'t str,
    tally: &'t str,
    began_ns: u64,
    wall_ns: u64,
    sync_ns: u64,
    cpu: Cpu,
    sync_cpu: Cpu,
    files: u64,
    bytes: u64,
    listed_bytes: u64,
    #[serde(serialize_with = "each")]
    ops: &'t [OpTotals],
}

impl Exported for TaskTotals {
    type Form<'t> = ExportedTask<'t>;

    fn exported(&self) -> ExportedTask<'_> {
        #[rustfmt::skip]
        let Self {
            phase, task, worker, kind, subject, state, tally, began_ns, wall_ns, sync_ns, cpu,
            sync_cpu, files, bytes, listed_bytes, ops, direct: _, notes: _,
        } = self;
        ExportedTask {
            phase: *phase,
            task: *task,
            worker: *worker,
            kind,
            subject,
            state,
            tally,
            began_ns: *began_ns,
            wall_ns: *wall_ns,
            sync_ns: *sync_ns,
            cpu: *cpu,
            sync_cpu: *sync_cpu,
            files: *files,
            bytes: *bytes,
            listed_bytes: *listed_bytes,
            ops,
        }
    }
}

#[derive(Serialize)]
struct ExportedPhase<'t> {
    phase: u32,
    name: &'t str,
    began_ns: u64,
    wall_ns: u64,
    tasks: u32,
    files: u64,
    bytes: u64,
    cpu: Cpu,
    #[serde(serialize_with = "each")]
    ops: &'t [OpTotals],
    intervals: &'t [Interval],
}

impl Exported for PhaseTotals {
    type Form<'t> = ExportedPhase<'t>;

    fn exported(&self) -> ExportedPhase<'_> {
        let Self { phase, name, began_ns, wall_ns, tasks, files, bytes, cpu, ops, intervals } =
            self;
        ExportedPhase {
            phase: *phase,
            name,
            began_ns: *began_ns,
            wall_ns: *wall_ns,
            tasks: *tasks,
            files: *files,
            bytes: *bytes,
            cpu: *cpu,
            ops,
            intervals,
        }
    }
}

#[derive(Serialize)]
struct ExportedOp<'t> {
    #[serde(flatten)]
    totals: &'t OpTotals,
    latency_ns: Quantiles,
}

impl Exported for OpTotals {
    type Form<'t> = ExportedOp<'t>;

    fn exported(&self) -> ExportedOp<'_> {
        ExportedOp { totals: self, latency_ns: Quantiles::of(&self.latency) }
    }
}

/// The quantiles of a histogram in nanoseconds; all 0 when no call was timed.
#[derive(Serialize)]
struct Quantiles {
    timed: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Quantiles {
    fn of(latency: &Latency) -> Self {
        Self {
            timed: latency.samples(),
            p50: latency.quantile_ns(0.5),
            p90: latency.quantile_ns(0.9),
            p99: latency.quantile_ns(0.99),
            p999: latency.quantile_ns(0.999),
            max: latency.max_ns(),
        }
    }
}
