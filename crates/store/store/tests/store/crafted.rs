//! Crafted stores: reading them ends after a limited number of steps, whatever SQLite would run for
//! their schema.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use treering_model::TrialId;
use treering_store::{APPLICATION_ID, Access, Filter, Store, StoreError};

use crate::sample::record_one;

/// Query expression with endless rows.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

fn store_file() -> (TempDir, PathBuf, TrialId) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let trial = record_one(&path, 7);
    (dir, path, trial)
}

fn alter(path: &Path, statements: &str) {
    Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

/// Asserts that the store is rejected for reading, for writing, and as the source of a merge.
fn is_refused(path: &Path, words: &str) {
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let refused = Store::open(path, access).map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Schema { .. }), "{words}: {refused}");
        assert!(refused.to_string().contains(words), "{words}: {refused}");
        assert!(refused.hint().is_some());
    }
    let other = tempfile::tempdir().unwrap();
    let mut store = Store::open(other.path().join("s.db"), Access::ReadWrite).unwrap();
    let refused = store.absorb(path).unwrap_err();
    assert!(matches!(refused, StoreError::Schema { .. }), "{words}: {refused}");
}

#[test]
fn a_view_in_place_of_any_table_is_refused() {
    let (_dir, path, _) = store_file();
    let tables: Vec<String> = {
        let connection = Connection::open(&path).unwrap();
        let query = "SELECT name FROM sqlite_schema WHERE type = 'table'";
        let mut tables = connection.prepare(query).unwrap();
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(tables.len(), 19);
    for table in tables {
        let (_dir, path, _) = store_file();
        let columns: String = Connection::open(&path)
            .unwrap()
            .query_row(
                "SELECT group_concat('i AS ' || name) FROM pragma_table_info(?1)",
                [&table],
                |row| row.get(0),
            )
            .unwrap();
        let view = format!("CREATE VIEW {table} AS {ENDLESS} SELECT {columns} FROM n;");
        alter(&path, &format!("PRAGMA foreign_keys = off; DROP TABLE {table}; {view}"));
        is_refused(&path, &format!("{table} is a view, not a table"));
    }
}

#[test]
fn a_crafted_view_is_refused_whatever_version_the_file_claims() {
    let dir = tempfile::tempdir().unwrap();
    for version in [1000, 1001, 1002, 1003, 1004, 1999] {
        let path = dir.path().join(format!("{version}.db"));
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        let view = format!("CREATE VIEW trials AS {ENDLESS} SELECT i AS trial FROM n");
        connection.execute_batch(&view).unwrap();
        let refused = Store::open(&path, Access::ReadOnly).map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Schema { .. }), "{refused}");
    }
}

#[test]
fn objects_that_are_not_of_the_format_are_refused() {
    let cases = [
        ("CREATE VIEW extra AS SELECT 1 AS i", "view extra is not one"),
        ("CREATE TABLE extra (i)", "table extra is not one"),
        ("CREATE INDEX extra ON facts (value)", "index extra is not one"),
        ("CREATE VIEW pragma_table_info AS SELECT 1 AS name", "view pragma_table_info is not one"),
        (
            "CREATE TRIGGER extra AFTER INSERT ON trials BEGIN DELETE FROM facts; END",
            "trigger extra is not one",
        ),
        ("CREATE TABLE \"a\u{1b}]52;b\" (i)", "table a\\u{1b}]52;b is not one"),
        ("DROP INDEX trials_by_label", "index trials_by_label is missing"),
        ("DROP TRIGGER facts_no_update", "trigger facts_no_update is missing"),
        ("DROP TABLE writers", "table writers is missing"),
        ("ALTER TABLE facts ADD COLUMN extra TEXT", "table facts is defined in another way"),
        (
            "DROP TRIGGER facts_no_update; CREATE TRIGGER facts_no_update BEFORE UPDATE ON facts \
             BEGIN SELECT 1; END",
            "trigger facts_no_update is defined in another way",
        ),
    ];
    for (statements, words) in cases {
        let (_dir, path, _) = store_file();
        alter(&path, statements);
        is_refused(&path, words);
    }
}

