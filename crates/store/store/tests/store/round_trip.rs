//! Round trip: any sequence of events loads as the trial that the model builds from it.

use crate::sample::{beginning, built, counters, record, trial_events};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use proptest::test_runner::Config;
use treering_model::{
    Artifact, BetterDirection, Caution, CautionCode, Counters, CpuTime, Ending, Fact,
    IntervalTotals, Latency, Metric, Op, OpTotals, PhaseTotals, RunMode, Scope, TaskTotals,
    TrialBuilder, TrialEvent, TrialHeader, TrialId, TrialSink, Unit,
};
use treering_store::{Access, LoadDetail, Store};

/// Strategy for numbers that a column can hold.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_u64, 0..=i64::MAX as u64]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just(String::new()), Just("a\0b'\"\u{feff}".into())]
}

fn cpu() -> impl Strategy<Value = CpuTime> {
    (number(), number()).prop_map(|(user_ns, system_ns)| CpuTime { user_ns, system_ns })
}

fn ops() -> BoxedStrategy<Vec<OpTotals>> {
    let op = (select(&Op::ALL[..]), number(), number(), number(), vec(any::<u64>(), 0..20));
    let op = op.prop_map(|(op, calls, errors, bytes, latencies)| {
        let mut latency = Latency::new();
        for value in latencies {
            latency.record(value >> (value % 64));
        }
        OpTotals { op, calls, errors, bytes, latency }
    });
    vec(op, 0..4).boxed()
}

fn task() -> BoxedStrategy<TaskTotals> {
    let names = (text(), text(), text(), text());
    let times = (number(), number(), number(), cpu(), cpu());
    let counters = prop_oneof![Just(Counters::default()), any::<u64>().prop_map(counters)];
    let amounts = (number(), number(), number(), ops(), counters);
    (any::<(u32, u32, u16)>(), names, times, amounts)
        .prop_map(|(which, names, times, amounts)| TaskTotals {
            phase: which.0,
            task: which.1,
            worker: which.2,
            kind: names.0,
            subject: names.1,
            state: names.2,
            tally: names.3,
            began_ns: times.0,
            wall_ns: times.1,
            sync_ns: times.2,
            cpu: times.3,
            sync_cpu: times.4,
            files: amounts.0,
            bytes: amounts.1,
            listed_bytes: amounts.2,
            ops: amounts.3,
            direct: false,
            counters: amounts.4,
        })
        .boxed()
}

fn phase() -> BoxedStrategy<PhaseTotals> {
    let interval = (any::<u32>(), number(), number())
        .prop_map(|(second, calls, bytes)| IntervalTotals { second, calls, bytes });
    let parts = (cpu(), ops(), vec(interval, 0..4));
    (any::<(u32, u32)>(), text(), (number(), number(), number(), number()), parts)
        .prop_map(
            |((phase, tasks), name, (began_ns, wall_ns, files, bytes), (cpu, ops, intervals))| {
                PhaseTotals {
                    phase,
                    name,
                    began_ns,
                    wall_ns,
                    tasks,
                    files,
                    bytes,
                    cpu,
                    ops,
                    intervals,
                }
            },
        )
        .boxed()
}

fn metric() -> BoxedStrategy<Metric> {
    let scope = prop_oneof![
        Just(Scope::Trial),
        text().prop_map(Scope::Phase),
        text().prop_map(Scope::Kind)
    ];
    let better = select(vec![BetterDirection::Higher, BetterDirection::Lower]);
    let value = any::<f64>().prop_filter("metrics are finite", |value| value.is_finite());
    let which = (select(&Unit::ALL[..]), better, any::<bool>());
    (text(), scope, value, which, number())
        .prop_map(|(name, scope, value, (unit, better, primary), tasks)| {
            Metric::new(name, scope, value, unit, better).primary_if(primary).of_tasks(tasks)
        })
        .boxed()
}

fn event() -> BoxedStrategy<TrialEvent> {
    let fact = (text(), text()).prop_map(|(name, value)| Fact { name, value });
    let artifact = (text(), any::<(u32, Option<u32>)>(), text(), text());
    let artifact = artifact.prop_map(|(kind, (version, phase), name, body)| {
        TrialEvent::Produced(Artifact { kind, version, phase, name, body })
    });
    let caution = (select(&CautionCode::ALL[..]), text());
    prop_oneof![
        vec(fact, 0..4).prop_map(|facts| TrialEvent::Environment { facts }),
        (any::<u32>(), text(), number()).prop_map(|(phase, name, at_ns)| TrialEvent::PhaseBegan {
            phase,
            name,
            at_ns
        }),
        (any::<(u32, u32, u64)>(), text()).prop_map(|((phase, task, expected_bytes), kind)| {
            TrialEvent::TaskBegan { phase, task, subject: kind.clone(), kind, expected_bytes }
        }),
        task().prop_map(TrialEvent::TaskEnded),
        phase().prop_map(TrialEvent::PhaseEnded),
        metric().prop_map(TrialEvent::Measured),
        artifact,
        caution.prop_map(|(code, message)| TrialEvent::Cautioned(Caution { code, message })),
    ]
    .boxed()
}

