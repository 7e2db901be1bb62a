//! Format of a store: tables, versions, and the rules for reading and writing each version.
//!
//! A file of an older version is read as it is, and migrated when opened for writing, by additions
//! only. A file of a newer minor version is read but not written, one of a newer major version
//! neither. `sql/schema.sql` describes the tables.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::StoreError;
use crate::connection::ErrorContext;
use crate::schema::{Schema, refusal};
use crate::version::Version;

/// Value of `PRAGMA application_id` in a store: `TRng`.
pub const APPLICATION_ID: u32 = 0x5452_6e67;

/// Definition of the tables and indices.
const SCHEMA: &str = concat!(
    include_str!("sql/schema.sql"),
    include_str!("sql/artifacts.sql"),
    include_str!("sql/annotations.sql"),
    include_str!("sql/counters.sql")
);

/// Tables added in versions 1.1, 1.2 and 1.3.
const ARTIFACTS: &str = "artifacts";
const ANNOTATIONS: &str = "annotations";
const COUNTERS: &str = "counters";
const TICKS: &str = "ticks";

/// Tables that hold the recorded data of a trial, parents before children. Excludes `trials` itself
/// and the tables about live processes.
pub(crate) const RECORDED: [&str; 17] = [
    "cells",
    "parameters",
    "facts",
    "phase_starts",
    "phases",
    "phase_ops",
    "intervals",
    "tasks",
    "task_ops",
    "metrics",
    "cautions",
    "endings",
    "departures",
    ARTIFACTS,
    ANNOTATIONS,
    COUNTERS,
    TICKS,
];

/// Tables outside [`RECORDED`].
pub(crate) const OTHERS: [&str; 2] = ["trials", "writers"];

/// Migration from the previous version to `to`. It may only add.
struct FormatMigration {
    to: Version,
    statements: &'static str,
    /// Tables that the migration adds; they become append-only.
    tables: &'static [&'static str],
}

/// All migrations, oldest first.
const MIGRATIONS: [FormatMigration; 4] = [
    FormatMigration {
        to: Version::WITH_ARTIFACTS,
        statements: include_str!("sql/artifacts.sql"),
        tables: &[ARTIFACTS],
    },
    FormatMigration {
        to: Version::WITH_ANNOTATIONS,
        statements: include_str!("sql/annotations.sql"),
        tables: &[ANNOTATIONS],
    },
    FormatMigration {
        to: Version::WITH_COUNTERS,
        statements: include_str!("sql/counters.sql"),
        tables: &[COUNTERS, TICKS],
    },
    // The tables stay as they are, but readers of 1.3 do not know two kinds of annotations.
    FormatMigration { to: Version::WITH_KNOWN_CHANGES, statements: "", tables: &[] },
];

/// Result of identifying a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The file is empty.
    Blank,
    /// The file is a store of this version, which this program can read.
    Store(Version),
}

/// Identifies a file by its header; rejects files that are no store, or of an unsupported version.
pub(crate) fn identify(connection: &Connection, path: &Path) -> Result<FileKind, StoreError> {
    let transaction = connection
        .unchecked_transaction()
        .map_err(|error| ErrorContext::file(path).refused(error))?;
    examine(&transaction, path)
}

/// Identifies a file within a transaction, so that no other process changes it meanwhile.
fn examine(connection: &Connection, path: &Path) -> Result<FileKind, StoreError> {
    let place = ErrorContext::file(path);
    let number = |pragma: &str| -> Result<u32, StoreError> {
        let signed: i32 = connection
            .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
            .map_err(|error| place.refused(error))?;
        Ok(signed.cast_unsigned())
    };
    let schema = Schema::read(connection).map_err(|error| place.refused(error))?;
    let application_id = number("application_id")?;
    let version = Version::from_number(number("user_version")?);
    if schema.is_empty() && application_id == 0 && version.number() == 0 {
        // SQLite treats a file of a few bytes as empty, but it may be someone's data.
        let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
        if number("page_count")? == 0 && length > 0 {
            return Err(StoreError::NotSqlite { path: path.to_owned() });
        }
        return Ok(FileKind::Blank);
    }
    if application_id != APPLICATION_ID {
        return Err(StoreError::OtherApplication { path: path.to_owned(), application_id });
    }
    if version.major == 0 || version.major > Version::CURRENT.major {
        return Err(StoreError::UnknownFormat {
            path: path.to_owned(),
            found: version,
            known: Version::CURRENT,
        });
    }
    let expected = schema_of(version).map_err(|error| place.refused(error))?;
    let findings = schema.differences(&expected, version);
    if !findings.is_empty() {
        return Err(StoreError::Schema { path: path.to_owned(), version, findings });
    }
    Ok(FileKind::Store(version))
}

/// Expected schema of a version; for a newer one, that of the newest known version.
fn schema_of(version: Version) -> rusqlite::Result<Schema> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(include_str!("sql/schema.sql"))?;
    let added: Vec<&str> = MIGRATIONS.iter().flat_map(|step| step.tables).copied().collect();
    let first = RECORDED.iter().filter(|table| !added.contains(table));
    let first: Vec<&str> = first.copied().chain(OTHERS).collect();
    connection.execute_batch(&refusals(&first))?;
    for step in MIGRATIONS.iter().filter(|step| step.to <= version) {
        connection.execute_batch(step.statements)?;
        connection.execute_batch(&refusals(step.tables))?;
    }
    Schema::read(&connection)
}

