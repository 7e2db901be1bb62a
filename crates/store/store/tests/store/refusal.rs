//! Files that are no store, or damaged ones: each is rejected with its own error, none with a
//! panic.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use proptest::prelude::{any, proptest};
use proptest::sample::Index;
use proptest::test_runner::Config;
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use treering_model::TrialId;
use treering_store::{APPLICATION_ID, Access, Filter, LoadDetail, Store, StoreError};

use crate::processes;
use crate::sample::record_one;

const BOTH: [Access; 2] = [Access::ReadOnly, Access::ReadWrite];

fn store_file() -> (TempDir, PathBuf, TrialId) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 7);
    (dir, path, trial)
}

fn error(path: &Path, access: Access) -> StoreError {
    let error = Store::open(path, access).map(drop).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    error
}

/// Runs every read operation. An error is an acceptable result.
fn read_all(path: &Path) -> Result<(), StoreError> {
    let store = Store::open(path, Access::ReadOnly)?;
    drop(store.check());
    let trials = store.trials(&Filter::default())?;
    let ids = trials.iter().map(|summary| summary.trial).collect::<Vec<_>>();
    store.short_ids(&ids)?;
    store.load_many(&ids, LoadDetail::Everything)?;
    Ok(())
}

#[test]
fn missing_and_empty_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("a/store.db");
    let missing = error(&absent, Access::ReadOnly);
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");
    assert!(missing.hint().is_some());
    assert!(!dir.path().join("a").exists());

    let empty = dir.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    let refused = error(&empty, Access::ReadOnly);
    assert!(matches!(refused, StoreError::Empty { .. }), "{refused}");
    // A killed creation leaves an empty file, which writing turns into a store.
    Store::open(&empty, Access::ReadWrite).unwrap();
    Store::open(&empty, Access::ReadOnly).unwrap();
}

#[test]
fn names_special_to_sqlite_are_plain_files() {
    let dir = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "a b%20c?d#e"] {
        let path = dir.path().join(name);
        let trial = record_one(&path, 0);
        assert!(path.is_file());
        Store::open(&path, Access::ReadOnly).unwrap().load(trial).unwrap();
    }
    for path in ["", "a\0b"] {
        Store::open(path, Access::ReadOnly).map(drop).unwrap_err();
        Store::open(path, Access::ReadWrite).map(drop).unwrap_err();
    }
}

#[test]
fn paths_that_are_no_regular_files_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    for access in BOTH {
        for path in [dir.path(), Path::new("/dev/null")] {
            let refused = error(path, access);
            assert!(matches!(refused, StoreError::NotAFile { .. }), "{refused}");
        }
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        error(&file.join("store.db"), access);
    }
}

