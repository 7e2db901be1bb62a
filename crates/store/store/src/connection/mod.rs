//! Opening of the file: settings and limits for SQLite, and the translation of its errors.
//!
//! `format` decides which files are stores.

mod side_files;
mod work;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use self::side_files::{beside, holds_data};
pub(crate) use self::work::WorkLimit;
use crate::StoreError;

/// Access mode of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only. The file must exist.
    ReadOnly,
    /// Reading and recording. A missing file is created with its directories, an older format is
    /// migrated.
    ReadWrite,
}

/// Timeout for another process's transaction. Transactions last milliseconds, but the store's disk
/// may be the busy one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of a text or blob in bytes: a hostile file must not exhaust memory.
const LONGEST_VALUE: i32 = 64 << 20;

/// Size of the statement cache: more than there are distinct statements.
const STATEMENTS: usize = 64;

/// Number of files SQLite opens for a store: the store, its log, the shared index, the directory.
const FILES_OF_A_STORE: usize = 4;

/// SQLite's `SQLITE_ERROR`, the generic error.
const GENERIC: i32 = 1;
/// SQLite error of a shared-memory file that could not grow.
const NO_ROOM_TO_SHARE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// Location of a problem: adds path and table to errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorContext<'a> {
    path: &'a Path,
    table: &'static str,
}

impl<'a> ErrorContext<'a> {
    /// Location in the file as a whole.
    pub(crate) const fn file(path: &'a Path) -> Self {
        Self { path, table: "" }
    }

    /// Location in one table of the file.
    pub(crate) const fn table(path: &'a Path, table: &'static str) -> Self {
        Self { path, table }
    }

    /// Error for contents that no treering wrote.
    pub(crate) fn content(self, column: &str, why: impl Into<String>) -> StoreError {
        let place = match (self.table, column) {
            // The column includes the name of another table.
            (_, column) if column.contains('.') => column.to_owned(),
            ("", column) => column.to_owned(),
            (table, "") => table.to_owned(),
            (table, column) => format!("{table}.{column}"),
        };
        StoreError::Content { path: self.path.to_owned(), place, why: why.into() }
    }

    /// Converts an error of SQLite to a store error.
    pub(crate) fn refused(self, error: rusqlite::Error) -> StoreError {
        let path = self.path.to_owned();
        match &error {
            rusqlite::Error::SqliteFailure(code, words) => match code.code {
                ErrorCode::NotADatabase => StoreError::NotSqlite { path },
                ErrorCode::DatabaseCorrupt => StoreError::Damaged {
                    path,
                    findings: vec![words.clone().unwrap_or_else(|| code.to_string())],
                },
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { path },
                ErrorCode::OperationInterrupted => StoreError::TooMuchWork { path },
                ErrorCode::DiskFull => StoreError::Full { path },
                _ if code.extended_code == NO_ROOM_TO_SHARE => StoreError::Full { path },
                ErrorCode::ReadOnly => StoreError::Denied { what: "write", path },
                ErrorCode::PermissionDenied => StoreError::Denied { what: "read", path },
                ErrorCode::CannotOpen => match lack_of_files() {
                    Some(source) => StoreError::Io { what: "open", path, source },
                    None => StoreError::Sqlite { path, source: error },
                },
                _ => match words {
                    // The statements are fixed, so an invalid one means a missing table or column.
                    Some(words) if code.extended_code == GENERIC => self.content("", words),
                    _ => StoreError::Sqlite { path, source: error },
                },
            },
            rusqlite::Error::SqlInputError { msg, .. } => self.content("", msg.clone()),
            rusqlite::Error::InvalidColumnType(_, column, actual) => {
                self.content(column, format!("unexpected {actual}"))
            }
            _ => StoreError::Sqlite { path, source: error },
        }
    }
}

/// Opens the file and configures everything except its format. Query steps are counted from here
/// on.
pub(crate) fn open(path: &Path, access: Access) -> Result<(Connection, WorkLimit), StoreError> {
    // SQLite gives special meaning to some relative paths: `:memory:`, `file:…`.
    let absolute = path::absolute(path).map_err(|source| StoreError::Io {
        what: "find",
        path: path.to_owned(),
        source,
    })?;
    inspect(path, access)?;
    if access == Access::ReadWrite {
        create_parents(&absolute)
            .map_err(|source| io_error("create the directory for", path, source))?;
    }
    // The file is opened for writing even to read, where permitted (SQLite falls back by itself):
    // only then does the last connection to close it merge the write-ahead log of a killed writer
    // and remove the side files.
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, access == Access::ReadWrite);
    let opened = Connection::open_with_flags(&absolute, flags)
        .and_then(|connection| ready(connection, &absolute, access));
    match opened {
        Err(error) if access == Access::ReadOnly && is_about_side_files(&error) => {
            open_without_side_files(&absolute).map_err(|_| diagnosis(path, access, error))
        }
        Err(error) if is_about_files(&error) => Err(diagnosis(path, access, error)),
        Err(error) => Err(ErrorContext::file(path).refused(error)),
        Ok((connection, work)) => {
            if access == Access::ReadWrite && connection.is_readonly("main").unwrap_or(false) {
                // SQLite silently falls back to read-only.
                return Err(StoreError::Denied { what: "write", path: path.to_owned() });
            }
            Ok((connection, work))
        }
    }
}