fn began() -> BoxedStrategy<TrialEvent> {
    let mode = select(vec![RunMode::Classic, RunMode::Native]);
    let names = (text(), text(), text(), text());
    (any::<(u32, i64)>(), mode, names, vec((text(), text()), 0..4))
        .prop_map(|((event_version, started_unix_ms), mode, names, parameters)| {
            TrialEvent::Began(TrialHeader {
                event_version,
                trial: TrialId::new(),
                started_unix_ms,
                treering_version: names.0,
                workload: names.1,
                mode,
                label: names.2,
                target: names.3,
                parameters,
                cell: None,
            })
        })
        .boxed()
}

fn ended() -> BoxedStrategy<TrialEvent> {
    let ending = prop_oneof![
        Just(Ending::Completed),
        Just(Ending::Interrupted),
        text().prop_map(|why| Ending::Failed { why }),
        text().prop_map(|why| Ending::Invalid { why }),
    ];
    (ending, number()).prop_map(|(ending, at_ns)| TrialEvent::Ended { ending, at_ns }).boxed()
}

/// Strategy for the events of a trial, mostly in order, with some misplaced ones.
fn events() -> BoxedStrategy<Vec<TrialEvent>> {
    let tail = vec(prop_oneof![30 => event(), 1 => began(), 1 => ended()], 0..12);
    (option::weighted(0.1, event()), began(), tail, option::of(ended()))
        .prop_map(|(stray, began, tail, ended)| {
            stray.into_iter().chain([began]).chain(tail).chain(ended).collect()
        })
        .boxed()
}

proptest! {
    #![proptest_config(Config { cases: 100, ..Config::default() })]

    #[test]
    fn any_events_load_as_the_model_builds_them(events in events()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let mut store = Store::open(&path, Access::ReadWrite).unwrap();
        let mut builder = TrialBuilder::default();
        let mut recorder = store.recorder();
        for event in &events {
            prop_assert_eq!(recorder.accept(event).is_ok(), builder.push(event).is_ok());
        }
        drop(recorder);
        let trial = builder.finish().unwrap();
        prop_assert_eq!(&store.load(trial.beginning.trial).unwrap(), &trial);
        drop(store);
        let mut other = Store::open(dir.path().join("other.db"), Access::ReadWrite).unwrap();
        prop_assert_eq!(other.absorb(&path).unwrap(), 1);
        prop_assert_eq!(&other.load(trial.beginning.trial).unwrap(), &trial);
        other.check().unwrap();
    }
}

#[test]
fn details_exclude_the_documented_parts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let (first, second) = (TrialId::new(), TrialId::new());
    for trial in [first, second] {
        record(&path, &trial_events(beginning(trial)));
    }
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    let everything = built(&trial_events(beginning(first)));
    let both = store.load_many(&[second, first], LoadDetail::Everything).unwrap();
    assert_eq!(both[1], everything);
    assert_eq!(both[0].beginning.trial, second);

    let mut expected = everything;
    for task in &mut expected.tasks {
        task.ops.clear();
        task.counters = Counters::default();
    }
    assert!(expected.phases.iter().any(|phase| !phase.ops.is_empty()));
    assert_eq!(store.load_many(&[first], LoadDetail::PhaseCalls).unwrap(), [expected.clone()]);
    expected.artifacts.clear();
    for phase in &mut expected.phases {
        phase.ops.clear();
        phase.intervals.clear();
    }
    assert_eq!(store.load_many(&[first], LoadDetail::Tasks).unwrap(), [expected.clone()]);
    expected.tasks.clear();
    assert_eq!(store.load_many(&[first], LoadDetail::Headlines).unwrap(), [expected]);
    assert!(store.load_many(&[], LoadDetail::Headlines).unwrap().is_empty());
    assert!(store.load_many(&[TrialId::new()], LoadDetail::Headlines).is_err());
}

#[test]
fn events_come_back_in_their_order_with_the_beginnings_of_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = TrialId::new();
    let mut events = trial_events(beginning(trial));
    record(&path, &events);
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    assert_eq!(store.events(trial).unwrap(), events);
    let other = TrialId::new();
    // The environment is unknown, and the last task never ended.
    events[0] = TrialEvent::Began(beginning(other));
    events[1] = TrialEvent::Environment { facts: Vec::new() };
    let last = events.iter().rposition(|event| matches!(event, TrialEvent::TaskEnded(_))).unwrap();
    events.remove(last);
    record(&path, &events);
    events.remove(last - 1);
    events.remove(1);
    assert_eq!(store.events(other).unwrap(), events);
}