#[test]
fn not_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    for content in [&b"x"[..], &[0; 5000], &b"SQLite format 3\0"[..], &[b'a'; 5000]] {
        fs::write(&path, content).unwrap();
        for access in BOTH {
            let refused = error(&path, access);
            assert!(matches!(refused, StoreError::NotSqlite { .. }), "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn sqlite_files_of_other_programs_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    let before = fs::read(&path).unwrap();
    for access in BOTH {
        let refused = error(&path, access);
        assert!(
            matches!(refused, StoreError::OtherApplication { application_id: 0, .. }),
            "{refused}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    connection.pragma_update(None, "application_id", 0x1234).unwrap();
    for access in BOTH {
        assert!(error(&path, access).to_string().contains("0x00001234"));
    }
}

#[test]
fn newer_minor_versions_are_read_only_and_major_ones_rejected() {
    let (_dir, path, trial) = store_file();
    let set = |version: i32| {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
    };
    set(1999);
    Store::open(&path, Access::ReadOnly).unwrap().load(trial).unwrap();
    let refused = error(&path, Access::ReadWrite);
    assert!(matches!(refused, StoreError::NewerFormat { .. }), "{refused}");
    assert!(refused.to_string().contains("1.999"), "{refused}");
    let other = tempfile::tempdir().unwrap();
    let mut store = Store::open(other.path().join("s.db"), Access::ReadWrite).unwrap();
    assert!(matches!(store.absorb(&path), Err(StoreError::NewerFormat { .. })));
    for version in [2000, 999, 0, -1, i32::MAX] {
        set(version);
        for access in BOTH {
            let refused = error(&path, access);
            assert!(matches!(refused, StoreError::UnknownFormat { .. }), "{version}: {refused}");
        }
    }
}

#[test]
fn truncated() {
    let (_dir, path, _) = store_file();
    let whole = fs::read(&path).unwrap();
    for len in [100, 4096, 4097, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..len]).unwrap();
        for access in BOTH {
            let refused = error(&path, access);
            let known =
                matches!(refused, StoreError::Damaged { .. } | StoreError::NotSqlite { .. });
            assert!(known, "{len}: {refused}");
        }
    }
}

#[test]
fn a_store_without_its_tables() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", 1000).unwrap();
    connection.execute_batch("CREATE TABLE trials (x)").unwrap();
    let refused = read_all(&path).unwrap_err();
    assert!(matches!(refused, StoreError::Schema { .. }), "{refused}");
}

/// Overwrites one column of a table in all its rows, bypassing the triggers.
fn overwrite_column(path: &Path, table: &str, column: &str, value: &Value) {
    without_triggers(path, table, |connection| {
        let affinity = affinity(value);
        let change = format!("UPDATE OR IGNORE {table} SET {column} = CAST(?1 AS {affinity})");
        connection.execute(&change, [value]).unwrap();
    });
}

/// Changes rows of a table with its triggers removed and restored afterwards.
fn without_triggers(path: &Path, table: &str, change: impl FnOnce(&Connection)) {
    let connection = Connection::open(path).unwrap();
    let query = "SELECT sql FROM sqlite_schema WHERE name = ?1 || '_no_update'";
    let trigger: String = connection.query_row(query, [table], |row| row.get(0)).unwrap();
    let rules = format!(
        "PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on; \
         DROP TRIGGER {table}_no_update;"
    );
    connection.execute_batch(&rules).unwrap();
    change(&connection);
    connection.execute_batch(&trigger).unwrap();
}

const fn affinity(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "TEXT",
        Value::Blob(_) => "BLOB",
        Value::Integer(_) | Value::Real(_) | Value::Null => "NUMERIC",
    }
}

