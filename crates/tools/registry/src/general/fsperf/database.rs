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
    /// The file is larger than any database of fsperf.
    #[error("a database of fsperf has at most {} MiB and {ROWS_MOST} rows", BYTES_MOST >> 20)]
    TooLarge,
    /// The database is a store of treering.
    #[error("a store of treering: `treering store merge` takes over its trials")]
    OwnStore,
    /// No run is in the table of runs.
    #[error("a database of fsperf without a run")]
    Empty,
    /// The database lacks the tables of fsperf.
    #[error(
        "a database of SQLite, but not of fsperf: it has no table `runs` with `name` and `time`"
    )]
    Other,
}

/// True if the bytes at the start of a file are those of a database.
pub(crate) fn is_database(source: &dyn TextSource) -> io::Result<bool> {
    let mut head = [0; MAGIC.len()];
    source.fill_at(0, &mut head)?;
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
    let columns = columns(&database, "runs")?;
    let has = |name: &&str| columns.iter().any(|column| column == name);
    if !["id", "name", "time"].iter().all(has) {
        return Err(DatabaseError::Other);
    }
    let mut runs = database.prepare(&selection("runs", &columns, "ORDER BY id"))?;
    let mut rows = runs.query([])?;
    let mut is_empty = true;
    while let Some(row) = rows.next()? {
        let text = |name: &str| {
            let place = columns.iter().position(|column| column == name);
            let value = place.and_then(|place| row.get_ref(place).ok());
            value.and_then(text_of).unwrap_or_default()
        };
        let place = columns.iter().position(|column| column == "id").unwrap_or(0);
        let id: i64 = row.get(place)?;
        let fsperf_run = RunFields {
            id,
            kernel: text("kernel"),
            config: text("config"),
            name: text("name"),
            hostname: text("hostname"),
            purpose: text("purpose"),
            time: text("time"),
        };
        let mut of_run = Vec::new();
        for table in &results {
            for rowid in table.of_runs.get(&id).into_iter().flatten() {
                of_run.push(table.row(&database, *rowid)?);
            }
        }
        let line = RunLine { fsperf_run, results: of_run };
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

/// Names of the columns of a table that are plain words, as all of fsperf's are.
fn columns(database: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1, 'main')")?;
    let mut rows = statement.query([table])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        // The bytes of a damaged name may be no text.
        let ValueRef::Text(name) = row.get_ref(0)? else { continue };
        let is_word = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if is_word && (1..=COLUMN_BYTES_MOST).contains(&name.len()) {
            names.extend(std::str::from_utf8(name).map(str::to_owned));
        }
    }
    Ok(names)
}

/// Query of these columns.
fn selection(table: &str, columns: &[String], tail: &str) -> String {
    let columns: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    format!("SELECT {} FROM main.{table} {tail}", columns.join(", "))
}

/// Table of results.
struct ResultTable {
    name: &'static str,
    columns: Vec<String>,
    /// Numbers of the rows of each run.
    of_runs: HashMap<i64, Vec<i64>>,
}

/// Tables of results that the database has.
fn results(database: &Connection, tables: &[String]) -> Result<Vec<ResultTable>, DatabaseError> {
    let mut all = Vec::new();
    for (_, name, _) in TABLES {
        if !tables.iter().any(|table| table == name) {
            continue;
        }
        let mut of_runs: HashMap<i64, Vec<i64>> = HashMap::new();
        let sql = format!("SELECT run_id, rowid FROM main.{name} ORDER BY rowid");
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
        let mut columns = columns(database, name)?;
        columns.retain(|name| name != "id" && name != "run_id");
        if !columns.is_empty() {
            all.push(ResultTable { name, columns, of_runs });
        }
    }
    Ok(all)
}

impl ResultTable {
    fn row(&self, database: &Connection, rowid: i64) -> rusqlite::Result<ResultRow> {
        let sql = selection(self.name, &self.columns, "WHERE rowid = ?1");
        let mut statement = database.prepare_cached(&sql)?;
        statement.query_row([rowid], |row| Ok(self.values(row)))
    }

    fn values(&self, row: &Row<'_>) -> ResultRow {
        let mut values = BTreeMap::new();
        let mut function = None;
        for (place, name) in self.columns.iter().enumerate() {
            let Ok(value) = row.get_ref(place) else { continue };
            match value {
                ValueRef::Integer(number) => {
                    values.insert(name.clone(), number as f64);
                }
                ValueRef::Real(number) if number.is_finite() => {
                    values.insert(name.clone(), number);
                }
                ValueRef::Text(_) if name == "function" => function = text_of(value),
                _ => {}
            }
        }
        ResultRow { table: self.name.to_owned(), function, values }
    }
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}
