//! Records of a table (RFC 4180): fields in quotation marks may hold separators and line ends.

use csv::ReaderBuilder;
use thiserror::Error;
use treering_kit::import::log::Log;

/// Largest number of lines over which a field in quotation marks may go.
const LINES_MOST: usize = 64;
/// Longest record in bytes.
const BYTES_MOST: usize = 1 << 20;

/// Reason why a row is left out.
#[derive(Clone, Debug, Error)]
pub(super) enum RowFault {
    /// A field is wrong.
    #[error("{place}: {field}: {why}")]
    Field {
        /// Number and name of the column.
        place: String,
        /// Words of the field.
        field: String,
        /// Sentence about what would be right.
        why: String,
    },
    /// The row is wrong as a whole.
    #[error("{why}")]
    Whole {
        /// Sentence about the row.
        why: String,
    },
}

impl RowFault {
    pub(super) fn whole(why: impl Into<String>) -> Self {
        Self::Whole { why: why.into() }
    }
}

/// Fields of a record, or the reason why they cannot be split.
pub(super) struct Record {
    pub(super) fields: Result<Vec<String>, RowFault>,
}

/// Reads the record that begins at this line; also returns the number of its lines.
pub(super) fn record(log: &Log<'_>, at: usize, separator: u8) -> (Record, usize) {
    let mut text = log.line(at).to_owned();
    let mut lines = 1;
    while open_quotation(&text, separator).is_some() {
        let is_long = lines == LINES_MOST || text.len() > BYTES_MOST;
        if is_long || at + lines >= log.len() {
            let place = open_quotation(log.line(at), separator).unwrap_or(1);
            let why = format!("the quotation mark of field {place} is not closed");
            return (Record { fields: Err(RowFault::whole(why)) }, 1);
        }
        text.push('\n');
        text.push_str(log.line(at + lines));
        lines += 1;
    }
    (Record { fields: fields(&text, separator) }, lines)
}

/// Splits the text of a record.
pub(super) fn fields(text: &str, separator: u8) -> Result<Vec<String>, RowFault> {
    if text.len() > BYTES_MOST {
        return Err(RowFault::whole(format!("a row has at most {} MiB", BYTES_MOST >> 20)));
    }
    let reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .buffer_capacity(text.len().clamp(64, 1 << 16))
        .from_reader(text.as_bytes());
    let first = reader.into_records().next();
    let unsplit = |error| RowFault::whole(format!("this row cannot be split: {error}"));
    let fields = first.transpose().map_err(unsplit)?;
    let trimmed = |field: &str| field.trim().to_owned();
    Ok(fields.map(|fields| fields.iter().map(trimmed).collect()).unwrap_or_default())
}

/// True if a line has several fields.
pub(super) fn has_fields(line: &str, separator: u8) -> bool {
    line.as_bytes().contains(&separator)
}

/// Number of the field, from 1, whose quotation mark is open at the end of the text.
fn open_quotation(text: &str, separator: u8) -> Option<usize> {
    let mut letters = text.bytes().peekable();
    let mut field = 1;
    loop {
        let is_quoted = letters.next_if_eq(&b'"').is_some();
        if is_quoted {
            loop {
                match letters.next() {
                    None => return Some(field),
                    Some(b'"') if letters.next_if_eq(&b'"').is_none() => break,
                    Some(_) => {}
                }
            }
        }
        if !letters.by_ref().any(|letter| letter == separator) {
            return None;
        }
        field += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{fields, open_quotation};

    #[test]
    fn quotations_hold_separators_and_line_ends() {
        assert_eq!(fields("a;\"b;\"\"c\"\"\n\";;d", b';').unwrap(), ["a", "b;\"c\"", "", "d"]);
        assert_eq!(fields("", b',').unwrap(), [""; 0]);
    }

    #[test]
    fn only_quotations_at_the_start_of_a_field_can_be_open() {
        assert_eq!(open_quotation("a,\"b", b','), Some(2));
        assert_eq!(open_quotation("a,\"b\"\"", b','), Some(2));
        for closed in ["", "a,5\" disk", "\"a\",\"\"\"\"", "\"a\"b\",c", "a,\"b;\""] {
            assert_eq!(open_quotation(closed, b','), None, "{closed}");
        }
    }
}
