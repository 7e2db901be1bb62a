//! Tests of annotations to recorded trials.

use rusqlite::Connection;
use treering_model::{Acknowledgement, Annotation, AnnotationKind, TrialId};
use treering_store::{Access, Filter, Store, StoreError};

use crate::sample::record_one;

fn label(label: &str, was: &str) -> AnnotationKind {
    AnnotationKind::Relabelled { label: label.to_owned(), was: was.to_owned() }
}

fn excluded(reason: &str) -> AnnotationKind {
    AnnotationKind::Excluded { reason: reason.to_owned() }
}

#[test]
fn the_last_label_and_exclusion_apply() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let (first, second) = (record_one(&path, 0), record_one(&path, 1));
    let before = Store::open(&path, Access::ReadOnly).unwrap().load(first).unwrap();
    let recorded = before.beginning.label.clone();
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.annotate(&[first], 5, &label("new", "")).unwrap();
    store.annotate(&[first, second], 6, &excluded("cron ran")).unwrap();
    store.annotate(&[second], 7, &AnnotationKind::Included).unwrap();
    store.annotate(&[first], 8, &label("newest", "")).unwrap();

    let trial = store.load(first).unwrap();
    assert_eq!((trial.beginning.label.as_str(), trial.exclusion()), ("newest", Some("cron ran")));
    let changes: Vec<(i64, &AnnotationKind)> = trial
        .annotations
        .iter()
        .map(|annotation| (annotation.at_unix_ms, &annotation.change))
        .collect();
    let (new, newest) = (label("new", &recorded), label("newest", "new"));
    assert_eq!(changes, [(5, &new), (6, &excluded("cron ran")), (8, &newest)]);
    assert_eq!(store.load(second).unwrap().exclusion(), None);
    let listed = store.trials(&Filter::default()).unwrap();
    let row = |id| listed.iter().find(|trial_row| trial_row.trial == id).unwrap();
    assert_eq!(
        (row(first).label.as_str(), row(first).excluded.as_deref()),
        ("newest", Some("cron ran"))
    );
    assert_eq!(row(second).excluded, None);
    let labelled = |label: &str| {
        let filter = Filter { label: Some(label.to_owned()), ..Filter::default() };
        store.trials(&filter).unwrap().iter().map(|summary| summary.trial).collect::<Vec<_>>()
    };
    assert_eq!((labelled("newest"), labelled("new")), (vec![first], vec![]));
    assert!(!labelled(&recorded).contains(&first));

    // The rest of the trial is unchanged.
    let same = treering_model::Trial {
        beginning: before.beginning.clone(),
        annotations: Vec::new(),
        ..trial
    };
    assert_eq!(same, before);
}

#[test]
fn annotations_are_copied_with_their_trial_and_never_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("store.db"), dir.path().join("other.db"));
    let trial = record_one(&path, 0);
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.annotate(&[trial], 5, &excluded("cron ran")).unwrap();
    let mut into = Store::open(&other, Access::ReadWrite).unwrap();
    assert_eq!(into.absorb(&path).unwrap(), 1);
    let annotations = into.load(trial).unwrap().annotations;
    assert_eq!(annotations, [Annotation { at_unix_ms: 5, change: excluded("cron ran") }]);
    let connection = Connection::open(&path).unwrap();
    connection.execute("DELETE FROM annotations", []).unwrap_err();
    connection.execute("UPDATE annotations SET text = ''", []).unwrap_err();
}

#[test]
fn all_named_trials_are_annotated_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 0);
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    let error = store.annotate(&[trial, TrialId::new()], 5, &excluded("x")).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchTrial { .. }), "{error}");
    assert_eq!(store.load(trial).unwrap().annotations, []);
    let mut reader = Store::open(&path, Access::ReadOnly).unwrap();
    let error = reader.annotate(&[trial], 5, &excluded("x")).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[test]
fn deleted_trials_are_gone_and_all_others_stay_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let (first, second) = (record_one(&path, 0), record_one(&path, 1));
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    let kept = store.load(second).unwrap();
    let error = store.delete(&[first, TrialId::new()]).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchTrial { .. }), "{error}");
    assert!(store.load(first).is_ok(), "all or none");
    store.delete(&[first]).unwrap();
    let error = store.load(first).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchTrial { .. }), "{error}");
    assert_eq!(store.load(second).unwrap(), kept);
    store.vacuum().unwrap();
    drop(store);

    let store = Store::open(&path, Access::ReadOnly).unwrap();
    store.check().unwrap();
    assert_eq!(store.trials(&Filter::default()).unwrap().len(), 1);
    let plain = Connection::open(&path).unwrap();
    let error = plain.execute("DELETE FROM trials", []).unwrap_err();
    assert!(error.to_string().contains("append-only"), "{error}");
    let orphans: i64 = plain
        .query_row(
            "SELECT count(*) FROM facts WHERE trial NOT IN (SELECT trial FROM trials)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(orphans, 0);
}

#[test]
fn known_changes_are_kept_and_leave_exclusions_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 0);
    let change = Acknowledgement {
        metric: "create/files_per_second".to_owned(),
        anchor: "ext4".to_owned(),
        log_ratio_millionths: -105_361,
        trend_points: None,
        reason: "compiler 14; \"new\"".to_owned(),
    };
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.annotate(&[trial], 5, &excluded("cron ran")).unwrap();
    store.annotate(&[trial], 6, &AnnotationKind::Acknowledged(change.clone())).unwrap();
    let loaded = store.load(trial).unwrap();
    assert_eq!(Annotation::acknowledgements(&loaded.annotations), [&change]);
    assert_eq!(loaded.exclusion(), Some("cron ran"));
    let listed = store.trials(&Filter::default()).unwrap();
    assert_eq!(listed[0].excluded.as_deref(), Some("cron ran"));
    store.annotate(&[trial], 7, &AnnotationKind::Withdrawn(change)).unwrap();
    let loaded = store.load(trial).unwrap();
    assert!(Annotation::acknowledgements(&loaded.annotations).is_empty());
    assert_eq!(loaded.annotations.len(), 3, "nothing is deleted");
}
