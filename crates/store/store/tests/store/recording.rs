//! Recording: durability at each event, the order of events, and immutability afterwards.

use std::thread;
use std::time::Duration;

use crate::sample::{
    beginning, built, ended, measured, phase_began, phase_ended, record, record_one, task_ended,
    trial_events,
};
use rusqlite::Connection;
use treering_model::{AnnotationKind, Ending, TrialEvent, TrialId, TrialSink};
use treering_store::{Access, Filter, Store, StoreError, TrialState};

#[test]
fn phases_and_old_enough_tasks_are_on_disk_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("not/there/store.db");
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    let reader = Store::open(&path, Access::ReadOnly).unwrap();
    let trial = TrialId::new();
    let mut recorder = store.recorder();

    recorder.accept(&TrialEvent::Began(beginning(trial))).unwrap();
    assert_eq!(reader.load(trial).unwrap().ending, Ending::Interrupted);
    assert_eq!(reader.trials(&Filter::default()).unwrap()[0].state, TrialState::Running);

    recorder.accept(&phase_began(0)).unwrap();
    recorder.accept(&task_ended(0, 0)).unwrap();
    recorder.accept(&phase_ended(0)).unwrap();
    assert_eq!(reader.load(trial).unwrap().phases.len(), 1);
    assert_eq!(reader.load(trial).unwrap().tasks.len(), 1);

    thread::sleep(Duration::from_millis(250));
    recorder.accept(&task_ended(1, 0)).unwrap();
    assert_eq!(reader.load(trial).unwrap().tasks.len(), 2);

    recorder.accept(&measured(1.0)).unwrap();
    recorder.accept(&ended()).unwrap();
    let whole = reader.load(trial).unwrap();
    assert_eq!((whole.metrics.len(), whole.ending), (1, Ending::Completed));
    let listed = reader.trials(&Filter::default()).unwrap().remove(0);
    assert_eq!(listed.state, TrialState::Ended(Ending::Completed));
    assert_eq!((listed.phases, listed.cautions, listed.wall_ns), (1, 0, 4_000_000_000));
}

#[test]
fn a_recorder_that_is_dropped_leaves_an_interrupted_trial_with_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let mut events = trial_events(beginning(TrialId::new()));
    events.pop();
    record(&path, &events);
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    let listed = store.trials(&Filter::default()).unwrap().remove(0);
    assert_eq!(listed.state, TrialState::Ended(Ending::Interrupted));
    assert_eq!(listed.state.name(), "interrupted");
    assert_eq!(store.load(listed.trial).unwrap(), built(&events));
}

#[test]
fn the_last_connection_removes_the_side_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    record_one(&path, 0);
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    store.trials(&Filter::default()).unwrap();
    drop(store);
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

#[test]
fn events_out_of_order_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path().join("store.db"), Access::ReadWrite).unwrap();
    let began = TrialEvent::Began(beginning(TrialId::new()));
    let mut recorder = store.recorder();
    assert!(matches!(recorder.record(&ended()), Err(StoreError::Order(_))));
    recorder.record(&began).unwrap();
    assert!(matches!(recorder.record(&began), Err(StoreError::Order(_))));
    recorder.record(&ended()).unwrap();
    assert!(matches!(recorder.record(&ended()), Err(StoreError::Order(_))));
    drop(recorder);
    let error = store.recorder().accept(&began).unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
    assert!(matches!(store.recorder().record(&began), Err(StoreError::AlreadyThere { .. })));
}

#[test]
fn numbers_out_of_range_are_rejected_without_other_loss() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path().join("store.db"), Access::ReadWrite).unwrap();
    let trial = TrialId::new();
    let mut recorder = store.recorder();
    recorder.record(&TrialEvent::Began(beginning(trial))).unwrap();
    for value in [f64::NAN, f64::INFINITY] {
        let error = recorder.record(&measured(value)).unwrap_err();
        assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    }
    let late = TrialEvent::Ended { ending: Ending::Completed, at_ns: u64::MAX };
    assert!(matches!(recorder.record(&late), Err(StoreError::Unstorable { .. })));
    recorder.record(&measured(1.0)).unwrap();
    recorder.record(&ended()).unwrap();
    drop(recorder);
    assert_eq!(store.load(trial).unwrap().metrics.len(), 1);
}

#[test]
fn a_store_opened_for_reading_rejects_events() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    record_one(&path, 0);
    let mut store = Store::open(&path, Access::ReadOnly).unwrap();
    let began = TrialEvent::Began(beginning(TrialId::new()));
    assert!(matches!(store.recorder().record(&began), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.absorb(&path), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn rows_cannot_be_changed_or_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 0);
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.annotate(&[trial], 1, &AnnotationKind::Included).unwrap();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    let mut tables =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap);
    for table in tables.collect::<Vec<String>>() {
        let rows: i64 = connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        assert!(rows > 0 || table == "departures", "{table}");
        for change in [format!("DELETE FROM {table}"), format!("UPDATE {table} SET trial = 7")] {
            let result = connection.execute(&change, []);
            if rows > 0 {
                assert!(result.unwrap_err().to_string().contains("append-only"), "{change}");
            }
        }
    }
}

#[test]
fn percentiles_are_columns_for_sql() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    record_one(&path, 0);
    let connection = Connection::open(&path).unwrap();
    let query = "SELECT count(*), min(p50_ns), max(p999_ns) FROM task_ops JOIN tasks \
        USING (trial, seq) WHERE kind = 'create' AND op = 'create' AND calls = 9";
    let (rows, middle, longest): (i64, i64, i64) =
        connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    assert_eq!(rows, 4);
    assert!((19_000..21_000).contains(&middle), "{middle}");
    assert!(longest > 3_500_000_000_000, "{longest}");
}

#[test]
fn a_batch_is_in_the_file_as_a_whole_once_it_is_committed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let known = record_one(&path, 0);
    let count = || {
        let reader = Store::open(&path, Access::ReadOnly).unwrap();
        reader.trials(&Filter::default()).unwrap().len()
    };
    let add = |store: &mut Store| {
        let trial = TrialId::new();
        let mut recorder = store.recorder().copying();
        recorder.record(&TrialEvent::Began(beginning(trial))).unwrap();
        recorder.record(&TrialEvent::Ended { ending: Ending::Completed, at_ns: 1 }).unwrap();
        trial
    };
    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.begin_batch().unwrap();
    let trial = add(&mut store);
    store.annotate(&[known], 5, &AnnotationKind::Included).unwrap();
    assert_eq!(store.load(trial).unwrap().ending, Ending::Completed);
    assert_eq!(count(), 1);
    drop(store);
    assert_eq!(count(), 1, "a batch that was not committed is discarded");

    let mut store = Store::open(&path, Access::ReadWrite).unwrap();
    store.begin_batch().unwrap();
    let first = add(&mut store);
    // A refused trial takes nothing of the batch with it.
    store.recorder().record(&TrialEvent::Began(beginning(first))).unwrap_err();
    add(&mut store);
    store.commit_batch().unwrap();
    assert_eq!(count(), 3);
    store.commit_batch().unwrap_err();
}
