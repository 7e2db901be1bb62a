//! Tests of listing and finding trials.

use crate::sample::{beginning, record, record_one, trial_events};
use treering_model::{TrialHeader, TrialId};
use treering_store::{Access, Filter, Store, StoreError};

fn numbered(path: &std::path::Path, text: &str, started_unix_ms: i64) -> TrialId {
    let trial = text.parse().unwrap();
    let workload = if started_unix_ms % 2 == 0 { "fs_mark" } else { "ffsb" }.into();
    let label = format!("label {}", started_unix_ms / 2);
    let beginning = TrialHeader { started_unix_ms, workload, label, ..beginning(trial) };
    record(path, &trial_events(beginning));
    trial
}

#[test]
fn filters_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    for (index, digit) in "abcdef".chars().enumerate() {
        let text = format!("{digit}0000000-0000-7000-8000-000000000000");
        numbered(&path, &text, i64::try_from(index).unwrap());
    }
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    let starts = |filter: Filter| {
        let trials = store.trials(&filter).unwrap();
        trials.into_iter().map(|summary| summary.started_unix_ms).collect::<Vec<_>>()
    };
    let every = Filter::default();
    assert_eq!(starts(every.clone()), [5, 4, 3, 2, 1, 0]);
    assert_eq!(starts(Filter { limit: Some(2), ..every.clone() }), [5, 4]);
    assert_eq!(starts(Filter { workload: Some("ffsb".into()), ..every.clone() }), [5, 3, 1]);
    assert_eq!(starts(Filter { label: Some("label 1".into()), ..every.clone() }), [3, 2]);
    let range = Filter { since_unix_ms: Some(1), until_unix_ms: Some(4), ..every.clone() };
    assert_eq!(starts(range.clone()), [3, 2, 1]);
    assert_eq!(starts(Filter { workload: Some("ffsb".into()), limit: Some(1), ..range }), [3]);
    assert_eq!(starts(Filter { label: Some("' OR 1".into()), ..every }), [] as [i64; 0]);
}

#[test]
fn the_shortest_prefix_finds_a_trial() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let first = numbered(&path, "0192a3b4-c5d6-7000-8000-000000000000", 2);
    let second = numbered(&path, "0192a3b4-c5d7-7000-8000-000000000000", 9);
    let third = numbered(&path, "1192a3b4-c5d7-7000-8000-000000000000", 4);
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    for prefix in ["0192a3b4-c5d6", "0192A3B4C5D6", "0192a3b4c5d67", " 0192a3b4-c5d6-7000 "] {
        assert_eq!(store.find(prefix).unwrap(), first, "{prefix}");
    }
    assert_eq!(store.find("1").unwrap(), third);
    assert_eq!(store.find("last").unwrap(), second);
    assert_eq!(store.find("Latest").unwrap(), second);
    for absent in ["2", "", "no such", "0192a3b4-c5d6-7000-8000-0000000000000", "%"] {
        let error = store.find(absent).unwrap_err();
        assert!(matches!(error, StoreError::NoSuchTrial { .. }), "{error}");
    }
    match store.find("0192").unwrap_err() {
        StoreError::Ambiguous { candidates, total, .. } => {
            assert_eq!((candidates, total), (vec![first, second], 2));
        }
        other => panic!("{other}"),
    }
    assert_eq!(store.shortest_prefix_len().unwrap(), 13);
    let short = store.short_ids(&[third, first, TrialId::new()]).unwrap();
    assert_eq!(short[..2], ["1192a3b4-c5d7", "0192a3b4-c5d6"]);
    assert_eq!(short[2].len(), 36);
    assert_eq!(store.find(&short[1]).unwrap(), first);
}

#[test]
fn many_candidates_are_counted_not_listed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    for start in 0..13 {
        record_one(&path, start);
    }
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    let error = store.find("0").unwrap_err();
    assert!(error.to_string().contains("13 trials"), "{error}");
    assert!(error.to_string().ends_with('…'), "{error}");
    let ids = store.trials(&Filter::default()).unwrap();
    let ids = ids.into_iter().map(|summary| summary.trial).collect::<Vec<_>>();
    for (id, short) in ids.iter().zip(store.short_ids(&ids).unwrap()) {
        assert_eq!(store.find(&short).unwrap(), *id);
        assert!(short.len() <= store.shortest_prefix_len().unwrap());
    }
}
