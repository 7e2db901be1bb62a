//! A trial as data: `treering show --format json`.

use serde::Serialize;
use treering_analysis::{
    KindSummary, KnownTotals, MedianRange, OpSummary, PhaseSummary, RequestFigures, summary,
};
use treering_model::{
    Annotation, AnnotationKind, Artifact, Cell, Fact, IMPORT_FACT, IntervalTotals, Metric, Trial,
};

use super::trial::TrialView;
use crate::Warning;
use crate::data::{Data, moment};
use crate::export::TaskForm;

/// Data of a trial, its figures first.
#[derive(Debug, Serialize)]
pub struct ShownTrial<'t> {
    id: String,
    workload: &'t str,
    mode: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'t str,
    #[serde(skip_serializing_if = "str::is_empty")]
    target: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    why: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    treering: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported_from: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'t str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    annotations: Vec<AnnotationJson<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<&'t Cell>,
    metrics: &'t [Metric],
    requests: Vec<Requests>,
    phases: Vec<Phase>,
    kinds: Vec<Kind>,
    calls: Vec<Calls>,
    cautions: Vec<Warning>,
    parameters: Vec<NamedValue<'t>>,
    environment: &'t [Fact],
    artifacts: Vec<ArtifactJson<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<TaskForm<'t>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<Vec<PhaseIntervals<'t>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<&'t str>,
}

impl Data for ShownTrial<'_> {
    const FORMAT: &'static str = "treering show";
    const VERSION: u32 = 1;
}

#[derive(Debug, Serialize)]
struct AnnotationJson<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(flatten)]
    change: &'t AnnotationKind,
}

#[derive(Debug, Serialize)]
struct NamedValue<'t> {
    name: &'t str,
    value: &'t str,
}

#[derive(Debug, Serialize)]
struct ArtifactJson<'t> {
    kind: &'t str,
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'t str,
    bytes: usize,
}

#[derive(Debug, Serialize)]
struct PhaseIntervals<'t> {
    phase: u32,
    name: &'t str,
    intervals: &'t [IntervalTotals],
}

/// Defines a form with these field names that omits `None` values.
macro_rules! figures {
    (
        $(#[$about:meta])*
        $name:ident { $($field:ident: $type:ty,)* } with { $($known:ident: $of:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Serialize)]
        struct $name {
            $($known: $of,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] $field: Option<$type>,)*
        }
    };
}

figures!(
    /// Requests by job and direction, or operations by kind.
    Requests {
        direction: &'static str, operations_per_second: f64, mib_per_second: f64,
        timed: u64, mean_ns: f64, p50_ns: f64, p99_ns: f64, p999_ns: f64, max_ns: f64,
        beyond_p999: u64,
    } with { of: String, }
);

figures!(
    /// Totals of a phase.
    Phase {
        tasks: u32, files: u64, bytes: u64, seconds: f64, mib_per_second: f64,
        files_per_second: f64, user_seconds: f64, system_seconds: f64, cpu_percent: f64,
    } with { phase: u32, name: String, finished: bool, }
);

figures!(
    /// Tasks of one kind.
    Kind {
        phase: String, mib_per_second: SpreadForm, total_mib_per_second: f64,
        files_per_second: SpreadForm, total_files_per_second: f64, user_seconds: f64,
        system_seconds: f64, cpu_percent: f64, sync_percent: f64, sync_cpu_percent: f64,
        trend: TrendForm,
    } with { kind: String, compiled: bool, tasks: usize, seconds: SpreadForm, }
);

