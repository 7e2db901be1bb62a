//! Writes a document block by block.

use std::io::{self, Write};

use super::command::fold;
use super::grid::Grid;
use super::look::{TextLook, TextRole, assembled, padded};
use super::wrap::{width, wrap};
use crate::{Align, Block, KeyValue, Report, Table, Tone, Warning};

/// Indentation of command lines.
const INDENT: &str = "  ";

/// Renders the document with a look, with an empty line between blocks.
pub(crate) fn render(report: &Report, look: &TextLook, out: &mut dyn Write) -> io::Result<()> {
    let title = if report.begins_with_answer { Vec::new() } else { title_lines(report, look) };
    let blocks = report.blocks.iter().filter(|block| !block.is_beside_text());
    let parts = std::iter::once(title).chain(blocks.map(|block| lines(block, look)));
    for (place, part) in parts.filter(|part| !part.is_empty()).enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        for line in part {
            writeln!(out, "{}", line.trim_end_matches(' '))?;
        }
    }
    Ok(())
}

fn title_lines(report: &Report, look: &TextLook) -> Vec<String> {
    let title = wrap(&(look.clean)(&report.title), look.width);
    let longest = title.iter().map(|line| width(line)).max().unwrap_or(0);
    let rule: String = std::iter::repeat_n(look.title_rule, longest).collect();
    let painted = |line: &String| (look.paint)(TextRole::Title, line.trim_end_matches(' '));
    let mut lines: Vec<String> = title.iter().map(painted).collect();
    lines.push((look.paint)(TextRole::Rule, &rule));
    lines
}

fn lines(block: &Block, look: &TextLook) -> Vec<String> {
    match block {
        Block::Heading { text } => {
            let heading = wrap(&(look.clean)(text), look.width);
            let longest = heading.iter().map(|line| width(line)).max().unwrap_or(0);
            let rule: String = std::iter::repeat_n(look.rule, longest).collect();
            let painted =
                |line: &String| (look.paint)(TextRole::Heading, line.trim_end_matches(' '));
            let mut lines: Vec<String> = heading.iter().map(painted).collect();
            lines.push((look.paint)(TextRole::Rule, &rule));
            lines
        }
        Block::Paragraph { text } => wrap(&(look.clean)(text), look.prose),
        Block::Note { text } => hanging("note: ", TextRole::Aside, text, look),
        Block::Table(table) => table_lines(table, look),
        Block::KeyValues { pairs } => of_pairs(pairs, look),
        Block::Cautions { cautions } => of_warnings(cautions, look),
        Block::Command { purpose, line } => command_lines(purpose, line, look),
        Block::Chart(_) | Block::Folded { .. } | Block::RawNumbers { .. } | Block::Origin(_) => {
            Vec::new()
        }
    }
}

fn table_lines(table: &Table, look: &TextLook) -> Vec<String> {
    let mut lines = Vec::new();
    let caption = (look.clean)(&table.caption);
    if !caption.is_empty() {
        lines.extend(wrap(&caption, look.prose));
    }
    if table.rows.is_empty() {
        lines.push("(no rows)".to_owned());
        return lines;
    }
    lines.extend(Grid::new(table, look).lines());
    if let Some(directions) = table.directions() {
        let directions = wrap(&(look.clean)(&directions), look.prose);
        lines.extend(directions.iter().map(|line| (look.paint)(TextRole::Aside, line)));
    }
    lines
}

/// Lays out key-value pairs with aligned values; a value without enough space goes below its key.
fn of_pairs(pairs: &[KeyValue], look: &TextLook) -> Vec<String> {
    let cleaned = |pair: &KeyValue| ((look.clean)(&pair.key), (look.clean)(&pair.value.shown("")));
    let cleaned: Vec<(String, String)> = pairs.iter().map(cleaned).collect();
    let most = look.width * 2 / 5;
    let keys = cleaned.iter().map(|(key, _)| width(key)).filter(|&wide| wide <= most);
    let beside = keys.max().unwrap_or(0);
    let room = look.width - beside - 2;
    let mut lines = Vec::new();
    for ((key, value), pair) in cleaned.iter().zip(pairs) {
        let mut key_column = key.clone();
        if width(key) > beside {
            let broken = wrap(key, look.width);
            lines.extend(broken.iter().map(|line| (look.paint)(TextRole::Name, line)));
            key_column.clear();
        }
        for piece in wrap(value, room) {
            let key = padded(&key_column, beside, Align::Left);
            let gap = ("  ".to_owned(), TextRole::Name);
            let value = (piece, TextRole::Cell(pair.value.tone()));
            lines.push(assembled(vec![(key, TextRole::Name), gap, value], look));
            key_column.clear();
        }
    }
    lines
}

fn of_warnings(warnings: &[Warning], look: &TextLook) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in warnings {
        let text = format!("{} ({})", warning.message, warning.code);
        lines.extend(hanging("caution: ", TextRole::Warning, &text, look));
        if !warning.advice.is_empty() {
            let advice = format!("{}.", warning.advice);
            lines.extend(hanging(" advice: ", TextRole::Aside, &advice, look));
        }
    }
    lines
}

fn command_lines(purpose: &str, line: &str, look: &TextLook) -> Vec<String> {
    let mut lines = wrap(&format!("{}:", (look.clean)(purpose)), look.prose);
    let line = (look.clean)(line);
    if look.folds_commands {
        lines.extend(fold(&line, INDENT, look.width));
    } else {
        lines.push(format!("{INDENT}{line}"));
    }
    lines
}

/// Lays out text after a word, with a hanging indent.
fn hanging(word: &str, role: TextRole, text: &str, look: &TextLook) -> Vec<String> {
    let room = look.prose.saturating_sub(width(word));
    let text = wrap(&(look.clean)(text), room);
    let mut before = word.to_owned();
    let mut lines = Vec::new();
    for line in text {
        let text = (line, TextRole::Cell(Tone::Plain));
        lines.push(assembled(vec![(before.clone(), role), text], look));
        before = " ".repeat(width(word));
    }
    lines
}
