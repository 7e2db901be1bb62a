//! Tables of typed cells: each column has a kind, a unit and a better direction.

use serde::{Deserialize, Serialize};
use treering_model::{BetterDirection, Unit};

use crate::Number;

/// Alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Left, for text.
    Left,
    /// Right, for numbers.
    Right,
}

/// Kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Numbers in the column's unit, scaled for people where the cells' style says so.
    Number,
    /// Ranges of two numbers in the column's unit. The column's name is `low–high`.
    Range,
    /// Numbers of different units; each cell has its own.
    Mixed,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Unit of its numbers; empty for text and counts.
    pub unit: String,
    /// Kind of its values.
    pub kind: ColumnKind,
    /// Alignment of its cells.
    pub align: Align,
    /// Better direction of its numbers, if there is one.
    pub better: Option<BetterDirection>,
    /// True when its texts may be wrapped if space is short.
    pub wraps: bool,
}

impl Column {
    fn new(name: &str, unit: &str, kind: ColumnKind, align: Align) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Self { name, unit, kind, align, better: None, wraps: false }
    }

    /// Creates a column of text.
    pub fn text(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Text, Align::Left)
    }

    /// Creates a column of long text, wrapped when space is short.
    pub fn long_text(name: &str) -> Self {
        Self { wraps: true, ..Self::text(name) }
    }

    /// Creates a column of counts.
    pub fn count(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Number, Align::Right)
    }

    /// Creates a column of numbers in one unit.
    pub fn number(name: &str, unit: Unit) -> Self {
        Self::new(name, unit.symbol(), ColumnKind::Number, Align::Right)
    }

    /// Creates a column of ranges in one unit; the name is `low–high`.
    pub fn range(name: &str, unit: Unit) -> Self {
        Self::new(name, unit.symbol(), ColumnKind::Range, Align::Right)
    }

    /// Creates a column of numbers with a unit in each cell.
    pub fn mixed(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Mixed, Align::Right)
    }

    /// Aligns the cells to the right.
    #[must_use]
    pub(crate) fn aligned_right(self) -> Self {
        Self { align: Align::Right, ..self }
    }

    /// Sets the better direction.
    #[must_use]
    pub fn better(self, better: BetterDirection) -> Self {
        Self { better: Some(better), ..self }
    }

    /// Heading with name and unit: `median [s]`.
    pub fn title(&self) -> String {
        titled(&self.name, &self.unit)
    }
}

/// A name with its unit in brackets, if it has one.
pub(crate) fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} [{unit}]") }
}

/// Meaning of a text, for formats that can highlight it. The text is clear without highlighting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good: the expected state.
    Good,
    /// Questionable: a reason for caution.
    Caution,
    /// Bad: an error or failure.
    Bad,
}

/// Cell of a table, or value of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cell", rename_all = "snake_case")]
pub enum Cell {
    /// No value: not measured, or not applicable.
    Missing,
    /// Text with a tone.
    Text {
        /// Text as received; the formats escape it.
        text: String,
        /// Tone of the text.
        tone: Tone,
    },
    /// A number.
    Number(Number),
    /// Range between two numbers.
    Range {
        /// Lower end.
        low: Number,
        /// Upper end.
        high: Number,
    },
}

