//! Tables of typed cells: what a column counts, in which unit, and which way is better.

use serde::{Deserialize, Serialize};
use treering_model::{Better, Unit};

use crate::Number;

/// On which variant a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Words.
    Text,
    /// Numbers in the column's unit. People see them scaled where the cells' style says so.
    Number,
    /// A lowest and a highest number in the column's unit. The name is `low–high`.
    Range,
    /// Numbers of different units; each cell names its own.
    Mixed,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The unit of its numbers, empty for text and counts.
    pub unit: String,
    /// What stands in it.
    pub kind: ColumnKind,
    /// On which variant.
    pub align: Align,
    /// Which way is better, when one way is.
    pub better: Option<Better>,
    /// Whether its texts may be broken into several lines when room is short.
    pub wraps: bool,
}

impl Column {
    fn new(name: &str, unit: &str, kind: ColumnKind, align: Align) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Self { name, unit, kind, align, better: None, wraps: false }
    }

    /// A column of words.
    pub fn text(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Text, Align::Left)
    }

    /// A column of words of any length, broken into lines when room is short.
    pub fn long_text(name: &str) -> Self {
        Self { wraps: true, ..Self::text(name) }
    }

    /// A column of counts.
    pub fn count(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Number, Align::Right)
    }

    /// A column of numbers in one unit.
    pub fn number(name: &str, unit: Unit) -> Self {
        Self::new(name, unit.symbol(), ColumnKind::Number, Align::Right)
    }

    /// A column of ranges in one unit; the name is `low–high`.
    pub fn range(name: &str, unit: Unit) -> Self {
        Self::new(name, unit.symbol(), ColumnKind::Range, Align::Right)
    }

    /// A column of numbers that name their own units.
    pub fn mixed(name: &str) -> Self {
        Self::new(name, "", ColumnKind::Mixed, Align::Right)
    }

    /// The same column with its better direction.
    #[must_use]
    pub fn better(self, better: Better) -> Self {
        Self { better: Some(better), ..self }
    }

    /// Name and unit in one line: `median [s]`.
    pub fn title(&self) -> String {
        titled(&self.name, &self.unit)
    }
}

/// A name with its unit in brackets, when there is one.
pub(crate) fn titled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} [{unit}]") }
}

/// What a text tells, for formats that can underline it. The words themselves say it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing particular.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// To be taken with care.
    Caution,
    /// Wrong.
    Bad,
}

/// A cell of a table, or a value of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cell", rename_all = "snake_case")]
pub enum Cell {
    /// Nothing was measured, or it means nothing here.
    Missing,
    /// Words.
    Text {
        /// The words, as they came: formats make them safe to show.
        text: String,
        /// What they tell.
        tone: Tone,
    },
    /// A number.
    Number(Number),
    /// From a number to another.
    Range {
        /// The lowest.
        low: Number,
        /// The highest.
        high: Number,
    },
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), tone: Tone::Plain }
    }

    /// Words, or nothing when there are none.
    pub(crate) fn some_text(text: &str) -> Self {
        if text.is_empty() { Self::Missing } else { Self::text(text) }
    }

    /// Words with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self::Text { text: text.into(), tone }
    }

    /// A count.
    pub fn whole(value: u64) -> Self {
        Self::Number(Number::whole(value))
    }

    /// A number in a unit; missing when it is none.
    pub fn measured(value: impl Into<Option<f64>>, unit: Unit) -> Self {
        value.into().map_or(Self::Missing, |value| Number::measured(value, unit).into())
    }

    /// From one number to another in a unit; missing when one of them is none.
    pub fn range(low: f64, high: f64, unit: Unit) -> Self {
        Self::between(Number::measured(low, unit), Number::measured(high, unit))
    }

    /// From one number to another; missing when one of them is none.
    pub fn between(low: Number, high: Number) -> Self {
        let finite = low.value.is_finite() && high.value.is_finite();
        if finite { Self::Range { low, high } } else { Self::Missing }
    }

    /// What people read, in a column or list of this unit.
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
                    // A dash between two signs would be read as one of them.
                    (false, true) => format!("{low} to {high}"),
                    (false, false) => format!("{low}–{high}"),
                }
            }
        }
    }

    /// Its tone; numbers have none.
    pub fn tone(&self) -> Tone {
        match self {
            Self::Text { tone, .. } => *tone,
            Self::Missing | Self::Number(_) | Self::Range { .. } => Tone::Plain,
        }
    }

    /// Whether its text brings a unit of its own.
    pub(crate) fn scales(&self) -> bool {
        matches!(self, Self::Number(number) if number.style.scales())
    }
}

