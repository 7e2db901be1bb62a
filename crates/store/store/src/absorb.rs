//! Copying of all trials from another store: merges a temporary in-memory store into the permanent
//! one.
//!
//! Rows are copied unchanged, so nothing of a trial is lost; each trial is loaded once before, so
//! that no unreadable one is copied.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use treering_model::TrialId;

use crate::connection::ErrorContext;
use crate::format::{self, RECORDED};
use crate::values::fields;
use crate::{Access, Filter, LoadDetail, Store, StoreError, TrialState};

impl Store {
    /// Copies every trial of another store that this one lacks, atomically, and returns their
    /// number. Trials still running there are skipped.
    ///
    /// # Errors
    /// Problems with the other file, or with writing this one.
    pub fn absorb(&mut self, other: impl AsRef<Path>) -> Result<usize, StoreError> {
        self.writable()?;
        let other = Self::open(other, Access::ReadOnly)?;
        format::permit_writing(other.version(), other.path())?;
        let _snapshot = other.snapshot()?;
        let lacking = self.lacking(&other)?;
        for trial in &lacking {
            other.read(*trial, LoadDetail::Everything)?;
        }
        let trials = TableCopy::new(&other, self, "trials")?;
        let present_tables =
            other.rows("SELECT name FROM main.sqlite_master", [], "sqlite_schema", fields::text)?;
        // An older store has fewer tables.
        let tables =
            RECORDED.iter().filter(|table| present_tables.iter().any(|name| name == *table));
        let recorded = tables.map(|table| TableCopy::new(&other, self, table));
        let recorded = recorded.collect::<Result<Vec<_>, _>>()?;
        let refused = |error| ErrorContext::file(&self.path).refused(error);
        let target = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(refused)?;
        let mut copied = 0;
        for trial in lacking {
            let text = trial.text();
            let from = other.read_row(
                "SELECT trial FROM trials WHERE id = ?1",
                &text,
                "trials",
                fields::integer::<i64>,
            )?;
            let Some(from) = from else { continue };
            if trials.rows(&other, from, &target, None).map_err(refused)? == 0 {
                // Another process copied it meanwhile.
                continue;
            }
            let to = target.last_insert_rowid();
            for table in &recorded {
                table.rows(&other, from, &target, Some(to)).map_err(refused)?;
            }
            copied += 1;
        }
        target.commit().map_err(refused)?;
        Ok(copied)
    }

    /// Completed trials of another store that this one lacks, oldest first.
    fn lacking(&self, other: &Self) -> Result<Vec<TrialId>, StoreError> {
        let present = self.printed_identities()?;
        let mut summaries = other.trials(&Filter::default())?;
        summaries.retain(|summary| {
            summary.state != TrialState::Running
                && present.binary_search(&summary.trial.text()).is_err()
        });
        Ok(summaries.into_iter().rev().map(|summary| summary.trial).collect())
    }
}

/// Statements that copy the rows of one table. Columns missing in an older store get their
/// defaults.
struct TableCopy {
    read: String,
    write: String,
}

impl TableCopy {
    fn new(source: &Store, target: &Store, table: &'static str) -> Result<Self, StoreError> {
        let columns = |store: &Store| {
            let query = "SELECT name FROM pragma_table_info(?1)";
            store.rows(query, [table], table, fields::text)
        };
        let known = columns(source)?;
        let mut shared = columns(target)?;
        shared.retain(|column| column != "trial" && known.contains(column));
        let columns = shared.iter().flat_map(|column| [", \"", column, "\""]).collect::<String>();
        let places = vec![", ?"; shared.len()].concat();
        Ok(Self {
            read: format!("SELECT trial{columns} FROM {table} WHERE trial = ?1"),
            write: format!(
                "INSERT INTO {table} (trial{columns}) VALUES (?{places}) ON CONFLICT DO NOTHING"
            ),
        })
    }

    /// Copies the rows of one trial under another trial number, and counts them. Without a number a
    /// new one is assigned.
    fn rows(
        &self,
        source: &Store,
        from: i64,
        target: &Connection,
        to: Option<i64>,
    ) -> rusqlite::Result<usize> {
        let _limited = source.work.query();
        let mut read = source.connection.prepare_cached(&self.read)?;
        let mut write = target.prepare_cached(&self.write)?;
        let to = to.map_or(ValueRef::Null, ValueRef::Integer);
        let columns = read.column_count();
        let mut rows = read.query([from])?;
        let mut copied = 0;
        while let Some(row) = rows.next()? {
            let values = (1..columns).map(|column| row.get_ref(column));
            let values = std::iter::once(Ok(to)).chain(values);
            let values = values
                .map(|value| value.map(ToSqlOutput::Borrowed))
                .collect::<Result<Vec<_>, _>>()?;
            copied += write.execute(params_from_iter(values))?;
        }
        Ok(copied)
    }
}