impl Cell {
    /// Creates a neutral text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), tone: Tone::Plain }
    }

    /// Creates a text cell; missing if the text is empty.
    pub(crate) fn some_text(text: &str) -> Self {
        if text.is_empty() { Self::Missing } else { Self::text(text) }
    }

    /// Creates a text cell with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self::Text { text: text.into(), tone }
    }

    /// Creates a count cell.
    pub fn whole(value: u64) -> Self {
        Self::Number(Number::whole(value))
    }

    /// Creates a number cell in a unit; missing for `None` and values that are not finite.
    pub fn measured(value: impl Into<Option<f64>>, unit: Unit) -> Self {
        value.into().map_or(Self::Missing, |value| Number::measured(value, unit).into())
    }

    /// Creates a range cell in a unit; missing if an end is not finite.
    pub fn range(low: f64, high: f64, unit: Unit) -> Self {
        Self::between(Number::measured(low, unit), Number::measured(high, unit))
    }

    /// Creates a range cell; missing if an end is not finite.
    pub fn between(low: Number, high: Number) -> Self {
        let finite = low.value.is_finite() && high.value.is_finite();
        if finite { Self::Range { low, high } } else { Self::Missing }
    }

    /// Formatted text for people, in a column or list of this unit.
    pub fn shown(&self, unit: &str) -> String {
        match self {
            Self::Missing => "–".to_owned(),
            Self::Text { text, .. } => text.clone(),
            Self::Number(number) if number.unit == unit => number.text(),
            Self::Number(number) => number.text_with_unit(),
            Self::Range { low, high } => {
                let (low, high) = (low.text(), high.text());
                let signed = low.starts_with(['+', '-']) || high.starts_with(['+', '-']);
                match (low == high, signed) {
                    (true, _) => low,
                    // A dash between two signs would be mistaken for a sign.
                    (false, true) => format!("{low} to {high}"),
                    (false, false) => format!("{low}–{high}"),
                }
            }
        }
    }

    /// Tone of the cell; neutral for numbers.
    pub fn tone(&self) -> Tone {
        match self {
            Self::Text { tone, .. } => *tone,
            Self::Missing | Self::Number(_) | Self::Range { .. } => Tone::Plain,
        }
    }

    /// Reports whether the cell's text includes a unit of its own.
    pub(crate) fn scales(&self) -> bool {
        matches!(self, Self::Number(number) if number.style.scales())
    }
}

impl From<Number> for Cell {
    /// Converts a number to a cell; missing if it is not finite.
    fn from(number: Number) -> Self {
        if number.value.is_finite() { Self::Number(number) } else { Self::Missing }
    }
}

/// Value of a row with its column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowField {
    column: Column,
    cell: Cell,
}

impl RowField {
    /// Creates a value in any column.
    pub(crate) fn new(column: Column, cell: impl Into<Cell>) -> Self {
        Self { column, cell: cell.into() }
    }

    /// Creates a text value.
    pub(crate) fn text(name: &str, text: impl Into<String>) -> Self {
        Self::new(Column::text(name), Cell::text(text))
    }

    /// Creates a text value, which may be wrapped when space is short.
    pub(crate) fn long_text(name: &str, text: impl Into<String>) -> Self {
        Self::new(Column::long_text(name), Cell::text(text))
    }

    /// Creates a value in a column whose cells include their own units.
    pub(crate) fn mixed(name: &str, cell: impl Into<Cell>) -> Self {
        Self::new(Column::mixed(name), cell)
    }

    /// Creates a number of bytes; missing for `None`.
    pub(crate) fn bytes(name: &str, bytes: impl Into<Option<u64>>) -> Self {
        Self::number(name, Unit::Bytes, bytes.into().map(|bytes| bytes as f64))
    }

    /// Creates a count; missing for `None`.
    pub(crate) fn count(name: &str, count: impl Into<Option<u64>>) -> Self {
        Self::new(Column::count(name), count.into().map_or(Cell::Missing, Cell::whole))
    }

    /// Creates a number in a unit; missing for `None` and values that are not finite.
    pub(crate) fn number(name: &str, unit: Unit, value: impl Into<Option<f64>>) -> Self {
        Self::new(Column::number(name, unit), Cell::measured(value, unit))
    }

    /// Sets the better direction.
    pub(crate) fn better(self, better: BetterDirection) -> Self {
        Self { column: self.column.better(better), ..self }
    }
}

/// A table with typed columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Identifier of the table, which marks its rows in CSV.
    pub name: String,
    /// Caption for people; may be empty.
    pub caption: String,
    /// Number of leftmost columns that identify a row; they are repeated when a table is split.
    pub keys: usize,
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows, each with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Title under which formats that support it show the table collapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<String>,
}

impl Table {
    /// Creates a table without rows, whose first column identifies the row.
    pub fn new(name: &str, caption: &str, columns: Vec<Column>) -> Self {
        let (name, caption) = (name.to_owned(), caption.to_owned());
        Self { name, caption, keys: 1, columns, rows: Vec::new(), folded: None }
    }

    /// Creates a table of rows that all have the same columns; without rows, the table has no
    /// columns.
    pub(crate) fn from_rows(
        name: &str,
        caption: &str,
        rows: impl IntoIterator<Item = Vec<RowField>>,
    ) -> Self {
        let mut table = Self::new(name, caption, Vec::new());
        for fields in rows {
            let (columns, cells) = fields.into_iter().map(|it| (it.column, it.cell)).unzip();
            table.columns = columns;
            table.rows.push(cells);
        }
        table
    }

