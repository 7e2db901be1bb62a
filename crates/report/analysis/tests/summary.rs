//! Figures of synthetic trials, calculated by hand.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_analysis::{KindSummary, P999_MIN_TIMED, is_compiled, merge_ops, summary};
use treering_model::{
    CpuTime, Ending, Fact, IMPORT_FACT, Latency, Op, OpTotals, PhaseTotals, RunMode, TaskTotals,
    Trial, TrialHeader, TrialId,
};

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

fn trial(phases: Vec<PhaseTotals>, tasks: Vec<TaskTotals>) -> Trial {
    Trial {
        phases,
        tasks,
        ending: Ending::Completed,
        ..Trial::new(TrialHeader {
            target: "/mnt".to_owned(),
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }
}

fn task(kind: &str, state: &str, seconds: u64) -> TaskTotals {
    TaskTotals {
        kind: kind.to_owned(),
        state: state.to_owned(),
        wall_ns: seconds * SECOND,
        ..TaskTotals::default()
    }
}

fn phase(number: u32, name: &str) -> PhaseTotals {
    PhaseTotals { phase: number, name: name.to_owned(), ..PhaseTotals::default() }
}

fn kinds(tasks: Vec<TaskTotals>) -> Vec<KindSummary> {
    summary(&trial(vec![phase(0, "aging")], tasks)).kinds
}

fn labels(kinds: &[KindSummary]) -> Vec<String> {
    kinds.iter().map(KindSummary::label).collect()
}

#[test]
fn compiled_subjects_are_a_row_of_their_own() {
    let rows = kinds(vec![
        task("read", "unpatched", 1),
        task("read", "patched-compiled", 5),
        task("read", "patched", 3),
        task("create", "", 2),
    ]);
    assert_eq!(labels(&rows), ["read", "read compiled", "create"]);
    assert_eq!((rows[0].tasks, rows[0].seconds.median), (2, 2.0));
    assert_eq!((rows[0].seconds.min, rows[0].seconds.max), (1.0, 3.0));
    assert_eq!((rows[1].tasks, rows[1].seconds.median), (1, 5.0));
}

#[test]
fn compiled_state_is_recognised_as_a_word() {
    for state in ["compiled", "patched-compiled", "patched_compiled", "patched, compiled"] {
        assert!(is_compiled(state), "{state}");
    }
    for state in ["", "patched", "uncompiled", "precompiled-headers"] {
        assert!(!is_compiled(state), "{state}");
    }
}

#[test]
fn phases_of_different_names_are_not_mixed() {
    let in_phase = |phase, task| TaskTotals { phase, ..task };
    let tasks = vec![
        in_phase(0, task("create", "", 1)),
        in_phase(1, task("create", "", 9)),
        in_phase(1, task("stat", "", 1)),
        in_phase(2, task("create", "", 11)),
    ];
    // Two phases with the same name are repetitions.
    let phases = vec![phase(0, "initial"), phase(1, "aging"), phase(2, "aging")];
    let rows = summary(&trial(phases, tasks)).kinds;
    assert_eq!(labels(&rows), ["create (initial)", "create (aging)", "stat"]);
    assert_eq!(rows[1].seconds.median, 10.0);
}

#[test]
fn rates_are_computed_per_task_and_in_total() {
    let moved = |bytes, listed_bytes, files, seconds| TaskTotals {
        bytes,
        listed_bytes,
        files,
        ..task("patch", "", seconds)
    };
    // Tasks with 10 MiB/s by listed bytes, with 1 MiB/s by transferred bytes, and with neither.
    let rows = kinds(vec![
        moved(200 * MIB, 100 * MIB, 50, 10),
        moved(2 * MIB, 0, 20, 2),
        moved(0, 0, 0, 8),
    ]);
    let rates = rows[0].mib_per_second.unwrap();
    assert_eq!((rates.n, rates.min, rates.median, rates.max), (2, 1.0, 5.5, 10.0));
    assert_eq!(rows[0].total_mib_per_second.unwrap(), 102.0 / 20.0);
    assert_eq!(rows[0].files_per_second.unwrap().median, 7.5);
    assert_eq!(rows[0].total_files_per_second.unwrap(), 70.0 / 20.0);
}

#[test]
fn shares_of_processor_and_sync() {
    let costly = TaskTotals {
        sync_ns: 3 * SECOND,
        cpu: CpuTime { user_ns: SECOND, system_ns: 4 * SECOND },
        sync_cpu: CpuTime { user_ns: 0, system_ns: SECOND },
        ..task("create", "", 10)
    };
    let rows = kinds(vec![costly.clone(), costly]);
    assert_eq!((rows[0].user_seconds, rows[0].system_seconds), (Some(1.0), Some(4.0)));
    assert_eq!(rows[0].cpu_percent, Some(50.0));
    assert_eq!(rows[0].sync_percent, Some(30.0));
    assert_eq!(rows[0].sync_cpu_percent, Some(20.0));
}

#[test]
fn without_time_there_are_no_rates_and_no_shares() {
    let rows = kinds(vec![TaskTotals { files: 3, bytes: 5, ..task("stat", "", 0) }]);
    let kind = &rows[0];
    assert_eq!((kind.tasks, kind.seconds.max), (1, 0.0));
    assert_eq!((kind.mib_per_second, kind.total_mib_per_second), (None, None));
    assert_eq!((kind.files_per_second, kind.total_files_per_second), (None, None));
    assert_eq!((kind.cpu_percent, kind.sync_percent, kind.sync_cpu_percent), (None, None, None));
    assert_eq!(kind.trend, None);
}

#[test]
fn a_phase_without_an_end_is_the_sum_of_its_tasks() {
    let whole = PhaseTotals {
        tasks: 1,
        files: 4,
        bytes: 20 * MIB,
        wall_ns: 10 * SECOND,
        cpu: CpuTime { user_ns: SECOND, system_ns: SECOND },
        ..phase(0, "initial")
    };
    let unfinished =
        |began, task| TaskTotals { phase: 1, began_ns: began * SECOND, files: 2, ..task };
    let tasks = vec![unfinished(11, task("read", "", 2)), unfinished(13, task("read", "", 4))];
    let rows = summary(&trial(vec![whole], tasks)).phases;
    assert_eq!(rows[0].label(), "initial");
    assert_eq!((rows[0].mib_per_second, rows[0].cpu_percent), (Some(2.0), Some(20.0)));
    assert_eq!((rows[0].files_per_second, rows[0].user_seconds), (Some(0.4), Some(1.0)));
    assert_eq!(rows[1].label(), "phase 1 (unfinished)");
    assert!(!rows[1].finished);
    assert_eq!((rows[1].tasks, rows[1].files, rows[1].seconds), (Some(2), Some(4), Some(6.0)));
}

#[test]
fn values_missing_in_a_log_are_absent_rather_than_zero() {
    let tool = Fact { name: IMPORT_FACT.to_owned(), value: "compilebench".to_owned() };
    let own = trial(vec![phase(0, "aging")], vec![task("read", "", 2)]);
    let import = Trial { facts: vec![tool], ..own.clone() };
    let (phase, kind) = (&summary(&import).phases[0], &summary(&import).kinds[0]);
    assert_eq!((phase.tasks, phase.files, phase.bytes, phase.seconds), (None, None, None, None));
    assert_eq!((phase.user_seconds, phase.system_seconds, phase.cpu_percent), (None, None, None));
    assert_eq!((kind.user_seconds, kind.system_seconds, kind.cpu_percent), (None, None, None));
    assert_eq!((kind.sync_percent, kind.sync_cpu_percent), (None, None));
    // In a run of treering, zero bytes and zero CPU time are measurements.
    let (phase, kind) = (&summary(&own).phases[0], &summary(&own).kinds[0]);
    assert_eq!((phase.bytes, phase.user_seconds), (Some(0), Some(0.0)));
    assert_eq!((kind.user_seconds, kind.sync_percent), (Some(0.0), Some(0.0)));
}

fn op(op: Op, latencies_ns: &[u64]) -> OpTotals {
    let mut latency = Latency::new();
    for &ns in latencies_ns {
        latency.record(ns);
    }
    OpTotals { op, calls: latencies_ns.len() as u64 + 1, errors: 1, bytes: 10, latency }
}

#[test]
fn histograms_are_merged_before_quantiles_are_taken() {
    let fast = op(Op::Write, &[100; 90]);
    let slow = op(Op::Write, &[10_000; 10]);
    let merged = merge_ops([&slow, &op(Op::Open, &[]), &fast]);
    assert_eq!(merged.iter().map(|op| op.op).collect::<Vec<_>>(), [Op::Open, Op::Write]);
    let write = &merged[1];
    assert_eq!((write.calls, write.errors, write.bytes, write.timed), (102, 2, 20, 100));
    assert_eq!(write.quantile_ns(0.5), Some(100));
    assert_eq!(write.quantile_ns(0.9), Some(100));
    let max = write.max_ns().unwrap();
    assert!((9_900..=10_100).contains(&max), "{max}");
    assert_eq!(write.quantile_ns(0.99), Some(max));
    // If no call was timed, the latency is unknown rather than zero.
    assert_eq!((merged[0].quantile_ns(0.5), merged[0].max_ns()), (None, None));
}

#[test]
fn a_far_quantile_needs_a_million_calls() {
    let mut latency = Latency::new();
    let almost =
        vec![OpTotals { op: Op::Read, calls: 9, errors: 0, bytes: 0, latency: latency.clone() }];
    assert_eq!(merge_ops(&almost)[0].p999_ns(), None);
    (0..P999_MIN_TIMED).for_each(|_| latency.record(7));
    let enough = vec![OpTotals { op: Op::Read, calls: 9, errors: 0, bytes: 0, latency }];
    assert_eq!(merge_ops(&enough)[0].p999_ns(), Some(7));
}

#[test]
fn calls_are_counted_once() {
    let with_calls = PhaseTotals { ops: vec![op(Op::Write, &[5; 9])], ..phase(0, "initial") };
    let in_phase = |phase, ops| TaskTotals { phase, ops, ..task("create", "", 1) };
    let tasks = vec![
        // The calls are already counted in their phase.
        in_phase(0, vec![op(Op::Write, &[5; 9])]),
        // The phase recorded no calls of its own.
        in_phase(1, vec![op(Op::Read, &[5; 4])]),
        // The phase never ended.
        in_phase(2, vec![op(Op::Read, &[5; 4])]),
    ];
    let rows = summary(&trial(vec![with_calls, phase(1, "aging")], tasks)).ops;
    assert_eq!(
        rows.iter().map(|op| (op.op, op.calls)).collect::<Vec<_>>(),
        [(Op::Read, 10), (Op::Write, 10),]
    );
}

#[test]
fn empty_trial_has_an_empty_summary() {
    let empty = summary(&trial(Vec::new(), Vec::new()));
    assert!(empty.phases.is_empty() && empty.kinds.is_empty() && empty.ops.is_empty());
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![proptest::prelude::Just(0), 0..1_000_000_000_000u64, any::<u64>()]
}

fn any_task() -> impl Strategy<Value = TaskTotals> {
    let identity = (0u32..3, "[ab]", prop_oneof!["", "compiled"]);
    let times = (number(), number(), number(), number(), number());
    (identity, times, number(), number(), number()).prop_map(
        |(
            (phase, kind, state),
            (began_ns, wall_ns, sync_ns, user_ns, system_ns),
            files,
            bytes,
            listed_bytes,
        )| {
            let cpu = CpuTime { user_ns, system_ns };
            TaskTotals {
                phase,
                kind,
                state,
                began_ns,
                wall_ns,
                sync_ns,
                cpu,
                sync_cpu: cpu,
                files,
                bytes,
                listed_bytes,
                ..TaskTotals::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any totals, including those of a broken import, cause no panic, lost task or NaN.
    #[test]
    fn every_task_counts_once(tasks in vec(any_task(), 0..40), finished in 0u32..3) {
        let phases = (0..finished).map(|number| phase(number, "same")).collect();
        let summarised = summary(&trial(phases, tasks.clone()));
        let counted: usize = summarised.kinds.iter().map(|kind| kind.tasks).sum();
        assert_eq!(counted, tasks.len());
        for kind in &summarised.kinds {
            assert!(kind.seconds.min <= kind.seconds.median);
            assert!(kind.seconds.median <= kind.seconds.max);
            let rates = [kind.total_mib_per_second, kind.total_files_per_second, kind.cpu_percent];
            assert!(rates.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0));
            if let Some(trend) = kind.trend {
                assert!((0.0..=1.0).contains(&trend.p) && !trend.percent_per_10_tasks.is_nan());
            }
        }
        assert!(summarised.phases.iter().all(|phase| phase.seconds.is_none_or(f64::is_finite)));
    }
}
