//! The tables of a document as CSV (RFC 4180), units in the header, values not rounded for people.
//!
//! The first column says to which table a row belongs. Each table has its own header; an empty
//! line stands between two tables. Ranges become two columns, numbers of different units a number
//! and a unit. Text is kept as it is: a cell that a spreadsheet would take for a formula is
//! quoted, not changed.

use std::io;

use crate::table::titled;
use crate::{Cell, Column, ColumnKind, Format, Report, Table};

/// The format for spreadsheets.
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

/// What a column is called: `min [s]` and `max [s]` for a range named `min–max`.
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

/// One record with its line end; the fields are quoted already.
pub(crate) fn write_record(fields: &[String], out: &mut dyn io::Write) -> io::Result<()> {
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(field.as_bytes())?;
    }
    out.write_all(b"\r\n")
}

/// A text as a field: quoted where RFC 4180 asks for it, and where a spreadsheet or a terminal
/// could take it for something else.
pub(crate) fn text_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']);
    let special = text.contains(|c: char| matches!(c, ',' | '"') || c.is_control());
    let blank = text.starts_with(' ') || text.ends_with(' ');
    if formula || special || blank {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::text_field;

    #[test]
    fn fields_are_quoted_where_needed_and_never_changed() {
        let cases = [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "\"=1+1\""),
            ("-x", "\"-x\""),
            ("@x", "\"@x\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("", ""),
        ];
        for (text, field) in cases {
            assert_eq!(text_field(text), field);
        }
    }
}
