//! Lays out a table in lines of a given width: whole, with wrapped texts, in several panels below
//! each other, or row by row. Texts are never truncated.

use treering_model::BetterDirection;

use super::look::{TextLook, TextRole, assembled, padded};
use super::wrap::{width, wrap};
use crate::{Align, Cell, Column, Table, Tone};

/// Minimum width of a wrapped text column.
const NARROWEST: usize = 14;

/// Indentation of the cells of a row that is laid out by itself.
const INDENT: &str = "  ";

/// A table as escaped text, ready for layout.
pub(crate) struct Grid<'l> {
    look: &'l TextLook,
    columns: Vec<GridColumn>,
    rows: Vec<Vec<CellText>>,
    keys: usize,
}

struct GridColumn {
    name: String,
    unit: String,
    align: Align,
    /// Width of the longest text, including name and unit.
    wide: usize,
    /// Minimum width that keeps all words whole.
    narrow: usize,
    /// Minimum width with long words broken, which is better than splitting the table.
    narrowest: usize,
}

struct CellText {
    text: String,
    tone: Tone,
}

/// Columns of a panel: index and width of each.
type ColumnPanel = Vec<(usize, usize)>;

impl<'l> Grid<'l> {
    /// Escapes the table's texts and measures its columns.
    pub(crate) fn new(table: &Table, look: &'l TextLook) -> Self {
        let shown = |cell: &Cell, column: &Column| CellText {
            text: (look.clean)(&cell.shown(&column.unit)),
            tone: cell.tone(),
        };
        let row = |row| {
            let columns = table.columns.iter().enumerate();
            columns.map(|(place, column)| shown(table.cell(row, place), column)).collect()
        };
        let rows: Vec<Vec<CellText>> = (0..table.rows.len()).map(row).collect();
        let column = |(place, column): (usize, &Column)| {
            let mut name = (look.clean)(&column.name);
            if let (Some(better), Some((lower, higher))) = (column.better, look.arrows) {
                name.push(if better == BetterDirection::Lower { lower } else { higher });
            }
            let unit = (look.clean)(table.shown_unit(place));
            let head = width(&name).max(width(&unit)).max(1);
            let longest = rows.iter().map(|texts| width(&texts[place].text)).max().unwrap_or(0);
            let wide = longest.max(head);
            let words = rows.iter().flat_map(|texts| texts[place].text.split(' ')).map(width);
            let word = words.max().unwrap_or(0);
            let least = |word: usize| {
                if column.wraps { wide.min(NARROWEST.max(head).max(word)) } else { wide }
            };
            // A word longer than a line is broken in any case.
            let narrow = least(if word > look.width { look.width / 2 } else { word });
            let narrowest = least(word.min(look.width / 3));
            GridColumn { name, unit, align: column.align, wide, narrow, narrowest }
        };
        let columns: Vec<GridColumn> = table.columns.iter().enumerate().map(column).collect();
        let keys = table.keys.min(columns.len());
        Self { look, columns, rows, keys }
    }

    /// Lays the table out in lines of at most the look's width.
    pub(crate) fn lines(&self) -> Vec<String> {
        let panels = self.panels(self.keys).or_else(|| self.panels(self.keys.min(1)));
        let Some(panels) = panels else { return self.stacked() };
        let mut lines = Vec::new();
        for (place, panel) in panels.iter().enumerate() {
            if place > 0 {
                lines.push(String::new());
            }
            self.draw(panel, &mut lines);
        }
        lines
    }

