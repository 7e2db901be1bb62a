//! Maintenance of the file: its size, and reclaiming unused space.

use rusqlite::Connection;
use treering_store::{Access, Filter, Store, StoreError};

use crate::sample::record_one;

/// Leaves unused pages behind, as another program would.
fn leave_pages(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    let blobs = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) \
                 SELECT randomblob(4096) FROM n";
    let both = format!("CREATE TABLE other AS {blobs}; DROP TABLE other;");
    connection.execute_batch(&both).unwrap();
}

#[test]
fn vacuum_reclaims_unused_pages_and_keeps_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 7);
    let whole = Store::open(&path, Access::ReadOnly).unwrap().load(trial).unwrap();
    leave_pages(&path);
    let store = Store::open(&path, Access::ReadWrite).unwrap();
    let before = store.room().unwrap();
    assert!(before.unused >= 100 * 4096, "{before:?}");
    store.vacuum().unwrap();
    let after = store.room().unwrap();
    assert_eq!(after.unused, 0);
    assert!(after.bytes + before.unused <= before.bytes, "{before:?} {after:?}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), after.bytes, "also of the file");
    assert_eq!(store.load(trial).unwrap(), whole);
    assert_eq!(store.trials(&Filter::default()).unwrap().len(), 1);
    store.check().unwrap();
}

#[test]
fn a_store_opened_for_reading_is_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    record_one(&path, 7);
    let refused = Store::open(&path, Access::ReadOnly).unwrap().vacuum().unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
}
