//! The fields of a row, read one after the other; whatever does not fit its column is an error
//! that names table and column.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use treering_model::Latency;

use super::{histogram, packing};
use crate::StoreError;
use crate::connection::Place;

/// The fields of one row in the order of its query.
pub(crate) struct Fields<'a> {
    row: &'a Row<'a>,
    place: Place<'a>,
    next: usize,
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(row: &'a Row<'a>, place: Place<'a>) -> Self {
        Self { row, place, next: 0 }
    }

    fn take(&mut self) -> Result<ValueRef<'a>, StoreError> {
        let value = self.row.get_ref(self.next).map_err(|error| self.place.refused(error))?;
        self.next += 1;
        Ok(value)
    }

    /// Passes over fields.
    pub(crate) const fn skip(&mut self, fields: usize) {
        self.next += fields;
    }

    /// Whether the next field holds nothing.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.row.get_ref(self.next), Ok(ValueRef::Null))
    }

    /// The error for the field that was read last.
    pub(crate) fn wrong(&self, why: impl Into<String>) -> StoreError {
        let column = self.next.checked_sub(1).and_then(|last| {
            let statement: &rusqlite::Statement<'_> = self.row.as_ref();
            statement.column_name(last).ok()
        });
        self.place.content(column.unwrap_or_default(), why)
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        match self.take()? {
            ValueRef::Text(bytes) => {
                let text = str::from_utf8(bytes).map_err(|error| self.wrong(error.to_string()))?;
                Ok(text.to_owned())
            }
            other => Err(self.wrong(format!("expected a text, found {}", other.data_type()))),
        }
    }

    /// A text that stands for something.
    pub(crate) fn word<T>(
        &mut self,
        known: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text = self.text()?;
        known(&text).ok_or_else(|| self.wrong(format!("unknown word {text:?}")))
    }

    /// An integer that fits its type.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        match self.take()? {
            ValueRef::Integer(number) => {
                T::try_from(number).map_err(|_| self.wrong(format!("{number} is out of range")))
            }
            other => Err(self.wrong(format!("expected an integer, found {}", other.data_type()))),
        }
    }

    /// An integer, or nothing.
    pub(crate) fn integer_or_null<T: TryFrom<i64>>(&mut self) -> Result<Option<T>, StoreError> {
        if self.is_null() {
            self.next += 1;
            return Ok(None);
        }
        self.integer().map(Some)
    }

    /// A text, or nothing.
    pub(crate) fn text_or_null(&mut self) -> Result<Option<String>, StoreError> {
        if self.is_null() {
            self.next += 1;
            return Ok(None);
        }
        self.text().map(Some)
    }

    /// A finite number.
    pub(crate) fn real(&mut self) -> Result<f64, StoreError> {
        match self.take()? {
            ValueRef::Real(number) if number.is_finite() => Ok(number),
            other => Err(self.wrong(format!("expected a finite number, found {other:?}"))),
        }
    }

    /// Yes or no.
    pub(crate) fn truth(&mut self) -> Result<bool, StoreError> {
        match self.integer()? {
            0_i64 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(format!("expected 0 or 1, found {other}"))),
        }
    }

    /// A histogram with this many samples.
    pub(crate) fn latency(&mut self, samples: u64) -> Result<Latency, StoreError> {
        match (self.take()?, samples) {
            (ValueRef::Null, 0) => Ok(Latency::new()),
            (ValueRef::Blob(bytes), _) => {
                histogram::decode(bytes, samples).map_err(|why| self.wrong(why.to_string()))
            }
            (other, _) => {
                let found = other.data_type();
                Err(self.wrong(format!("expected a histogram of {samples} samples, found {found}")))
            }
        }
    }

    /// A packed text of this many bytes.
    pub(crate) fn packed(&mut self, bytes: usize) -> Result<String, StoreError> {
        match self.take()? {
            ValueRef::Blob(packed) => {
                packing::unpack(packed, bytes).map_err(|why| self.wrong(why.to_string()))
            }
            other => Err(self.wrong(format!("expected a blob, found {}", other.data_type()))),
        }
    }
}

/// The text of a query with one column.
pub(crate) fn text(fields: &mut Fields<'_>) -> Result<String, StoreError> {
    fields.text()
}

/// The integer of a query with one column.
pub(crate) fn integer<T: TryFrom<i64>>(fields: &mut Fields<'_>) -> Result<T, StoreError> {
    fields.integer()
}
