//! Tests of copying trials from another store.

use std::path::Path;

use rusqlite::Connection;
use treering_model::{TrialEvent, TrialId, TrialSink};
use treering_store::{Access, Filter, LoadDetail, Store, StoreError};

use crate::sample::{beginning, built, phase_began, record, record_one, trial_events};

fn trial_ids(store: &Store) -> Vec<TrialId> {
    let trials = store.trials(&Filter::default()).unwrap();
    trials.into_iter().map(|summary| summary.trial).collect()
}

#[test]
fn missing_trials_are_copied_once() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("store.db"), dir.path().join("staging.db"));
    record_one(&path, 3);
    record_one(&other, 2);
    let mut events = trial_events(beginning(TrialId::new()));
    events.truncate(9);
    record(&other, &events);

    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    assert_eq!(store.absorb(&other).unwrap(), 2);
    assert_eq!(store.absorb(&other).unwrap(), 0);
    assert_eq!(store.absorb(&path).unwrap(), 0);
    store.check().unwrap();
    let source = Store::open(&other, Access::ReadOnly).unwrap();
    let copied = trial_ids(&source);
    assert_eq!(
        store.load_many(&copied, LoadDetail::Everything).unwrap(),
        source.load_many(&copied, LoadDetail::Everything).unwrap()
    );
    assert_eq!(store.load(built(&events).beginning.trial).unwrap(), built(&events));
    assert_eq!(trial_ids(&store).len(), 3);

    // Rows that do not show in a loaded trial are copied too.
    let starts = |path: &Path| -> i64 {
        let connection = Connection::open(path).unwrap();
        let query = "SELECT count(*) FROM phase_starts";
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(starts(&path), starts(&other) + 2);
}

#[test]
fn running_trials_are_not_copied() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("store.db"), dir.path().join("staging.db"));
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    let mut staging = Store::open(&other, Access::ReadWrite).unwrap();
    let mut recorder = staging.recorder();
    recorder.accept(&TrialEvent::Began(beginning(TrialId::new()))).unwrap();
    recorder.accept(&phase_began(0)).unwrap();
    assert_eq!(store.absorb(&other).unwrap(), 0);
    drop(recorder);
    assert_eq!(store.absorb(&other).unwrap(), 1);
}

#[test]
fn all_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("store.db"), dir.path().join("staging.db"));
    record_one(&other, 1);
    let spoilt = record_one(&other, 2);
    let connection = Connection::open(&other).unwrap();
    let query = "SELECT sql FROM sqlite_schema WHERE name = 'metrics_no_update'";
    let trigger: String = connection.query_row(query, [], |row| row.get(0)).unwrap();
    connection.execute_batch("DROP TRIGGER metrics_no_update").unwrap();
    let change = "UPDATE metrics SET unit = 'furlongs' WHERE trial = \
        (SELECT trial FROM trials WHERE id = ?1)";
    assert_eq!(connection.execute(change, [spoilt.text()]).unwrap(), 1);
    connection.execute_batch(&trigger).unwrap();
    drop(connection);

    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    match store.absorb(&other).unwrap_err() {
        StoreError::Content { path, place, why } => {
            assert_eq!((path, place.as_str()), (other, "metrics.unit"));
            assert!(why.contains("furlongs"), "{why}");
        }
        error => panic!("{error}"),
    }
    assert!(trial_ids(&store).is_empty());
    let error = store.absorb(dir.path().join("absent.db")).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
}