impl From<Number> for Cell {
    /// Values that are no numbers become missing.
    fn from(number: Number) -> Self {
        if number.value.is_finite() { Self::Number(number) } else { Self::Missing }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A word for it, which tells its rows from those of other tables in CSV.
    pub name: String,
    /// What it shows, for people; may be empty.
    pub caption: String,
    /// How many columns from the left name the row: they are repeated when a table is split.
    pub keys: usize,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What stands on the fold, where formats that can fold show it closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<String>,
}

impl Table {
    /// A table without rows, its first column naming the row.
    pub fn new(name: &str, caption: &str, columns: Vec<Column>) -> Self {
        let (name, caption) = (name.to_owned(), caption.to_owned());
        Self { name, caption, keys: 1, columns, rows: Vec::new(), folded: None }
    }

    /// The same table with so many naming columns.
    #[must_use]
    pub(crate) fn with_keys(self, keys: usize) -> Self {
        Self { keys, ..self }
    }

    /// The same table, closed where formats can fold.
    #[must_use]
    pub(crate) fn folded(self, title: impl Into<String>) -> Self {
        Self { folded: Some(title.into()), ..self }
    }

    /// The cell at a place; missing when the row is too short.
    pub fn cell(&self, row: usize, column: usize) -> &Cell {
        self.rows.get(row).and_then(|cells| cells.get(column)).unwrap_or(&Cell::Missing)
    }

    /// The unit people see above a column: none where the cells bring their own.
    pub(crate) fn shown_unit(&self, column: usize) -> &str {
        let scaled = (0..self.rows.len()).any(|row| self.cell(row, column).scales());
        if scaled { "" } else { self.columns.get(column).map_or("", |column| &column.unit) }
    }

    /// Which way is better, in words, by the units people see above the columns (by name where
    /// they see none); `None` when no column has a better direction.
    pub(crate) fn directions(&self) -> Option<String> {
        let say = |better: Better| {
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
        match (say(Better::Lower), say(Better::Higher)) {
            (Some(lower), Some(higher)) => Some(format!("{lower} {higher}")),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, Table};
    use treering_model::{Better, Unit};

    #[test]
    fn a_cell_names_its_unit_unless_the_column_does() {
        let rate = Cell::measured(2.0, Unit::MibPerSecond);
        assert_eq!(rate.shown("MiB/s"), "2.000");
        assert_eq!(rate.shown(""), "2.000 MiB/s");
        assert_eq!(Cell::measured(1500.0, Unit::Nanoseconds).shown("ns"), "1.50 µs");
    }

    #[test]
    fn what_is_no_number_is_missing() {
        assert_eq!(Cell::measured(f64::NAN, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::measured(f64::INFINITY, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::measured(None, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::range(1.0, f64::NAN, Unit::Seconds), Cell::Missing);
        assert_eq!(Cell::range(1.0, 1.0, Unit::Seconds).shown("s"), "1.000");
        assert_eq!(Cell::range(1.0, 2.0, Unit::Seconds).shown("s"), "1.000–2.000");
        assert_eq!(Cell::range(-1.0, 2.0, Unit::Seconds).shown("s"), "-1.000 to 2.000");
    }

    #[test]
    fn directions_are_said_by_unit() {
        let seconds = || Column::number("median", Unit::Seconds).better(Better::Lower);
        let mut table = Table::new("t", "", vec![Column::text("kind"), seconds(), seconds()]);
        assert_eq!(table.directions().unwrap(), "s: lower is better.");
        table.columns.push(Column::number("rate", Unit::MibPerSecond).better(Better::Higher));
        let said = table.directions().unwrap();
        assert_eq!(said, "s: lower is better. MiB/s: higher is better.");
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
