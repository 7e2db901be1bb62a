//! Fields of a row, read in order; a value that does not fit its column is an error with table and
//! column.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use treering_model::Latency;

use super::{histogram, packing};
use crate::StoreError;
use crate::connection::ErrorContext;

/// Fields of one row in the order of its query.
pub(crate) struct RowFields<'a> {
    row: &'a Row<'a>,
    place: ErrorContext<'a>,
    next: usize,
}

impl<'a> RowFields<'a> {
    pub(crate) const fn new(row: &'a Row<'a>, place: ErrorContext<'a>) -> Self {
        Self { row, place, next: 0 }
    }

    fn take(&mut self) -> Result<ValueRef<'a>, StoreError> {
        let value = self.row.get_ref(self.next).map_err(|error| self.place.refused(error))?;
        self.next += 1;
        Ok(value)
    }

    /// Skips fields.
    pub(crate) const fn skip(&mut self, fields: usize) {
        self.next += fields;
    }

    /// Reports whether the next field is NULL.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.row.get_ref(self.next), Ok(ValueRef::Null))
    }

    /// Creates an error about the field that was read last.
    pub(crate) fn wrong(&self, why: impl Into<String>) -> StoreError {
        let column = self.next.checked_sub(1).and_then(|last| {
            let statement: &rusqlite::Statement<'_> = self.row.as_ref();
            statement.column_name(last).ok()
        });
        self.place.content(column.unwrap_or_default(), why)
    }

    /// Reads a text.
    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        match self.take()? {
            ValueRef::Text(bytes) => {
                let text = str::from_utf8(bytes).map_err(|error| self.wrong(error.to_string()))?;
                Ok(text.to_owned())
            }
            other => Err(self.wrong(format!("expected a text, found {}", other.data_type()))),
        }
    }

    /// Reads a text and parses it.
    pub(crate) fn word<T>(
        &mut self,
        known: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.text()?;
        known(&text).ok_or_else(|| self.wrong(format!("unknown word {text:?}")))
    }

    /// Reads an integer within the range of its type.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        match self.take()? {
            ValueRef::Integer(number) => {
                T::try_from(number).map_err(|_| self.wrong(format!("{number} is out of range")))
            }
            other => Err(self.wrong(format!("expected an integer, found {}", other.data_type()))),
        }
    }

    /// Reads an integer, or NULL.
    pub(crate) fn integer_or_null<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        if self.is_null() {
            self.next += 1;
            return Ok(None);
        }
        self.integer().map(Some)
    }

    /// Reads a text, or NULL.
    pub(crate) fn text_or_null(&mut self) -> Result<Option<String>, StoreError> {
        if self.is_null() {
            self.next += 1;
            return Ok(None);
        }
        self.text().map(Some)
    }

    /// Reads a finite number.
    pub(crate) fn real(&mut self) -> Result<f64, StoreError> {
        match self.take()? {
            ValueRef::Real(number) if number.is_finite() => Ok(number),
            other => Err(self.wrong(format!("expected a finite number, found {other:?}"))),
        }
    }

    /// Reads a boolean.
    pub(crate) fn truth(&mut self) -> Result<bool, StoreError> {
        match self.integer()? {
            0_i64 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(format!("expected 0 or 1, found {other}"))),
        }
    }

    /// Reads a histogram with this many samples.
    pub(crate) fn latency(&mut self, samples: u64) -> Result<Latency, StoreError> {
        match (self.take()?, samples) {
            (ValueRef::Null, 0) => Ok(Latency::new()),
            (ValueRef::Blob(bytes), _) => {
                histogram::decode(bytes, samples).map_err(|why| self.wrong(why.to_string()))
            }
            (other, _) => {
                let data_type = other.data_type();
                Err(self
                    .wrong(format!("expected a histogram of {samples} samples, found {data_type}")))
            }
        }
    }

    /// Reads a compressed text whose plain length is `bytes`.
    pub(crate) fn packed(&mut self, bytes: usize) -> Result<String, StoreError> {
        match self.take()? {
            ValueRef::Blob(packed) => {
                packing::unpack(packed, bytes).map_err(|why| self.wrong(why.to_string()))
            }
            other => Err(self.wrong(format!("expected a blob, found {}", other.data_type()))),
        }
    }
}

/// Reads the text of a query with one column.
pub(crate) fn text(fields: &mut RowFields<'_>) -> Result<String, StoreError> {
    fields.text()
}

/// Reads the integer of a query with one column.
pub(crate) fn integer<T: TryFrom<i64>>(fields: &mut RowFields<'_>) -> Result<T, StoreError> {
    fields.integer()
}