    /// Splits the columns into as few, and as even, panels as possible, since a last panel with a
    /// single column would be hard to read. `None` when a column does not fit next to the key
    /// columns.
    fn panels(&self, keys: usize) -> Option<Vec<ColumnPanel>> {
        let mut best = self.packed(keys, self.look.width)?;
        if best.len() == 1 {
            return Some(best);
        }
        // Even panels must not cause additional wrapping.
        let widths = |panels: &[ColumnPanel]| {
            let mut columns: ColumnPanel = panels.iter().flatten().copied().collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        for width in (1..self.look.width).rev() {
            match self.packed(keys, width) {
                Some(even) if even.len() == best.len() && widths(&even) == widths(&best) => {
                    best = even;
                }
                Some(_) | None => break,
            }
        }
        Some(best)
    }

    /// Puts all columns into one panel if they fit (wrapping where allowed), otherwise as many as
    /// fit into each panel after the key columns.
    fn packed(&self, keys: usize, room: usize) -> Option<Vec<ColumnPanel>> {
        let everything: Vec<usize> = (0..self.columns.len()).collect();
        let broken = || self.squeezed_to(&everything, room, |column| column.narrowest);
        if let Some(panel) = self.squeezed(&everything, room).or_else(broken) {
            return Some(vec![panel]);
        }
        let mut panels = Vec::new();
        let mut chosen: Vec<usize> = (0..keys).collect();
        for column in keys..self.columns.len() {
            chosen.push(column);
            if self.squeezed(&chosen, room).is_some() {
                continue;
            }
            chosen.pop();
            if chosen.len() == keys {
                return None;
            }
            panels.push(self.squeezed(&chosen, room)?);
            chosen.truncate(keys);
            chosen.push(column);
        }
        panels.push(self.squeezed(&chosen, room)?);
        Some(panels)
    }

    /// Widths of these columns side by side, with texts narrowed as far as needed; `None` when
    /// space is too short.
    fn squeezed(&self, chosen: &[usize], room: usize) -> Option<ColumnPanel> {
        self.squeezed_to(chosen, room, |column| column.narrow)
    }

    fn squeezed_to(
        &self,
        chosen: &[usize],
        room: usize,
        least: fn(&GridColumn) -> usize,
    ) -> Option<ColumnPanel> {
        let gaps = chosen.windows(2).map(|pair| self.gap(pair[0], pair[1])).sum();
        let room = room.checked_sub(gaps)?;
        let mut widths: Vec<usize> = chosen.iter().map(|&c| self.columns[c].wide).collect();
        loop {
            let excess = widths.iter().sum::<usize>().saturating_sub(room);
            if excess == 0 {
                return Some(chosen.iter().copied().zip(widths).collect());
            }
            // Shrink the widest shrinkable column to the next widest, so that they share the loss.
            let narrow = |place: usize| least(&self.columns[chosen[place]]);
            let gives = |&place: &usize| widths[place] > narrow(place);
            let widest = (0..chosen.len()).filter(gives).max_by_key(|&place| widths[place])?;
            let others = (0..chosen.len()).filter(gives).filter(|&place| place != widest);
            let next = others.map(|place| widths[place]).max().unwrap_or(0);
            let floor = narrow(widest).max(next.min(widths[widest] - 1));
            widths[widest] -= excess.min(widths[widest] - floor);
        }
    }

    fn gap(&self, left: usize, right: usize) -> usize {
        if self.bar(left, right).is_some() { 3 } else { 2 }
    }

    /// Bar between the key columns and the others, if the look has one.
    fn bar(&self, left: usize, right: usize) -> Option<char> {
        self.look.bar.filter(|_| left < self.keys && right >= self.keys)
    }

    fn draw(&self, panel: &ColumnPanel, lines: &mut Vec<String>) {
        let head = |of: fn(&GridColumn) -> &str| {
            let texts =
                panel.iter().map(|&(column, _)| (of(&self.columns[column]), TextRole::Name));
            self.line(panel, texts)
        };
        lines.push(head(|column| &column.name));
        if panel.iter().any(|&(column, _)| !self.columns[column].unit.is_empty()) {
            lines.push(head(|column| &column.unit));
        }
        lines.push(self.rule(panel));
        for texts in &self.rows {
            let broken: Vec<Vec<String>> =
                panel.iter().map(|&(column, wide)| wrap(&texts[column].text, wide)).collect();
            let height = broken.iter().map(Vec::len).max().unwrap_or(1);
            for level in 0..height {
                let texts = panel.iter().zip(&broken).map(|(&(column, _), pieces)| {
                    let piece = pieces.get(level).map_or("", String::as_str);
                    (piece, TextRole::Cell(texts[column].tone))
                });
                lines.push(self.line(panel, texts));
            }
        }
    }

    fn line<'t>(
        &self,
        panel: &ColumnPanel,
        texts: impl Iterator<Item = (&'t str, TextRole)>,
    ) -> String {
        let mut pieces = Vec::new();
        let mut left = None;
        for (&(column, wide), (text, role)) in panel.iter().zip(texts) {
            let bar = left.and_then(|left| self.bar(left, column));
            match (left, bar) {
                (_, Some(bar)) => pieces.push((format!(" {bar} "), TextRole::Rule)),
                (Some(_), None) => pieces.push(("  ".to_owned(), TextRole::Rule)),
                (None, None) => {}
            }
            pieces.push((padded(text, wide, self.columns[column].align), role));
            left = Some(column);
        }
        assembled(pieces, self.look)
    }

    fn rule(&self, panel: &ColumnPanel) -> String {
        let mut line = String::new();
        let mut left = None;
        for &(column, wide) in panel {
            let bar = left.and_then(|left| self.bar(left, column));
            match (left, bar) {
                (_, Some(_)) => line.extend([self.look.rule, self.look.cross, self.look.rule]),
                (Some(_), None) => line.extend([self.look.rule_gap; 2]),
                (None, None) => {}
            }
            line.extend(std::iter::repeat_n(self.look.rule, wide));
            left = Some(column);
        }
        (self.look.paint)(TextRole::Rule, &line)
    }

    /// Lays out each row by itself, with one or more lines for each cell.
    fn stacked(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for texts in &self.rows {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            for (place, (column, text)) in self.columns.iter().zip(texts).enumerate() {
                let indent = if place < self.keys { "" } else { INDENT };
                let name = match column.unit.as_str() {
                    "" => column.name.clone(),
                    unit => format!("{} [{unit}]", column.name),
                };
                stack(&name, text, indent, self.look, &mut lines);
            }
        }
        lines
    }
}

/// Adds `name: text`, with further lines below if it is long.
fn stack(name: &str, text: &CellText, indent: &str, look: &TextLook, lines: &mut Vec<String>) {
    let room = look.width.saturating_sub(indent.len() + INDENT.len());
    let names = wrap(&format!("{name}:"), room);
    let (last, above) = names.split_last().map_or(("", &[][..]), |(last, above)| (last, above));
    for name in above {
        lines.push(format!("{indent}{}", (look.paint)(TextRole::Name, name)));
    }
    let role = TextRole::Cell(text.tone);
    let beside = width(last) + 1 + width(&text.text) <= room;
    let mut pieces = vec![(indent.to_owned(), TextRole::Name), (last.to_owned(), TextRole::Name)];
    if beside {
        pieces.extend([(" ".to_owned(), TextRole::Name), (text.text.clone(), role)]);
    }
    lines.push(assembled(pieces, look));
    if !beside {
        for piece in wrap(&text.text, room) {
            let indent = format!("{indent}{INDENT}");
            lines.push(assembled(vec![(indent, TextRole::Name), (piece, role)], look));
        }
    }
}
