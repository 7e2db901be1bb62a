//! Sample events for the tests of the store, and another process to record them.

use std::path::Path;

use treering_model::{
    Artifact, BetterDirection, Caution, CautionCode, Cell, CellRole, Counters, CpuTime, Ending,
    Fact, IntervalTotals, Latency, Metric, Op, OpTotals, PhaseTotals, RunMode, Scope, TaskTotals,
    Trial, TrialBuilder, TrialEvent, TrialHeader, TrialId, TrialSink, Unit,
};
use treering_store::{Access, Store};

pub(crate) fn beginning(trial: TrialId) -> TrialHeader {
    TrialHeader {
        started_unix_ms: 1_700_000_000_000,
        treering_version: "0.1.0".into(),
        label: "a label".into(),
        target: "/mnt/target".into(),
        parameters: vec![("seed".into(), "1".into()), ("runs".into(), "30".into())],
        cell: Some(Cell {
            campaign: trial,
            plan: "a plan".into(),
            digest: "0123456789abcdef".into(),
            variant: "xfs".into(),
            job: "compilebench".into(),
            round: 2,
            role: CellRole::Round,
        }),
        ..TrialHeader::new(trial, "compilebench", RunMode::Native)
    }
}

pub(crate) fn ops() -> Vec<OpTotals> {
    let mut latency = Latency::new();
    for value in [900, 1_000, 20_000, 3_000_000, u64::MAX] {
        latency.record(value);
    }
    vec![
        OpTotals { op: Op::Create, calls: 9, errors: 1, bytes: 0, latency },
        OpTotals { op: Op::Sync, calls: 1, errors: 0, bytes: 0, latency: Latency::new() },
    ]
}

pub(crate) fn counters(files: u64) -> Counters {
    Counters::from_json(format!("{{\"files\":{files}}}"))
}

pub(crate) fn phase_began(phase: u32) -> TrialEvent {
    TrialEvent::PhaseBegan { phase, name: format!("phase {phase}"), at_ns: u64::from(phase) * 10 }
}

pub(crate) fn task_ended(phase: u32, task: u32) -> TrialEvent {
    TrialEvent::TaskEnded(TaskTotals {
        phase,
        task,
        worker: 3,
        kind: "create".into(),
        subject: format!("kernel-{task}"),
        state: "compiled".into(),
        tally: "intial create".into(),
        began_ns: 5,
        wall_ns: 1_000_000_007,
        sync_ns: 17,
        cpu: CpuTime { user_ns: 11, system_ns: 12 },
        sync_cpu: CpuTime { user_ns: 1, system_ns: 2 },
        counters: counters(u64::from(task)),
        files: 25_000,
        bytes: 300_000_000,
        listed_bytes: 290_000_000,
        ops: ops(),
        direct: false,
    })
}

pub(crate) fn phase_ended(phase: u32) -> TrialEvent {
    TrialEvent::PhaseEnded(PhaseTotals {
        phase,
        name: format!("phase {phase}"),
        began_ns: 1,
        wall_ns: 2_000_000_000,
        tasks: 2,
        files: 50_000,
        bytes: 600_000_000,
        cpu: CpuTime { user_ns: 21, system_ns: 22 },
        ops: ops(),
        intervals: vec![
            IntervalTotals { second: 0, calls: 5, bytes: 6 },
            IntervalTotals { second: 2, calls: 7, bytes: 8 },
        ],
    })
}

pub(crate) fn measured(value: f64) -> TrialEvent {
    let scope = Scope::Kind("create".into());
    let (unit, better) = (Unit::MibPerSecond, BetterDirection::Higher);
    let metric = Metric::new("create_mib_per_second", scope, value, unit, better);
    TrialEvent::Measured(metric.primary().of_tasks(4))
}

pub(crate) fn produced(phase: Option<u32>) -> TrialEvent {
    TrialEvent::Produced(Artifact {
        kind: "layout".into(),
        version: 1,
        phase,
        name: "free space".into(),
        body: "{\"extents\":[1,2,3]}".into(),
    })
}

pub(crate) fn ended() -> TrialEvent {
    TrialEvent::Ended { ending: Ending::Completed, at_ns: 4_000_000_000 }
}

/// A complete trial with two phases of two tasks each, and one event of every other kind.
pub(crate) fn trial_events(beginning: TrialHeader) -> Vec<TrialEvent> {
    let mut events = vec![
        TrialEvent::Began(beginning),
        TrialEvent::Environment {
            facts: vec![Fact { name: "kernel.release".into(), value: "6.1.0".into() }],
        },
    ];
    for phase in 0..2 {
        events.push(phase_began(phase));
        for task in 0..2 {
            events.push(TrialEvent::TaskBegan {
                phase,
                task,
                kind: "create".into(),
                subject: format!("kernel-{task}"),
                expected_bytes: 0,
            });
            events.push(task_ended(phase, task));
        }
        events.push(phase_ended(phase));
        events.push(produced(Some(phase)));
    }
    events.push(TrialEvent::Ticked { phase: 1, at_ns: 7, counters: counters(5) });
    events.push(produced(None));
    events.push(measured(123.5));
    events.push(TrialEvent::Cautioned(Caution {
        code: CautionCode::MayNotFit,
        message: "2 s".into(),
    }));
    events.push(ended());
    events
}

/// The trial that the model builds from events.
pub(crate) fn built(events: &[TrialEvent]) -> Trial {
    let mut builder = TrialBuilder::default();
    for event in events {
        builder.push(event).unwrap();
    }
    builder.finish().unwrap()
}

/// Records events into the store at a path.
pub(crate) fn record(path: &Path, events: &[TrialEvent]) {
    let mut store = Store::open(path, Access::ReadWrite).unwrap();
    let mut recorder = store.recorder();
    for event in events {
        recorder.accept(event).unwrap();
    }
}

/// Records a complete new trial into the store at a path.
pub(crate) fn record_one(path: &Path, started_unix_ms: i64) -> TrialId {
    let trial = TrialId::new();
    let beginning = TrialHeader { started_unix_ms, ..beginning(trial) };
    record(path, &trial_events(beginning));
    trial
}
