//! Maintenance of the file: its size, reclaiming unused space, and deleting trials.

use rusqlite::{Transaction, TransactionBehavior};
use treering_model::TrialId;

use crate::connection::ErrorContext;
use crate::format::{OTHERS, RECORDED};
use crate::schema::refusal;
use crate::values::fields;
use crate::{Filter, Store, StoreError, TrialState};

/// Size of the store's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize {
    /// Size of the file in bytes, without its write-ahead log.
    pub bytes: u64,
    /// Unused bytes, which [`Store::vacuum`] reclaims.
    pub unused: u64,
}

impl Store {
    /// Measures the size of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn room(&self) -> Result<StoreSize, StoreError> {
        let size = self.pragma("PRAGMA page_size")?;
        let bytes = size.saturating_mul(self.pragma("PRAGMA page_count")?);
        Ok(StoreSize { bytes, unused: size.saturating_mul(self.pragma("PRAGMA freelist_count")?) })
    }

    /// Rewrites the file without unused pages, and empties the write-ahead log. Others wait until
    /// it is done. It needs as much space again on the filesystem of the store, for the log, and in
    /// SQLite's temporary directory (`SQLITE_TMPDIR`, or `/var/tmp`); when that runs out, or the
    /// power fails, the file stays as it was.
    ///
    /// # Errors
    /// If the store was opened for reading, is in use, or its filesystem is full.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        self.writable()?;
        let run = |batch: &str| {
            let _limited = self.work.query();
            let outcome = self.connection.execute_batch(batch);
            outcome.map_err(|error| ErrorContext::file(&self.path).refused(error))
        };
        // SQLite's temporary copy is as large as the store, so it must not be in memory.
        run("PRAGMA temp_store = file")?;
        let vacuumed = run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        run("PRAGMA temp_store = memory")?;
        vacuumed
    }

    /// Deletes trials with all their data, either all of them or none.
    ///
    /// The triggers that make the store append-only are removed within one transaction, so that no
    /// other process sees the store without them. Writing a new file instead would lose the data
    /// that another process with the old file open adds. [`Self::vacuum`] reclaims the space.
    ///
    /// # Errors
    /// [`StoreError::NoSuchTrial`]; [`StoreError::StillRecorded`] for a trial that is running; if
    /// the store was opened for reading, is in use, or its filesystem is full.
    pub fn delete(&mut self, trials: &[TrialId]) -> Result<(), StoreError> {
        self.writable()?;
        let summaries = self.trials(&Filter::default())?;
        for trial in trials {
            let path = self.path.clone();
            match summaries.iter().find(|summary| summary.trial == *trial) {
                None => return Err(StoreError::NoSuchTrial { path, prefix: trial.text() }),
                Some(summary) if summary.state == TrialState::Running => {
                    return Err(StoreError::StillRecorded { path, trial: *trial });
                }
                Some(_) => {}
            }
        }
        let place = ErrorContext::file(&self.path);
        let _limited = self.work.query();
        let delete = || -> rusqlite::Result<()> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = Transaction::new_unchecked(&self.connection, behavior)?;
            delete_rows(&transaction, trials)?;
            transaction.commit()
        };
        delete().map_err(|error| place.refused(error))
    }

    /// Disables flushes to the disk from now on: for a store that is not needed after a crash.
    ///
    /// # Errors
    /// If SQLite rejects the setting.
    pub fn without_flushes(&self) -> Result<(), StoreError> {
        let result = self.connection.pragma_update(None, "synchronous", "off");
        result.map_err(|error| ErrorContext::file(&self.path).refused(error))
    }

    fn pragma(&self, query: &str) -> Result<u64, StoreError> {
        let values = self.rows(query, [], "", fields::integer)?;
        Ok(values.first().copied().unwrap_or_default())
    }
}

/// Deletes the rows of trials from all tables, children before parents, while the triggers that
/// forbid deletions are removed.
fn delete_rows(transaction: &Transaction<'_>, trials: &[TrialId]) -> rusqlite::Result<()> {
    let tables = || RECORDED.iter().rev().chain(OTHERS.iter().rev());
    for table in tables() {
        transaction.execute_batch(&format!("DROP TRIGGER {table}_no_delete"))?;
    }
    for trial in trials {
        for table in tables() {
            let query = format!(
                "DELETE FROM {table} WHERE trial = (SELECT trial FROM trials WHERE id = ?1)"
            );
            transaction.execute(&query, [trial.text()])?;
        }
    }
    for table in tables() {
        transaction.execute_batch(&refusal(table, "DELETE"))?;
    }
    Ok(())
}