/// Sets the limits of a new connection and reads the header of its file.
fn ready(
    connection: Connection,
    absolute: &Path,
    access: Access,
) -> rusqlite::Result<(Connection, WorkLimit)> {
    let work = WorkLimit::install(&connection, absolute)?;
    configure(&connection, access)?;
    probe(&connection)?;
    Ok((connection, work))
}

/// Error of the operating system when the limit of open files is reached, which SQLite does not
/// report.
fn lack_of_files() -> Option<io::Error> {
    let mut opened = Vec::new();
    for _ in 0..FILES_OF_A_STORE {
        match fs::File::open("/dev/null") {
            Ok(file) => opened.push(file),
            Err(error) => return Some(error),
        }
    }
    None
}

/// Reports whether SQLite could not open, create or write one of its files.
fn is_about_files(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Reports whether the side files may have failed, which a reader can do without. On a full disk
/// they cannot grow, on a read-only one they cannot be created.
fn is_about_side_files(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    is_about_files(error) || matches!(code, Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
}

/// Rejects paths that are not regular files before SQLite opens them: opening a pipe would block
/// forever.
fn inspect(path: &Path, access: Access) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(StoreError::NotAFile { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match access {
            Access::ReadOnly => Err(StoreError::Missing { path: path.to_owned() }),
            Access::ReadWrite => Ok(()),
        },
        Err(error) => Err(io_error("look at", path, error)),
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    if source.kind() == io::ErrorKind::PermissionDenied {
        return StoreError::Denied { what: "reach", path: path.to_owned() };
    }
    StoreError::Io { what: action, path: path.to_owned(), source }
}

/// Creates the missing parent directories of the file, flushing each to disk.
fn create_parents(absolute: &Path) -> io::Result<()> {
    let Some(parent) = absolute.parent() else {
        return Ok(());
    };
    if parent.is_dir() {
        return Ok(());
    }
    create_parents(parent)?;
    match fs::create_dir(parent) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if let Some(above) = parent.parent() {
        fs::File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// Applies the settings of every connection.
fn configure(connection: &Connection, access: Access) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    // The file is untrusted: its triggers and views must not call dangerous functions.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // REPLACE counts as a deletion, which the triggers forbid.
    connection.pragma_update(None, "recursive_triggers", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "query_only", access == Access::ReadOnly)?;
    connection.pragma_update(None, "synchronous", "full")
}

/// Reads the header, so that problems with the file are detected now.
fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))
}

/// Enables the write-ahead log. Where the filesystem does not support it, the rollback journal
/// remains, which is as safe but makes readers and the writer wait for each other.
pub(crate) fn use_write_ahead_log(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let began = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = wal", [], |_| Ok(())) {
            // SQLite does not apply the busy timeout here.
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            result => return result.map_err(|error| ErrorContext::file(path).refused(error)),
        }
    }
}

/// Opens a file for reading where SQLite cannot create or extend its side files: on a read-only
/// medium, in a directory without write permission, on a full disk. A writing process would have
/// created them already, so there is none. Nothing is written.
fn open_without_side_files(absolute: &Path) -> rusqlite::Result<(Connection, WorkLimit)> {
    // An interrupted transaction in a rollback journal must first be rolled back in the file.
    if holds_data(&beside(absolute, "-journal")) {
        return Err(rusqlite::Error::InvalidQuery);
    }
    let has_log = holds_data(&beside(absolute, "-wal"));
    // In exclusive locking mode SQLite keeps the index of the write-ahead log in this process's
    // memory. Locks are not needed, and a file that cannot be written cannot be locked.
    let query_part = if has_log { "vfs=unix-none" } else { "immutable=1" };
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    flags |= OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(address(absolute, query_part), flags)?;
    if has_log {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.query_row("PRAGMA locking_mode = exclusive", [], |_| Ok(()))?;
    }
    ready(connection, absolute, Access::ReadOnly)
}

/// URI with which SQLite opens the file, with this query part.
fn address(absolute: &Path, query_part: &str) -> String {
    let mut address = String::from("file:");
    for byte in absolute.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(*byte));
            }
            other => {
                let digits = b"0123456789abcdef";
                address.push('%');
                address.push(char::from(digits[usize::from(other >> 4)]));
                address.push(char::from(digits[usize::from(other & 15)]));
            }
        }
    }
    address.push('?');
    address.push_str(query_part);
    address
}

/// Error of the operating system for a file that SQLite could not open, since SQLite does not
/// report it.
fn diagnosis(path: &Path, access: Access, error: rusqlite::Error) -> StoreError {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(access == Access::ReadWrite).create(access == Access::ReadWrite);
    let action = match access {
        Access::ReadOnly => "read",
        Access::ReadWrite => "write",
    };
    match options.open(path) {
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            StoreError::Denied { what: action, path: path.to_owned() }
        }
        Err(source) => StoreError::Io { what: action, path: path.to_owned(), source },
        // The file itself can be opened, so the side files cannot.
        Ok(_) if access == Access::ReadOnly && is_about_files(&error) => {
            StoreError::Denied { what: "make the side files of", path: path.to_owned() }
        }
        Ok(_) => ErrorContext::file(path).refused(error),
    }
}
