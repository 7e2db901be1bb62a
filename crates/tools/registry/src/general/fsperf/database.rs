//! The database of fsperf as lines of JSON, a line for each run.
//!
//! A database is as hostile as any other file. It is copied into memory and opened there, so that
//! SQLite sees no path, no journal and no lock; its schema may call no function that is dangerous,
//! and a query ends after a number of steps.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::io::{self, Write};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Row};
use thiserror::Error;
use treering_kit::import::source::TextSource;

use super::metric::TABLES;
use super::{ResultRow, RunFields, RunLine};

/// First bytes of every database of SQLite.
const MAGIC: [u8; 16] = *b"SQLite format 3\0";
/// Largest database, in bytes. A run of fsperf needs less than a kilobyte.
const BYTES_MOST: usize = 256 << 20;
/// Largest number of rows in a table.
const ROWS_MOST: usize = 2_000_000;
/// Longest text or row, in bytes.
const VALUE_BYTES_MOST: c_int = 1 << 20;
/// Steps of SQLite's virtual machine between two calls of the progress handler, and the number of
/// steps that all queries of a database may take for each of its bytes.
const PERIOD: c_int = 4096;
const STEPS: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 40;
/// Place of the versions of the file format, which tell a write-ahead log, and their value without.
const FORMAT_VERSIONS: std::ops::Range<usize> = 18..20;
const WITHOUT_LOG: u8 = 1;
/// Place of the number of the application.
const APPLICATION: std::ops::Range<usize> = 68..72;
/// Number of the application in a store of treering.
const OWN_APPLICATION: [u8; 4] = *b"TRng";
/// Longest name of a column, in bytes.
const COLUMN_BYTES_MOST: usize = 64;

/// Reason why a database is not read.
#[derive(Debug, Error)]
pub(crate) enum DatabaseError {
    /// The file cannot be read, or the lines cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// SQLite refuses it.
    #[error("this database cannot be read: {0}")]
    Refused(#[from] rusqlite::Error),
    /// It is too large.
    #[error("a database of fsperf has at most {} MiB, and its tables {ROWS_MOST} rows", BYTES_MOST >> 20)]
    TooLarge,
    /// It is a store of treering.
    #[error("a store of treering: `treering store merge` takes over its trials")]
    OwnStore,
    /// It has no run.
    #[error("a database of fsperf without a run")]
    Empty,
    /// It has other tables.
    #[error(
        "a database of SQLite, but not of fsperf: it has no table `runs` with `name` and `time`"
    )]
    Other,
}

/// True if the bytes at the start of a file are those of a database.
pub(crate) fn is_database(source: &dyn TextSource) -> io::Result<bool> {
    let mut head = [0; MAGIC.len()];
    let mut got = 0;
    while got < head.len() {
        match source.read_at(got as u64, &mut head[got..])? {
            0 => return Ok(false),
            more => got += more,
        }
    }
    Ok(head == MAGIC)
}

