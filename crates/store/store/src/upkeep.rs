//! Maintenance of the file: its size, its unused space, and reclaiming that.

use crate::connection::ErrorContext;
use crate::values::fields;
use crate::{Store, StoreError};

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
            let ran = self.connection.execute_batch(batch);
            ran.map_err(|error| ErrorContext::file(&self.path).refused(error))
        };
        // SQLite's temporary copy is as large as the store, so it must not be in memory.
        run("PRAGMA temp_store = file")?;
        let vacuumed = run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        run("PRAGMA temp_store = memory")?;
        vacuumed
    }

    /// Disables flushes to the disk from now on: for a store that is not needed after a crash.
    ///
    /// # Errors
    /// If SQLite rejects the setting.
    pub fn without_flushes(&self) -> Result<(), StoreError> {
        let set = self.connection.pragma_update(None, "synchronous", "off");
        set.map_err(|error| ErrorContext::file(&self.path).refused(error))
    }

    fn pragma(&self, query: &str) -> Result<u64, StoreError> {
        let values = self.rows(query, [], "", fields::integer)?;
        Ok(values.first().copied().unwrap_or_default())
    }
}
