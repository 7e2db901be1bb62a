//! Limit on the work of a query, so that no crafted file keeps a reader busy forever.
//!
//! Work is counted in steps of SQLite's virtual machine instead of time, so that a file is accepted
//! or rejected alike on every machine.

use std::fs;
use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rusqlite::Connection;

use super::side_files::beside;

/// Virtual machine steps between two calls of the progress handler.
const PERIOD: c_int = 4096;

/// Number of steps that a query of any file may take.
const STEPS: u64 = 20_000_000;

/// Additional steps for each byte of the file and of its write-ahead log. Measured maxima are .31
/// for the list of trials of a store of many small trials, and .28 for `PRAGMA quick_check`.
const STEPS_PER_BYTE: u64 = 8;

/// Counter of the steps of the current query of a connection.
#[derive(Clone, Debug)]
pub(crate) struct WorkLimit(Arc<StepCounter>);

#[derive(Debug)]
struct StepCounter {
    path: PathBuf,
    steps: AtomicU64,
    /// False between queries: statements that only write are not limited.
    is_counting: AtomicBool,
}

impl WorkLimit {
    /// Installs the limit on a connection to the store at a path. Counting begins at once.
    pub(crate) fn install(connection: &Connection, path: &Path) -> rusqlite::Result<Self> {
        let counter = Arc::new(StepCounter {
            path: path.to_owned(),
            steps: AtomicU64::new(0),
            is_counting: AtomicBool::new(true),
        });
        let handler = Arc::clone(&counter);
        connection.progress_handler(PERIOD, Some(move || handler.is_exhausted()))?;
        Ok(Self(counter))
    }

    /// Stops counting the work done since the connection was opened.
    pub(crate) fn end(&self) {
        self.0.is_counting.store(false, Ordering::Relaxed);
    }

    /// Begins counting the steps of a query, until the returned value is dropped.
    pub(crate) fn query(&self) -> LimitedQuery<'_> {
        let counter = &*self.0;
        LimitedQuery {
            counter,
            steps_before: counter.steps.swap(0, Ordering::Relaxed),
            was_counting: counter.is_counting.swap(true, Ordering::Relaxed),
        }
    }
}

impl StepCounter {
    /// Counts one period; true if the query exceeded its limit and must be interrupted.
    fn is_exhausted(&self) -> bool {
        if !self.is_counting.load(Ordering::Relaxed) {
            return false;
        }
        let period = u64::from(PERIOD.unsigned_abs());
        let steps = self.steps.fetch_add(period, Ordering::Relaxed) + period;
        steps > STEPS && steps > self.allowed()
    }

    fn allowed(&self) -> u64 {
        let log = beside(&self.path, "-wal");
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = size(&self.path).saturating_add(size(&log));
        STEPS.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE))
    }
}

/// A query whose steps are counted. Nested queries have limits of their own.
#[derive(Debug)]
pub(crate) struct LimitedQuery<'l> {
    counter: &'l StepCounter,
    steps_before: u64,
    was_counting: bool,
}

impl Drop for LimitedQuery<'_> {
    fn drop(&mut self) {
        self.counter.steps.store(self.steps_before, Ordering::Relaxed);
        self.counter.is_counting.store(self.was_counting, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, ErrorCode};

    use super::WorkLimit;

    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
        SELECT count(*) FROM n";

    fn count(connection: &Connection) -> Result<i64, Option<ErrorCode>> {
        let counted = connection.query_row(ENDLESS, [], |row| row.get(0));
        counted.map_err(|error| error.sqlite_error_code())
    }

    #[test]
    fn each_endless_query_is_interrupted_without_affecting_later_ones() {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("store.db")).unwrap();
        let limit = WorkLimit::install(&connection, &dir.path().join("store.db")).unwrap();
        assert_eq!(count(&connection), Err(Some(ErrorCode::OperationInterrupted)));
        limit.end();
        for _ in 0..2 {
            let query = limit.query();
            assert_eq!(count(&connection), Err(Some(ErrorCode::OperationInterrupted)));
            drop(query);
            let small = format!("SELECT count(*) FROM ({ENDLESS} LIMIT 0)");
            let _query = limit.query();
            let counted: i64 = connection.query_row(&small, [], |row| row.get(0)).unwrap();
            assert_eq!(counted, 0);
        }
    }
}
