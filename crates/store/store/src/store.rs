//! Store: opening, checking, and the queries that everything else uses.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Params, Transaction};

use crate::StoreError;
use crate::connection::{self, Access, ErrorContext, WorkLimit};
use crate::format::{self, FileKind};
use crate::values::fields::{self, RowFields};
use crate::version::Version;

/// Store of all trials: one append-only SQLite file.
///
/// A store can be sent to another thread but not shared by threads. Several stores, in one process
/// or many, can be open on the same file; writers wait for each other.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    access: Access,
    version: Version,
    pub(crate) work: WorkLimit,
}

impl Store {
    /// Opens the store at a path.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Empty`] when opened for reading without a file
    /// or contents; else problems with the file.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let (mut connection, work) = connection::open(path, access)?;
        let kind = format::identify(&connection, path)?;
        work.end();
        let version = match (access, kind) {
            (Access::ReadOnly, FileKind::Store(version)) => version,
            (Access::ReadOnly, FileKind::Blank) => {
                return Err(StoreError::Empty { path: path.to_owned() });
            }
            (Access::ReadWrite, kind) => {
                if kind != FileKind::Store(Version::CURRENT) {
                    format::bring_up_to_date(&mut connection, path)?;
                }
                connection::use_write_ahead_log(&connection, path)?;
                Version::CURRENT
            }
        };
        Ok(Self { connection, path: path.to_owned(), access, version, work })
    }

    /// Path of the store, as given when opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Format version of the file.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Checks SQLite's structure and the references between the tables.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first findings.
    pub fn check(&self) -> Result<(), StoreError> {
        let place = ErrorContext::file(&self.path);
        let mut findings = self.rows("PRAGMA quick_check(20)", [], "", fields::text)?;
        findings.retain(|finding| finding != "ok");
        let _limited = self.work.query();
        let mut statement = self
            .connection
            .prepare("SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1")
            .map_err(|error| place.refused(error))?;
        let mut orphans = statement.query([]).map_err(|error| place.refused(error))?;
        while let Some(row) = orphans.next().map_err(|error| place.refused(error))? {
            let mut fields = RowFields::new(row, place);
            let (table, rows): (String, u64) = (fields.text()?, fields.integer()?);
            findings.push(format!("{rows} orphaned rows in {table}"));
        }
        if findings.is_empty() {
            return Ok(());
        }
        Err(StoreError::Damaged { path: self.path.clone(), findings })
    }

    /// Rejects writing to a store that was opened for reading.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(StoreError::ReadOnly { path: self.path.clone() }),
        }
    }

    /// Starts a consistent view of the store for several queries, which lasts until it is dropped;
    /// `None` within a batch, which is one.
    pub(crate) fn snapshot(&self) -> Result<Option<Transaction<'_>>, StoreError> {
        if !self.connection.is_autocommit() {
            return Ok(None);
        }
        let snapshot = self.connection.unchecked_transaction();
        snapshot.map(Some).map_err(|error| ErrorContext::file(&self.path).refused(error))
    }

    /// Reads all rows of a query, converting each. `table` is for error messages.
    pub(crate) fn rows<T>(
        &self,
        query: &str,
        parameters: impl Params,
        table: &'static str,
        mut make: impl FnMut(&mut RowFields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let place = ErrorContext::table(&self.path, table);
        let refused = |error| place.refused(error);
        let _limited = self.work.query();
        let mut statement = self.connection.prepare_cached(query).map_err(refused)?;
        let mut rows = statement.query(parameters).map_err(refused)?;
        let mut made = Vec::new();
        while let Some(row) = rows.next().map_err(refused)? {
            made.push(make(&mut RowFields::new(row, place))?);
        }
        Ok(made)
    }
}