figures!(
    /// System calls of one kind. Quantiles are over the timed calls.
    Calls {
        mean_ns: f64, p50_ns: u64, p90_ns: u64, p99_ns: u64, p999_ns: u64, max_ns: u64,
    } with { op: &'static str, calls: u64, errors: u64, bytes: u64, timed: u64, }
);

#[derive(Debug, Serialize)]
struct SpreadForm {
    n: usize,
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct TrendForm {
    tasks: usize,
    percent_per_10_tasks: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
    p: f64,
    per: &'static str,
}

impl<'t> ShownTrial<'t> {
    /// Creates the data of a trial; includes tasks, seconds and the command only if the view has
    /// them.
    pub fn new(trial: &'t Trial, view: &TrialView<'t>) -> Self {
        let beginning = &trial.beginning;
        let (figures, known) = (summary(trial), KnownTotals::for_trial(trial));
        let seconds = trial.phases.iter().map(|phase| PhaseIntervals {
            phase: phase.phase,
            name: &phase.name,
            intervals: &phase.intervals,
        });
        Self {
            id: beginning.trial.text(),
            workload: &beginning.workload,
            mode: beginning.mode.name(),
            label: &beginning.label,
            target: &beginning.target,
            started: moment(beginning.started_unix_ms),
            state: trial.ending.name(),
            why: trial.ending.why(),
            wall_ns: (trial.wall_ns > 0).then_some(trial.wall_ns),
            treering: &beginning.treering_version,
            imported_from: trial.fact(IMPORT_FACT),
            excluded: trial.exclusion(),
            annotations: trial.annotations.iter().map(annotation_json).collect(),
            cell: beginning.cell.as_ref(),
            metrics: &trial.metrics,
            requests: figures.requests.iter().map(Requests::new).collect(),
            phases: figures.phases.iter().map(Phase::new).collect(),
            kinds: figures.kinds.iter().map(Kind::new).collect(),
            calls: figures.ops.iter().map(Calls::new).collect(),
            cautions: trial.cautions.iter().map(Warning::from).collect(),
            parameters: named(&beginning.parameters),
            environment: &trial.facts,
            artifacts: trial.artifacts.iter().map(artifact_json).collect(),
            tasks: view
                .tasks
                .then(|| trial.tasks.iter().map(|task| TaskForm::new(task, known)).collect()),
            seconds: view.seconds.then(|| seconds.collect()),
            repeat: view.command,
        }
    }
}

fn annotation_json(annotation: &Annotation) -> AnnotationJson<'_> {
    AnnotationJson { at: moment(annotation.at_unix_ms), change: &annotation.change }
}

fn named(pairs: &[(String, String)]) -> Vec<NamedValue<'_>> {
    pairs.iter().map(|(name, value)| NamedValue { name, value }).collect()
}

fn artifact_json(artifact: &Artifact) -> ArtifactJson<'_> {
    ArtifactJson {
        kind: &artifact.kind,
        version: artifact.version,
        phase: artifact.phase,
        name: &artifact.name,
        bytes: artifact.body.len(),
    }
}

fn spread(of: MedianRange) -> SpreadForm {
    SpreadForm { n: of.n, min: of.min, median: of.median, max: of.max }
}

impl Requests {
    fn new(row: &RequestFigures) -> Self {
        Self {
            of: row.of.clone(),
            direction: row.direction,
            operations_per_second: row.operations_per_second,
            mib_per_second: row.mib_per_second,
            timed: row.timed,
            mean_ns: row.mean_ns,
            p50_ns: row.p50_ns,
            p99_ns: row.p99_ns,
            p999_ns: row.p999_ns,
            max_ns: row.max_ns,
            beyond_p999: row.beyond_p999(),
        }
    }
}

impl Phase {
    fn new(phase: &PhaseSummary) -> Self {
        Self {
            phase: phase.phase,
            name: phase.name.clone(),
            finished: phase.finished,
            tasks: phase.tasks,
            files: phase.files,
            bytes: phase.bytes,
            seconds: phase.seconds,
            mib_per_second: phase.mib_per_second,
            files_per_second: phase.files_per_second,
            user_seconds: phase.user_seconds,
            system_seconds: phase.system_seconds,
            cpu_percent: phase.cpu_percent,
        }
    }
}

impl Kind {
    fn new(kind: &KindSummary) -> Self {
        Self {
            kind: kind.kind.clone(),
            compiled: kind.compiled,
            tasks: kind.tasks,
            seconds: spread(kind.seconds),
            phase: kind.phase.clone(),
            mib_per_second: kind.mib_per_second.map(spread),
            total_mib_per_second: kind.total_mib_per_second,
            files_per_second: kind.files_per_second.map(spread),
            total_files_per_second: kind.total_files_per_second,
            user_seconds: kind.user_seconds,
            system_seconds: kind.system_seconds,
            cpu_percent: kind.cpu_percent,
            sync_percent: kind.sync_percent,
            sync_cpu_percent: kind.sync_cpu_percent,
            trend: kind.trend.map(|trend| TrendForm {
                tasks: trend.tasks,
                percent_per_10_tasks: trend.percent_per_10_tasks,
                interval: trend.interval,
                p: trend.p,
                per: trend.basis.name(),
            }),
        }
    }
}

impl Calls {
    fn new(op: &OpSummary) -> Self {
        Self {
            op: op.op.name(),
            calls: op.calls,
            errors: op.errors,
            bytes: op.bytes,
            timed: op.timed,
            mean_ns: (op.timed > 0).then(|| op.latency.mean_ns()),
            p50_ns: op.quantile_ns(0.5),
            p90_ns: op.quantile_ns(0.9),
            p99_ns: op.quantile_ns(0.99),
            p999_ns: op.quantile_ns(0.999),
            max_ns: op.max_ns(),
        }
    }
}
