//! Profiles of jobs and environments of variants: compared trials, merged totals, and the status of
//! facts between variants.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use treering_analysis::compare::{
    ComparedVariant, EnvironmentFact, FactStatus, Factor, environment, profiles,
};
use treering_model::{
    Ending, Fact, IntervalTotals, Latency, Op, OpTotals, PhaseTotals, RunMode, TaskTotals, Trial,
    TrialHeader, TrialId,
};

fn calls(op: Op, samples: u64, ns: u64) -> OpTotals {
    let mut latency = Latency::new();
    (0..samples).for_each(|_| latency.record(ns));
    OpTotals { op, calls: samples, errors: 0, bytes: 0, latency }
}

fn trial(started_unix_ms: i64, files: &str) -> Trial {
    let task = |task| TaskTotals {
        task,
        kind: "create".to_owned(),
        wall_ns: 1_000_000,
        ..TaskTotals::default()
    };
    Trial {
        phases: vec![PhaseTotals {
            name: "aging".to_owned(),
            wall_ns: 6_000_000_000,
            ops: vec![calls(Op::Write, 20, 1000), calls(Op::Sync, 1, 2_000_000)],
            intervals: vec![IntervalTotals { second: 0, calls: 21, bytes: 5 }],
            ..PhaseTotals::default()
        }],
        tasks: (0..8).map(task).collect(),
        ending: Ending::Completed,
        wall_ns: 6_000_000_000,
        ..Trial::new(TrialHeader {
            started_unix_ms,
            treering_version: "0.1.0".to_owned(),
            target: "/mnt".to_owned(),
            parameters: vec![("files".to_owned(), files.to_owned())],
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }
}

fn variant(name: &str, late: i64, rounds: i64) -> ComparedVariant {
    let trials = (0..rounds).map(|round| trial(10 * round + late, "1")).collect();
    ComparedVariant { name: name.to_owned(), factor: Factor::Label, against: None, trials }
}

fn id(variant: &ComparedVariant, round: usize) -> TrialId {
    variant.trials[round].beginning.trial
}

#[test]
fn a_round_that_failed_on_one_variant_counts_on_neither() {
    let (base, mut failed, other) = (variant("a", 0, 4), variant("b", 1, 4), variant("c", 2, 4));
    failed.trials[1].ending = Ending::Interrupted;
    let alone = profiles(&base, std::slice::from_ref(&failed));
    assert_eq!(alone.len(), 1);
    let rounds = [0, 2, 3];
    assert_eq!(alone[0].variants[0].trials, rounds.map(|round| id(&base, round)));
    assert_eq!(alone[0].variants[1].trials, rounds.map(|round| id(&failed, round)));
    // The second trial of the baseline is compared only with the third variant.
    let both = profiles(&base, &[failed, other]);
    assert_eq!(both[0].variants[0].trials.len(), 4);
    assert_eq!((both[0].variants[1].trials.len(), both[0].variants[2].trials.len()), (3, 4));
}

#[test]
fn jobs_are_distinguished_by_their_parameters() {
    let mixed = |name: &str, late: i64| {
        let mut variant = variant(name, late, 2);
        variant.trials.extend((2..4).map(|round| trial(10 * round + late, "9")));
        variant
    };
    let jobs = profiles(&mixed("a", 0), &[mixed("b", 1)]);
    let names: Vec<&str> = jobs.iter().map(|job| job.job.as_str()).collect();
    assert_eq!(names, ["files=1", "files=9"]);
    assert!(jobs.iter().all(|job| job.variants.iter().all(|variant| variant.trials.len() == 2)));
}

#[test]
fn profiles_merge_added_trials() {
    let (base, other) = (variant("a", 0, 3), variant("b", 1, 3));
    let mut job = profiles(&base, std::slice::from_ref(&other)).remove(0);
    for trial in &base.trials {
        job.variants[0].add(trial);
    }
    let variant = &job.variants[0];
    assert_eq!(variant.added, 3);
    let ops: Vec<(Op, u64, u64)> =
        variant.ops.iter().map(|op| (op.op, op.calls, op.timed)).collect();
    assert_eq!(ops, [(Op::Write, 60, 60), (Op::Sync, 3, 3)]);
    assert!(variant.ops[1].total_ns() > variant.ops[0].total_ns());
    let phases: Vec<(&str, usize)> =
        variant.phases.iter().map(|phase| (phase.name.as_str(), phase.rounds.len())).collect();
    assert_eq!(phases, [("aging", 3)]);
    assert!(variant.phases[0].rounds.iter().all(|round| round.ops.is_empty()));
    assert_eq!((variant.kinds[0].kind.as_str(), variant.kinds[0].rounds.len()), ("create", 3));
    assert_eq!(job.variants[1].added, 0);
}

fn with_facts(name: &str, factor: Factor, trials: &[&[(&str, &str)]]) -> ComparedVariant {
    let trials = (0..).zip(trials).map(|(round, facts)| {
        let fact = |(name, value): &(&str, &str)| Fact {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        Trial { facts: facts.iter().map(fact).collect(), ..trial(round, "1") }
    });
    ComparedVariant { name: name.to_owned(), factor, against: None, trials: trials.collect() }
}

fn standing(facts: &[EnvironmentFact], name: &str) -> FactStatus {
    facts.iter().find(|fact| fact.name == name).unwrap().status
}

#[test]
fn fact_status_is_differs_varies_or_compared() {
    let own_facts: [&[(&str, &str)]; 2] = [
        &[("kernel.release", "6.1"), ("filesystem.type", "ext4"), ("cpu.count", "2")],
        &[("kernel.release", "6.1"), ("filesystem.type", "ext4"), ("cpu.count", "4")],
    ];
    let two: [&[(&str, &str)]; 1] = [&[
        ("kernel.release", "6.1"),
        ("filesystem.type", "xfs"),
        ("cpu.count", "4"),
        ("device.model", "disk"),
    ]];
    let facts_by = |factor| {
        environment(&with_facts("a", factor, &own_facts), &[with_facts("b", factor, &two)])
    };
    let facts = facts_by(Factor::Filesystem);
    let names: Vec<&str> = facts.iter().map(|fact| fact.name.as_str()).collect();
    assert_eq!(names, ["kernel.release", "filesystem.type", "cpu.count", "device.model"]);
    assert_eq!(standing(&facts, "kernel.release"), FactStatus::Alike);
    assert_eq!(standing(&facts, "filesystem.type"), FactStatus::Compared);
    assert_eq!(standing(&facts, "cpu.count"), FactStatus::Varies);
    assert_eq!(standing(&facts, "device.model"), FactStatus::Differs);
    let counts: Vec<(&str, usize)> = facts[2].variants[0]
        .iter()
        .map(|variant| (variant.value.as_str(), variant.trials))
        .collect();
    assert_eq!(counts, [("2", 1), ("4", 1)]);
    assert!(facts[3].variants[0].is_empty());
    assert_eq!(standing(&facts_by(Factor::Label), "filesystem.type"), FactStatus::Differs);
    let free = |bytes| with_facts("a", Factor::Label, &[&[("filesystem.free_bytes", bytes)]]);
    assert_eq!(environment(&free("1"), &[free("2")])[0].status, FactStatus::Momentary);
    assert_eq!(environment(&free("1"), &[free("1")])[0].status, FactStatus::Alike);
    assert_eq!(standing(&facts_by(Factor::Variant), "device.model"), FactStatus::Compared);
}