#[test]
fn hostile_content() {
    let integer = Value::Integer;
    let text = |text: &str| Value::Text(text.into());
    let mut header = treering_model::Latency::new().to_bytes();
    header[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let cases = [
        ("trials", "id", text("not-a-uuid-but-36-characters-long-xx")),
        ("trials", "mode", text("heroic")),
        ("trials", "event_version", integer(-1)),
        ("endings", "ending", text("")),
        ("endings", "wall_ns", integer(i64::MIN)),
        ("phases", "bytes", integer(-5)),
        ("phases", "phase", integer(1 << 32)),
        ("tasks", "worker", integer(65_536)),
        ("phase_ops", "seq", integer(999)),
        ("task_ops", "op", text("frobnicate")),
        ("task_ops", "samples", integer(6)),
        ("task_ops", "latency", Value::Blob(header)),
        ("task_ops", "latency", Value::Blob(vec![0xff; 60])),
        ("task_ops", "latency", Value::Null),
        ("intervals", "seq", integer(-1)),
        ("metrics", "value", Value::Real(f64::INFINITY)),
        ("metrics", "unit", text("furlongs")),
        ("metrics", "is_primary", integer(2)),
        ("metrics", "scope", text("world")),
        ("cautions", "code", text("be_careful")),
        ("artifacts", "bytes", integer(5)),
        ("artifacts", "bytes", integer(1 << 40)),
        ("artifacts", "body", Value::Blob(vec![0xff; 60])),
        ("artifacts", "phase", integer(-1)),
    ];
    for (table, column, value) in cases {
        let (_dir, path, _) = store_file();
        overwrite_column(&path, table, column, &value);
        match read_all(&path).unwrap_err() {
            StoreError::Content { place, why, .. } => {
                assert!(place.starts_with(table), "{table}.{column}: {place}");
                assert!(!why.is_empty());
            }
            other => panic!("{table}.{column}: {other}"),
        }
    }
}

#[test]
fn names_are_any_valid_utf8() {
    let (_dir, path, trial) = store_file();
    overwrite_column(&path, "facts", "value", &Value::Text("a\0b\u{202e}'; --".into()));
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    assert_eq!(store.load(trial).unwrap().facts[0].value, "a\0b\u{202e}'; --");
    drop(store);

    without_triggers(&path, "facts", |connection| {
        connection.execute_batch("UPDATE facts SET value = CAST(x'41ff42' AS TEXT)").unwrap();
    });
    let refused = read_all(&path).unwrap_err();
    assert!(refused.to_string().contains("facts.value"), "{refused}");
    assert!(refused.to_string().contains("utf-8"), "{refused}");
}

#[test]
fn orphans_are_found() {
    let (_dir, path, _) = store_file();
    Store::open(&path, Access::ReadOnly).unwrap().check().unwrap();
    overwrite_column(&path, "phase_ops", "seq", &Value::Integer(999));
    let refused = Store::open(&path, Access::ReadOnly).unwrap().check().unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("rows in phase_ops"), "{refused}");
}

proptest! {
    #![proptest_config(Config { cases: 150, ..Config::default() })]

    #[test]
    fn any_damage_never_panics(changes in proptest::collection::vec(any::<(Index, u8)>(), 1..20)) {
        let (_dir, path, _) = store_file();
        let mut bytes = fs::read(&path).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fs::write(&path, &bytes).unwrap();
        drop(read_all(&path));
        if let Ok(mut store) = Store::open(&path, Access::ReadWrite) {
            drop(store.absorb(&path));
        }
    }
}

/// Asserts the errors that an unprivileged child gets for the directories prepared for it.
pub(crate) fn assert_refused_for_another_user(dir: &Path) {
    for access in BOTH {
        let closed = error(&dir.join("closed.db"), access);
        assert!(matches!(closed, StoreError::Denied { .. }), "{closed}");
        let hidden = error(&dir.join("hidden/store.db"), access);
        assert!(matches!(hidden, StoreError::Denied { .. }), "{hidden}");
    }
    for fixed in [dir.join("fixed.db"), dir.join("new.db"), dir.join("new/store.db")] {
        let denied = error(&fixed, Access::ReadWrite);
        assert!(matches!(denied, StoreError::Denied { .. }), "{denied}");
    }
    // Reading requires read permission only, even where no side file can be created.
    read_all(&dir.join("fixed.db")).unwrap();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 3);
}

#[test]
fn no_permission() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(dir.path().join("hidden")).unwrap();
    for name in ["fixed.db", "closed.db", "hidden/store.db"] {
        record_one(&dir.path().join(name), 0);
    }
    mode(&dir.path().join("fixed.db"), 0o444);
    mode(&dir.path().join("closed.db"), 0o000);
    mode(&dir.path().join("hidden"), 0o000);
    mode(dir.path(), 0o555);
    let mut child = processes::command("be refused", dir.path());
    let privileged = fs::read(dir.path().join("closed.db")).is_ok();
    if privileged {
        child.uid(65_534).gid(65_534);
    }
    match child.stderr(std::process::Stdio::piped()).output() {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words}");
        }
        // The unprivileged user may not be able to execute this test binary; the test is then
        // skipped.
        Err(failure) => assert!(privileged, "{failure}"),
    }
    mode(dir.path(), 0o755);
    mode(&dir.path().join("hidden"), 0o755);
}