    /// Sets the number of columns that identify a row.
    #[must_use]
    pub(crate) fn with_keys(self, keys: usize) -> Self {
        Self { keys, ..self }
    }

    /// Collapses the table under a title, in formats that support it.
    #[must_use]
    pub(crate) fn folded(self, title: impl Into<String>) -> Self {
        Self { folded: Some(title.into()), ..self }
    }

    /// Leaves out which direction of the columns is better.
    #[must_use]
    pub(crate) fn without_directions(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.better = None);
        self
    }

    /// Leaves out all rows but the first ones.
    #[must_use]
    pub(crate) fn cut_to(mut self, rows: usize) -> Self {
        self.rows.truncate(rows);
        self
    }

    /// Cell at a position; missing when the row is too short.
    pub fn cell(&self, row: usize, column: usize) -> &Cell {
        self.rows.get(row).and_then(|cells| cells.get(column)).unwrap_or(&Cell::Missing)
    }

    /// Unit shown above a column; empty where the cells include their own.
    pub(crate) fn shown_unit(&self, column: usize) -> &str {
        let scaled = (0..self.rows.len()).any(|row| self.cell(row, column).scales());
        if scaled { "" } else { self.columns.get(column).map_or("", |column| &column.unit) }
    }

    /// Legend of the better directions, by the units shown above the columns (or column names
    /// without a unit); `None` when no column has a direction.
    pub(crate) fn directions(&self) -> Option<String> {
        let say = |better: BetterDirection| {
            let mut things: Vec<&str> = Vec::new();
            for (place, column) in self.columns.iter().enumerate() {
                let thing = match self.shown_unit(place) {
                    "" => &column.name,
                    unit => unit,
                };
                if column.better == Some(better) && !things.contains(&thing) {
                    things.push(thing);
                }
            }
            let word = better.word();
            (!things.is_empty()).then(|| format!("{}: {word} is better.", things.join(", ")))
        };
        match (say(BetterDirection::Lower), say(BetterDirection::Higher)) {
            (Some(lower), Some(higher)) => Some(format!("{lower} {higher}")),
            (direction, other) => direction.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, Table};
    use treering_model::{BetterDirection, Unit};

    #[test]
    fn a_cell_names_its_unit_unless_the_column_does() {
        let rate = Cell::measured(2.0, Unit::MibPerSecond);
        assert_eq!(rate.shown("MiB/s"), "2.000");
        assert_eq!(rate.shown(""), "2.000 MiB/s");
        assert_eq!(Cell::measured(1500.0, Unit::Nanoseconds).shown("ns"), "1.50 µs");
    }

    #[test]
    fn non_finite_numbers_are_missing_cells() {
        assert_eq!(Cell::measured(f64::NAN, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::measured(f64::INFINITY, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::measured(None, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::range(1.0, f64::NAN, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::range(1.0, 1.0, Unit::Seconds).shown("s"), "1.000");
        assert_eq!(Cell::range(1.0, 2.0, Unit::Seconds).shown("s"), "1.000–2.000");
        assert_eq!(Cell::range(-1.0, 2.0, Unit::Seconds).shown("s"), "-1.000 to 2.000");
    }

    #[test]
    fn table_states_the_better_direction_of_each_unit() {
        let seconds = || Column::number("median", Unit::Seconds).better(BetterDirection::Lower);
        let mut table = Table::new("t", "", vec![Column::text("kind"), seconds(), seconds()]);
        assert_eq!(table.directions().unwrap(), "s: lower is better.");
        table
            .columns
            .push(Column::number("rate", Unit::MibPerSecond).better(BetterDirection::Higher));
        let directions = table.directions().unwrap();
        assert_eq!(directions, "s: lower is better. MiB/s: higher is better.");
        assert_eq!(Table::new("t", "", vec![Column::count("n")]).directions(), None);
    }

    #[test]
    fn a_column_of_scaled_cells_shows_no_unit() {
        let mut table = Table::new("t", "", vec![Column::number("p50", Unit::Nanoseconds)]);
        assert_eq!(table.shown_unit(0), "ns");
        table.rows.push(vec![Cell::measured(5.0, Unit::Nanoseconds)]);
        assert_eq!(table.shown_unit(0), "");
        assert_eq!(table.cell(7, 7), &Cell::Missing);
    }
}