/// Writes a line for each run of the database.
pub(crate) fn write_lines(
    source: &dyn TextSource,
    out: &mut dyn Write,
) -> Result<(), DatabaseError> {
    let mut bytes = read_whole(source)?;
    if bytes.get(APPLICATION) == Some(&OWN_APPLICATION) {
        return Err(DatabaseError::OwnStore);
    }
    if let Some(versions) = bytes.get_mut(FORMAT_VERSIONS) {
        versions.fill(WITHOUT_LOG);
    }
    let database = opened(&bytes)?;
    drop(bytes);
    let tables = tables(&database)?;
    if !tables.iter().any(|table| table == "runs") {
        return Err(DatabaseError::Other);
    }
    let results = results(&database, &tables)?;
    let mut runs = database.prepare("SELECT * FROM main.runs ORDER BY id")?;
    if !["id", "name", "time"].iter().all(|name| runs.column_names().contains(name)) {
        return Err(DatabaseError::Other);
    }
    let mut rows = runs.query([])?;
    let mut is_empty = true;
    while let Some(row) = rows.next()? {
        let text = |name: &str| row.get_ref(name).ok().and_then(text_of).unwrap_or_default();
        let id: i64 = row.get("id")?;
        let fsperf_run = RunFields {
            id,
            kernel: text("kernel"),
            config: text("config"),
            name: text("name"),
            hostname: text("hostname"),
            purpose: text("purpose"),
            time: text("time"),
        };
        let rows_of_run = results.iter().flat_map(|(table, of_runs)| {
            of_runs.get(&id).into_iter().flatten().map(move |row| (*table, *row))
        });
        let of_run: Result<Vec<ResultRow>, rusqlite::Error> =
            rows_of_run.map(|(table, row)| result_row(&database, table, row)).collect();
        let line = RunLine { fsperf_run, results: of_run? };
        is_empty = false;
        serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    if is_empty { Err(DatabaseError::Empty) } else { Ok(()) }
}

fn read_whole(source: &dyn TextSource) -> Result<Vec<u8>, DatabaseError> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match source.read_at(bytes.len() as u64, &mut piece)? {
            0 => return Ok(bytes),
            more if bytes.len() + more > BYTES_MOST => return Err(DatabaseError::TooLarge),
            more => bytes.extend_from_slice(&piece[..more]),
        }
    }
}

fn opened(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Connection::open_in_memory_with_flags(flags)?;
    let allowed = STEPS + STEPS_PER_BYTE * bytes.len() as u64;
    let steps = Cell::new(0_u64);
    database.progress_handler(
        PERIOD,
        Some(move || {
            steps.set(steps.get() + u64::from(PERIOD.unsigned_abs()));
            steps.get() > allowed
        }),
    )?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MOST)?;
    database.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    database.set_limit(Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    database.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    database.pragma_update(None, "cell_size_check", true)?;
    database.pragma_update(None, "temp_store", "memory")?;
    database.pragma_update(None, "query_only", true)?;
    Ok(database)
}

/// Names of the tables: virtual ones, which call code of their own, are none.
fn tables(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 LIMIT 1000",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Numbers of the rows of each run.
type RunRows = HashMap<i64, Vec<i64>>;

/// Tables of results, with the rows of each run.
fn results(
    database: &Connection,
    tables: &[String],
) -> Result<Vec<(&'static str, RunRows)>, DatabaseError> {
    let mut all = Vec::new();
    for (_, table, _) in TABLES {
        if !tables.iter().any(|name| name == table) {
            continue;
        }
        let mut of_runs = RunRows::new();
        let sql = format!("SELECT run_id, rowid FROM main.{table} ORDER BY rowid");
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            if count > ROWS_MOST {
                return Err(DatabaseError::TooLarge);
            }
            // A row of no run is of no use.
            if let Ok(run) = row.get::<_, i64>(0) {
                of_runs.entry(run).or_default().push(row.get(1)?);
            }
        }
        all.push((table, of_runs));
    }
    Ok(all)
}

fn result_row(
    database: &Connection,
    table: &'static str,
    rowid: i64,
) -> rusqlite::Result<ResultRow> {
    let sql = format!("SELECT * FROM main.{table} WHERE rowid = ?1");
    let mut statement = database.prepare_cached(&sql)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    statement.query_row([rowid], |row| Ok(values(row, &names, table)))
}

fn values(row: &Row<'_>, names: &[String], table: &str) -> ResultRow {
    let mut read = ResultRow { table: table.to_owned(), function: None, values: BTreeMap::new() };
    for (place, name) in names.iter().enumerate() {
        let is_key = name == "id" || name == "run_id";
        let is_name = !is_key
            && name.len() <= COLUMN_BYTES_MOST
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let Ok(value) = row.get_ref(place) else { continue };
        match value {
            ValueRef::Integer(number) if is_name => {
                read.values.insert(name.clone(), number as f64);
            }
            ValueRef::Real(number) if is_name && number.is_finite() => {
                read.values.insert(name.clone(), number);
            }
            ValueRef::Text(_) if name == "function" => read.function = text_of(value),
            _ => {}
        }
    }
    read
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}
