//! Transactions of writers: one for each write, or one for all writes of a batch.

use rusqlite::{Connection, TransactionBehavior};

use crate::connection::ErrorContext;
use crate::{Store, StoreError};

impl Store {
    /// Begins a batch: until [`Store::commit_batch`], nothing that is recorded or annotated is in
    /// the file, and other writers wait. Dropping the store discards the batch. A batch spares the
    /// flushes of the disk of each write, for trials that also exist elsewhere.
    ///
    /// # Errors
    /// If the store is read-only, or another writer does not end.
    pub fn begin_batch(&mut self) -> Result<(), StoreError> {
        self.writable()?;
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| ErrorContext::file(&self.path).refused(error))
    }

    /// Writes the batch to the file: all of it, or nothing.
    ///
    /// # Errors
    /// If the file cannot be written, or SQLite has discarded the batch after an earlier error.
    pub fn commit_batch(&mut self) -> Result<(), StoreError> {
        let committed = self.connection.execute_batch("COMMIT");
        committed.map_err(|error| ErrorContext::file(&self.path).refused(error))
    }

    /// Does all of some work on the file or nothing of it, in a transaction of its own or within
    /// the batch.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let refused = |error| ErrorContext::file(&self.path).refused(error);
        if self.connection.is_autocommit() {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(refused)?;
            let made = work(&transaction)?;
            transaction.commit().map_err(refused)?;
            return Ok(made);
        }
        let part = self.connection.savepoint().map_err(refused)?;
        let made = work(&part)?;
        part.commit().map_err(refused)?;
        Ok(made)
    }
}
