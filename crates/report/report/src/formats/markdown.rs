//! Markdown as read by GitHub and most others. Markup characters in names are escaped.

use std::io;

use crate::escape::visible;
use crate::{Align, Cell, Format, Report, Table};
use crate::{Block, KeyValue, Warning};

/// Markdown format, for issues and wikis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "# {}", safe(&report.title))?;
        for block in report.blocks.iter().filter(|block| !block.is_beside_text()) {
            writeln!(out)?;
            match block {
                Block::Heading { text } => writeln!(out, "## {}", safe(text))?,
                Block::Paragraph { text } => writeln!(out, "{}", paragraph(text))?,
                Block::Note { text } => writeln!(out, "> {}", paragraph(text))?,
                Block::Table(table) => write_table(table, out)?,
                Block::KeyValues { pairs } => write_pairs(pairs, out)?,
                Block::Cautions { cautions } => write_warnings(cautions, out)?,
                Block::Command { purpose, line } => write_command(purpose, line, out)?,
                Block::Chart(_)
                | Block::Folded { .. }
                | Block::RawNumbers { .. }
                | Block::Origin(_) => {}
            }
        }
        Ok(())
    }
}

fn write_table(table: &Table, out: &mut dyn io::Write) -> io::Result<()> {
    if !table.caption.is_empty() {
        writeln!(out, "{}\n", paragraph(&table.caption))?;
    }
    if table.rows.is_empty() {
        return writeln!(out, "(no rows)");
    }
    write!(out, "|")?;
    for (place, column) in table.columns.iter().enumerate() {
        let unit = table.shown_unit(place);
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        write!(out, " {} |", safe(&format!("{}{unit}", column.name)))?;
    }
    write!(out, "\n|")?;
    for column in &table.columns {
        write!(out, "{}|", if column.align == Align::Right { "---:" } else { "---" })?;
    }
    writeln!(out)?;
    for row in 0..table.rows.len() {
        write!(out, "|")?;
        for (place, column) in table.columns.iter().enumerate() {
            write!(out, " {} |", safe(&table.cell(row, place).shown(&column.unit)))?;
        }
        writeln!(out)?;
    }
    match table.directions() {
        Some(directions) => writeln!(out, "\n{}", paragraph(&directions)),
        None => Ok(()),
    }
}

fn write_pairs(pairs: &[KeyValue], out: &mut dyn io::Write) -> io::Result<()> {
    for KeyValue { key, value } in pairs {
        let value = if *value == Cell::Missing { "–".to_owned() } else { safe(&value.shown("")) };
        writeln!(out, "- **{}**: {value}", safe(key))?;
    }
    Ok(())
}

fn write_warnings(warnings: &[Warning], out: &mut dyn io::Write) -> io::Result<()> {
    for Warning { code, message, advice } in warnings {
        write!(out, "- **Caution** ({}): {}.", safe(code), safe(message))?;
        if !advice.is_empty() {
            write!(out, " *{}.*", safe(advice))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes a command in a fence longer than any run of backticks in it.
fn write_command(purpose: &str, line: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let line = visible(line);
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{}:\n\n{fence}sh\n{line}\n{fence}", paragraph(purpose))
}

/// Escapes text at the start of a line, including list and heading markers.
fn paragraph(text: &str) -> String {
    let text = safe(text);
    let number = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if number > 0 && text[number..].starts_with(['.', ')']) {
        return format!("{}\\{}", &text[..number], &text[number..]);
    }
    if text.starts_with(['#', '+', '-', '=']) { format!("\\{text}") } else { text }
}

/// Escapes text inside a line or a cell.
fn safe(text: &str) -> String {
    let text = visible(text);
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        // An underscore inside a word is not markup: `files_per_second` stays readable.
        let inside =
            before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        let markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '!' | '@' => true,
            '_' => !inside,
            _ => false,
        };
        if markup {
            safe.push('\\');
        }
        safe.push(c);
        before = c;
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{paragraph, safe};

    #[test]
    fn markup_is_escaped_and_words_stay() {
        assert_eq!(safe("a|b"), "a\\|b");
        assert_eq!(safe("<script>*x*</script>"), "\\<script\\>\\*x\\*\\</script\\>");
        assert_eq!(safe("files_per_second _x_"), "files_per_second \\_x\\_");
        assert_eq!(safe("\x1b[31m"), "\\\\x1b\\[31m");
        assert_eq!(paragraph("1. item"), "1\\. item");
        assert_eq!(paragraph("# head"), "\\# head");
        assert_eq!(paragraph("10 runs"), "10 runs");
    }
}