#[test]
fn a_newer_minor_version_may_store_more_but_not_compute() {
    let accepted = [
        "ALTER TABLE trials ADD COLUMN cell TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE later (trial INTEGER NOT NULL REFERENCES trials, body BLOB) STRICT",
        "CREATE TABLE later (trial INTEGER PRIMARY KEY) STRICT; CREATE TRIGGER later_no_update \
         BEFORE UPDATE ON later BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END",
        "CREATE INDEX facts_by_value ON facts (value)",
    ];
    for statements in accepted {
        let (_dir, path, trial) = store_file();
        alter(&path, &format!("{statements}; PRAGMA user_version = 1999"));
        Store::open(&path, Access::ReadOnly).unwrap().load(trial).unwrap();
    }
    let refused = [
        "CREATE VIEW later AS SELECT 1 AS i",
        "CREATE TRIGGER later AFTER INSERT ON trials BEGIN SELECT 1; END",
        "CREATE TABLE later (a TEXT, b GENERATED ALWAYS AS (a LIKE '%a%a%a%'))",
        "CREATE TABLE later (a TEXT CHECK (a GLOB '*a*a*a*a*'))",
        "ALTER TABLE trials ADD COLUMN cell TEXT AS (label || label)",
        "CREATE TABLE pragma_table_info (name)",
    ];
    for statements in refused {
        let (_dir, path, _) = store_file();
        alter(&path, &format!("{statements}; PRAGMA user_version = 1999"));
        let refused = Store::open(&path, Access::ReadOnly).map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Schema { .. }), "{statements}: {refused}");
    }
}

#[test]
fn statistics_of_sqlite_and_a_vacuumed_file_are_accepted() {
    let (_dir, path, trial) = store_file();
    alter(&path, "ANALYZE; VACUUM");
    Store::open(&path, Access::ReadWrite).unwrap().load(trial).unwrap();
}

/// An index whose pages all point to the same page so often that its rows could not be counted in
/// years, though the file has a few pages.
#[test]
fn pages_that_multiply_rows_exceed_the_step_limit() {
    const DEPTH: u32 = 8;
    let (_dir, path, _) = store_file();
    let (page_size, root): (usize, u32) = {
        let connection = Connection::open(&path).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let size: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'trials_by_start'";
        let root: i64 = connection.query_row(query, [], |row| row.get(0)).unwrap();
        (usize::try_from(size).unwrap(), u32::try_from(root).unwrap())
    };
    let mut bytes = fs::read(&path).unwrap();
    let pages = u32::try_from(bytes.len() / page_size).unwrap();
    let at = |page: u32| usize::try_from(page - 1).unwrap() * page_size;
    let leaf = bytes[at(root)..at(root) + page_size].to_vec();
    assert_eq!((leaf[0], leaf[4]), (10, 1), "a leaf of an index with one entry");
    let entry = usize::from(u16::from_be_bytes([leaf[8], leaf[9]]));
    let entry = &leaf[entry..=entry + usize::from(leaf[entry])];
    // The root points to the first of the pages appended to the file, each of these to the next,
    // and the last one to the leaf that was the root.
    let chain: Vec<u32> = std::iter::once(root).chain(pages + 1..=pages + DEPTH).collect();
    for (place, page) in chain.iter().enumerate() {
        let child = chain.get(place + 1).copied().unwrap_or(pages + DEPTH + 1);
        bytes.resize(bytes.len().max(at(*page) + page_size), 0);
        bytes[at(*page)..at(*page) + page_size].copy_from_slice(&parent(page_size, child, entry));
    }
    bytes.extend(leaf);
    bytes[28..32].copy_from_slice(&(pages + DEPTH + 1).to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let store = Store::open(&path, Access::ReadOnly).unwrap();
    let refused = store.trials(&Filter::default()).unwrap_err();
    assert!(matches!(refused, StoreError::TooMuchWork { .. }), "{refused}");
    assert!(store.check().is_err());
    let mut other = Store::open(path.with_extension("other"), Access::ReadWrite).unwrap();
    let refused = other.absorb(&path).unwrap_err();
    assert!(matches!(refused, StoreError::TooMuchWork { .. }), "{refused}");
}

/// A page of an index whose cells all have the same entry and point to the same page.
fn parent(page_size: usize, child: u32, entry: &[u8]) -> Vec<u8> {
    const CELLS: u16 = 60;
    let child = child.to_be_bytes();
    let cell = [&child[..], entry].concat();
    let first = page_size - usize::from(CELLS) * cell.len();
    let short = |number: usize| u16::try_from(number).unwrap().to_be_bytes();
    let mut page = vec![2, 0, 0];
    page.extend(CELLS.to_be_bytes());
    page.extend(short(first));
    page.push(0);
    page.extend(child);
    for place in 0..usize::from(CELLS) {
        page.extend(short(first + place * cell.len()));
    }
    page.resize(first, 0);
    page.extend(cell.repeat(usize::from(CELLS)));
    page
}
