//! Tables of a document as CSV (RFC 4180), with units in the header and values at full precision.
//!
//! The first column names the table a row belongs to. Each table has its own header; an empty line
//! separates tables. A range has two columns; a number with a variable unit has one column for the
//! number and one for the unit. Untrusted text is neutralised: control characters are shown as
//! `\x1b`, as in all formats, and text that a spreadsheet would take for a formula begins with an
//! apostrophe.

use std::io;

use treering_model::is_formula;

use crate::escape::visible;
use crate::table::titled;
use crate::{Cell, Column, ColumnKind, Format, Report, Table};

/// CSV format, for spreadsheets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for (place, table) in report.tables().enumerate() {
            if place > 0 {
                out.write_all(b"\r\n")?;
            }
            write_table(table, out)?;
        }
        Ok(())
    }
}

fn write_table(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    let mut header = vec![text_field("table")];
    for column in &table.columns {
        header.extend(titles(column).iter().map(|title| text_field(title)));
    }
    write_record(&header, out)?;
    for row in 0..table.rows.len() {
        let mut record = vec![text_field(&table.name)];
        for (place, column) in table.columns.iter().enumerate() {
            fields(table.cell(row, place), column.kind, &mut record);
        }
        write_record(&record, out)?;
    }
    Ok(())
}

/// Headers of a column: `min [s]` and `max [s]` for a range named `min–max`.
fn titles(column: &Column) -> Vec<String> {
    match column.kind {
        ColumnKind::Text | ColumnKind::Number => vec![column.title()],
        ColumnKind::Range => {
            let (low, high) = column.name.split_once('–').map_or_else(
                || (format!("{} low", column.name), format!("{} high", column.name)),
                |(low, high)| (low.to_owned(), high.to_owned()),
            );
            vec![titled(&low, &column.unit), titled(&high, &column.unit)]
        }
        ColumnKind::Mixed => vec![column.name.clone(), format!("{} unit", column.name)],
    }
}

fn fields(cell: &Cell, kind: ColumnKind, record: &mut Vec<String>) {
    let (first, second) = match cell {
        Cell::Missing => (String::new(), String::new()),
        Cell::Text { text, .. } => (text_field(text), String::new()),
        Cell::Number(number) => (number.exact(), text_field(&number.unit)),
        Cell::Range { low, high } => (low.exact(), high.exact()),
    };
    let second = match cell {
        Cell::Number(_) if kind == ColumnKind::Range => first.clone(),
        _ => second,
    };
    record.push(first);
    if matches!(kind, ColumnKind::Range | ColumnKind::Mixed) {
        record.push(second);
    }
}

/// Column of a long table: its name, and a function that formats the field of a row, already
/// quoted.
pub(crate) type CsvColumn<R> = (&'static str, fn(&R) -> String);

/// Writes the names of columns.
pub(crate) fn write_header<R>(columns: &[CsvColumn<R>], out: &mut dyn io::Write) -> io::Result<()> {
    write_record(&columns.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>(), out)
}

/// Writes the fields of a row.
pub(crate) fn write_row<R>(
    columns: &[CsvColumn<R>],
    row: &R,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write_record(&columns.iter().map(|(_, field)| field(row)).collect::<Vec<_>>(), out)
}

/// Writes one record with a newline; the fields are already quoted.
fn write_record(fields: &[String], out: &mut dyn io::Write) -> io::Result<()> {
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(field.as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// Formats text as a field that neither controls a terminal nor is evaluated by a spreadsheet. The
/// field is quoted where RFC 4180 requires it, and where a reader with other separators would split
/// it.
pub(crate) fn text_field(text: &str) -> String {
    let text = spreadsheet_text(text);
    let special = text.contains([',', '"']) || text.split(';').any(is_formula);
    let blank = text.starts_with(' ') || text.ends_with(' ');
    if special || blank {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

/// Neutralises text for spreadsheet cells: control characters are escaped, and text that looks like
/// a formula begins with an apostrophe. Numbers are unchanged.
pub(crate) fn spreadsheet_text(text: &str) -> String {
    let text = visible(text);
    if is_formula(&text) { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use treering_model::is_unsafe;

    use super::{spreadsheet_text, text_field};

    #[test]
    fn csv_fields_are_quoted_and_contain_no_formulas() {
        let cases = [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a; b", "a; b"),
            ("a;=b", "\"a;=b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "\"'=1+1\""),
            ("-x", "\"'-x\""),
            ("+1 555", "\"'+1 555\""),
            ("@x", "\"'@x\""),
            ("＝1", "\"'＝1\""),
            (" =1", "\"' =1\""),
            ("'=1", "\"''=1\""),
            ("-5", "-5"),
            ("-5.25e-3", "-5.25e-3"),
            ("-1+cmd", "\"'-1+cmd\""),
            ("two\r\nlines", "two\\r\\nlines"),
            ("\t=1", "\\t=1"),
            ("\x1b]52;c;Zm9v\x07", "\\x1b]52;c;Zm9v\\x07"),
            ("", ""),
        ];
        for (text, field) in cases {
            assert_eq!(text_field(text), field);
        }
    }

    proptest! {
        #[test]
        fn csv_fields_of_any_text_are_harmless(text in any::<String>(), sign in "[=+@-]?[ \t]?") {
            let cell = spreadsheet_text(&format!("{sign}{text}"));
            assert!(!cell.chars().any(is_unsafe), "{cell:?}");
            let computes = cell.trim_start().starts_with(['=', '+', '-', '@']);
            assert!(!computes || cell.parse::<f64>().is_ok(), "{cell:?}");
        }
    }
}
