//! Histories read the same data as complete trials hold.

use treering_model::{AnnotationKind, Trial, TrialHeader, TrialId};
use treering_store::{Access, LoadDetail, ReadingsQuery, Store};

use crate::sample::{beginning, record, trial_events};

/// A store of six trials, whose row order differs from their start order, one without an ending.
fn store(path: &std::path::Path) -> Store {
    for (index, digit) in "abcdef".chars().enumerate() {
        let trial: TrialId = format!("{digit}0000000-0000-7000-8000-000000000000").parse().unwrap();
        let workload = if index % 2 == 0 { "fs_mark" } else { "ffsb" }.into();
        let started_unix_ms = 100 - i64::try_from(index).unwrap();
        let known = beginning(trial);
        let cell = known.cell.clone().filter(|_| index > 1);
        let mut events = trial_events(TrialHeader { started_unix_ms, workload, cell, ..known });
        if digit == 'f' {
            events.pop();
        }
        record(path, &events);
    }
    Store::open(path, Access::ReadWrite).unwrap()
}

/// Removes the parts of a trial that no history reads.
fn light(mut trial: Trial, wanted: &ReadingsQuery<'_>) -> Trial {
    let is_outside = trial.beginning.cell.is_none() || !wanted.facts.is_empty();
    trial.facts.retain(|fact| {
        let name = fact.name.as_str();
        wanted.facts.contains(&name) || (is_outside && wanted.facts_outside_plans.contains(&name))
    });
    trial.metrics.retain(|metric| match wanted.metric {
        Some(name) => metric.scope.metric_name(&metric.name) == name,
        None => metric.primary,
    });
    trial.phases.clear();
    trial.cautions.clear();
    trial
}

#[test]
fn readings_equal_complete_trials_in_the_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = store(&dir.path().join("store.db"));
    let whole = store.readings(&ReadingsQuery::default()).unwrap();
    let ids: Vec<TrialId> = whole.iter().map(|trial| trial.beginning.trial).collect();
    assert_eq!(ids.len(), 5, "one has no end");
    assert!(ids.is_sorted_by(|before, after| before > after), "the last row began first");
    let relabelled = AnnotationKind::Relabelled { was: String::new(), label: "new".into() };
    store.annotate(&ids[1..3], 5, &relabelled).unwrap();
    store.annotate(&ids[2..4], 6, &AnnotationKind::Excluded { reason: "noisy".into() }).unwrap();
    let trials = store.load_many(&ids, LoadDetail::Headlines).unwrap();
    let fact = trials[0].facts[0].name.clone();
    let metric = trials[0].metrics[0].scope.metric_name(&trials[0].metrics[0].name);
    assert!(store.metric_names().unwrap().contains(&metric));
    let nothing = ReadingsQuery::default();
    for wanted in [
        nothing,
        ReadingsQuery { facts: &[&fact], ..nothing },
        ReadingsQuery { facts_outside_plans: &[&fact], ..nothing },
        ReadingsQuery { facts: &["no.such"], facts_outside_plans: &[&fact], ..nothing },
        ReadingsQuery { metric: Some(&metric), ..nothing },
        ReadingsQuery { metric: Some("no/such_metric"), facts: &["no.such"], ..nothing },
    ] {
        let expected: Vec<Trial> =
            trials.iter().map(|trial| light(trial.clone(), &wanted)).collect();
        assert_eq!(store.readings(&wanted).unwrap(), expected, "{wanted:?}");
    }
    let count = |wanted: ReadingsQuery<'_>| store.readings(&wanted).unwrap().len();
    assert_eq!(count(ReadingsQuery { workload: Some("ffsb"), ..nothing }), 2);
    assert_eq!(count(ReadingsQuery { plan: Some("no such plan"), ..nothing }), 0);
}