/// Rejects a version that this program must not write or copy.
pub(crate) fn permit_writing(version: Version, path: &Path) -> Result<(), StoreError> {
    if version > Version::CURRENT {
        return Err(StoreError::NewerFormat {
            path: path.to_owned(),
            found: version,
            known: Version::CURRENT,
        });
    }
    Ok(())
}

/// Initialises an empty file, or migrates an older store to the current version. Checks again under
/// the lock, since another process may have done it meanwhile.
pub(crate) fn bring_up_to_date(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let place = ErrorContext::file(path);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| place.refused(error))?;
    match examine(&transaction, path)? {
        FileKind::Blank => create(&transaction).map_err(|error| place.refused(error))?,
        FileKind::Store(version) => {
            permit_writing(version, path)?;
            migrate(&transaction, version, &MIGRATIONS).map_err(|error| place.refused(error))?;
        }
    }
    transaction.commit().map_err(|error| place.refused(error))
}

fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(&definition())?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", Version::CURRENT.number())
}

fn migrate(
    transaction: &Transaction<'_>,
    from: Version,
    migrations: &[FormatMigration],
) -> rusqlite::Result<()> {
    for migration in migrations.iter().filter(|migration| migration.to > from) {
        transaction.execute_batch(migration.statements)?;
        transaction.execute_batch(&refusals(migration.tables))?;
        transaction.pragma_update(None, "user_version", migration.to.number())?;
    }
    Ok(())
}

/// Complete definition: tables, indices, and the triggers that make every table append-only.
fn definition() -> String {
    [SCHEMA, &refusals(&OTHERS), &refusals(&RECORDED)].concat()
}

/// Triggers that make tables append-only.
fn refusals(tables: &[&str]) -> String {
    let changes = |table: &&str| ["UPDATE", "DELETE"].map(|change| refusal(table, change));
    tables.iter().flat_map(changes).collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, TransactionBehavior};

    use super::{FormatMigration, OTHERS, RECORDED, Version, create, definition, migrate};
    use crate::schema::bare;

    fn blank_store() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        create(&transaction).unwrap();
        transaction.commit().unwrap();
        connection
    }

    /// FNV-1a hash, 64 bits.
    fn digest(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Digests of the definition of every released version. A failure means that the tables
    /// changed: raise the version (see `sql/schema.sql`), write a migration, create a golden store
    /// of the new version and add a row. Never change existing rows.
    #[test]
    fn definition_and_version_change_together() {
        let released = [
            (Version { major: 1, minor: 0 }, DIGEST_1_0),
            (Version { major: 1, minor: 1 }, DIGEST_1_1),
            (Version { major: 1, minor: 2 }, DIGEST_1_2),
            (Version { major: 1, minor: 3 }, DIGEST_1_3),
            (Version { major: 1, minor: 4 }, DIGEST_1_4),
        ];
        let (version, recorded) = released.last().unwrap();
        assert_eq!(Version::CURRENT, *version);
        let now = digest(&bare(&definition()));
        assert_eq!(now, *recorded, "the definition's digest is {now:#018x}");
    }

    const DIGEST_1_0: u64 = 0x3f96_831d_1bc2_7d22;
    const DIGEST_1_1: u64 = 0xa559_b18b_52f8_e04b;
    const DIGEST_1_2: u64 = 0x42e6_5db3_d860_d679;
    const DIGEST_1_3: u64 = 0xb5b4_70e3_bf2f_7608;
    const DIGEST_1_4: u64 = DIGEST_1_3;

    #[test]
    fn every_table_is_listed_strict_and_append_only() {
        let connection = blank_store();
        let mut statement = connection
            .prepare("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
            .unwrap();
        let mut tables = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .filter(|(name, _): &(String, bool)| !name.starts_with("sqlite_"))
            .collect::<Vec<_>>();
        tables.sort();
        let mut listed = OTHERS.iter().chain(&RECORDED).map(|name| (*name).to_owned());
        assert!(tables.iter().all(|(_, strict)| *strict));
        assert!(listed.all(|name| tables.iter().any(|(table, _)| *table == name)));
        assert_eq!(tables.len(), OTHERS.len() + RECORDED.len());
        let triggers: u32 = connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(triggers as usize, 2 * tables.len());
    }

    #[test]
    fn versions_are_numbers_and_words() {
        let version = Version { major: 12, minor: 34 };
        assert_eq!(Version::from_number(version.number()), version);
        assert_eq!(version.to_string(), "12.34");
        assert!(Version { major: 2, minor: 0 } > Version { major: 1, minor: 999 });
    }

    #[test]
    fn migrations_add_step_by_step() {
        let mut connection = blank_store();
        let steps = [
            FormatMigration { to: Version::CURRENT, statements: "SELECT broken", tables: &[] },
            FormatMigration {
                to: Version { major: 1, minor: 1001 },
                statements: "ALTER TABLE trials ADD COLUMN cell TEXT NOT NULL DEFAULT ''",
                tables: &[],
            },
            FormatMigration {
                to: Version { major: 1, minor: 1002 },
                statements: "CREATE TABLE later (trial INTEGER) STRICT",
                tables: &["later"],
            },
        ];
        let transaction = connection.transaction().unwrap();
        migrate(&transaction, Version::CURRENT, &steps).unwrap();
        transaction.commit().unwrap();
        let version: u32 =
            connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 2002);
        connection.prepare("SELECT cell FROM trials, later").unwrap();
        connection.execute("INSERT INTO later VALUES (1)", []).unwrap();
        connection.execute("DELETE FROM later", []).unwrap_err();
    }
}
