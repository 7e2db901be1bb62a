//! Values of a row of a table.

use treering_kit::import::log::shortened;
use treering_kit::import::number::{moment_unix_ms, whole};
use treering_kit::units::known_unit;
use treering_model::metrics::command;
use treering_model::nearest::nearest;
use treering_model::{BetterDirection, Metric, Unit};

use super::columns::{ColumnKind, Columns};
use super::records::RowFault;

/// Longest name of a metric and longest text of another field, in characters.
const NAME_CHARS_MOST: usize = 200;
const TEXT_CHARS_MOST: usize = 500;
/// Largest number of a round.
const ROUND_MOST: u64 = 1_000_000;
/// Words for the better direction.
const DIRECTIONS: [(&str, BetterDirection); 4] = [
    ("higher", BetterDirection::Higher),
    ("lower", BetterDirection::Lower),
    ("bigger", BetterDirection::Higher),
    ("smaller", BetterDirection::Lower),
];

/// Values that the rows of a trial have in common.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct RowKey {
    pub(super) unix_ms: i64,
    pub(super) version: String,
    pub(super) commit: String,
    pub(super) variant: String,
    pub(super) label: String,
    pub(super) link: String,
    /// Number of the round, from 0.
    pub(super) round: u32,
}

/// Row of a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: RowKey,
    /// False if the round follows from the rows above.
    pub(super) has_round: bool,
    pub(super) metric: Metric,
    /// Unit that is not known; it is a part of the name of the metric.
    pub(super) unknown_unit: Option<String>,
}

/// Reads a row. The error names the column and says what would be right.
pub(super) fn read(columns: &Columns, record: &[String]) -> Result<Row, RowFault> {
    if record.len() > columns.len() {
        return Err(RowFault::whole(format!(
            "it has {} fields, and the first line has {}: put a field with a separator in \
             quotation marks",
            record.len(),
            columns.len()
        )));
    }
    let fields = RowFields { columns, record };
    let (unit, factor, unknown_unit) = fields.unit()?;
    let name = match &unknown_unit {
        Some(unit) => format!("{} ({unit})", fields.metric()?),
        None => fields.metric()?,
    };
    let value = fields.value(factor)?;
    let metric = command::named_by_user(&name, value, unit, fields.direction()?).primary();
    let round = fields.round()?;
    let key = RowKey {
        unix_ms: fields.time()?,
        version: fields.text(ColumnKind::Version)?,
        commit: fields.text(ColumnKind::Commit)?,
        variant: fields.text(ColumnKind::Variant)?,
        label: fields.text(ColumnKind::Label)?,
        link: fields.link()?,
        round: round.unwrap_or(0),
    };
    Ok(Row { key, has_round: round.is_some(), metric, unknown_unit })
}

/// Fields of a row.
struct RowFields<'r> {
    columns: &'r Columns,
    record: &'r [String],
}

impl RowFields<'_> {
    fn field(&self, kind: ColumnKind) -> &str {
        self.columns.field(self.record, kind)
    }

    fn fault(&self, kind: ColumnKind, why: &str) -> RowFault {
        let field = match self.field(kind) {
            "" => "it is empty".to_owned(),
            field => shortened(field),
        };
        RowFault::Field { place: self.columns.place(kind), field, why: why.to_owned() }
    }

    fn metric(&self) -> Result<String, RowFault> {
        match self.text(ColumnKind::Metric)? {
            name if name.is_empty() => Err(self.fault(ColumnKind::Metric, "a metric has a name")),
            name if name.chars().count() > NAME_CHARS_MOST => {
                let why = format!("a name has at most {NAME_CHARS_MOST} characters");
                Err(self.fault(ColumnKind::Metric, &why))
            }
            name => Ok(name),
        }
    }

    fn text(&self, kind: ColumnKind) -> Result<String, RowFault> {
        let text = self.field(kind);
        if text.chars().count() > TEXT_CHARS_MOST {
            let why = format!("a text has at most {TEXT_CHARS_MOST} characters");
            return Err(self.fault(kind, &why));
        }
        if text.chars().any(char::is_control) {
            return Err(self.fault(kind, "a text is one line without control characters"));
        }
        Ok(text.to_owned())
    }

    fn time(&self) -> Result<i64, RowFault> {
        let time = moment_unix_ms(self.field(ColumnKind::Time)).filter(|ms| *ms > 0);
        time.ok_or_else(|| {
            let why = "a time is written like 2026-04-03, 2026-04-03T20:55:12Z or in seconds since \
                       1970";
            self.fault(ColumnKind::Time, why)
        })
    }

    fn value(&self, factor: f64) -> Result<f64, RowFault> {
        let text = self.field(ColumnKind::Value);
        let fault = |why: &str| Err(self.fault(ColumnKind::Value, why));
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        if text.contains(',') {
            return fault("a number has a point before its decimals, and none of thousands");
        }
        match text.parse::<f64>() {
            Ok(number) if is_plain && (number * factor).is_finite() => {
                // The sum makes a negative zero positive.
                Ok(number * factor + 0.0)
            }
            Ok(number) if is_plain && !number.is_nan() => {
                fault("the number is larger than any that can be kept")
            }
            _ => fault("a value is a finite number like 12.5 or 1.25e3"),
        }
    }

    /// Unit and factor of the value, and the words of a unit that is not known.
    fn unit(&self) -> Result<(Unit, f64, Option<String>), RowFault> {
        let text = self.text(ColumnKind::Unit)?;
        // The time of an iteration is a time.
        let bare = ["/iter", "/op"].iter().find_map(|ending| text.strip_suffix(ending));
        Ok(match known_unit(bare.unwrap_or(&text)) {
            Some((unit, factor)) => (unit, factor, None),
            None => (Unit::Count, 1.0, Some(text)),
        })
    }

    fn direction(&self) -> Result<BetterDirection, RowFault> {
        let text = self.field(ColumnKind::Direction).to_lowercase();
        let word = text.split([' ', '_', '-']).next().unwrap_or_default();
        let known = DIRECTIONS.iter().find(|(known, _)| *known == word);
        known.map(|(_, direction)| *direction).ok_or_else(|| {
            let near = nearest(word, DIRECTIONS.map(|(known, _)| known));
            let near = near.map(|near| format!(" (is it {near}?)")).unwrap_or_default();
            let why = format!("the better direction is higher or lower{near}");
            self.fault(ColumnKind::Direction, &why)
        })
    }

    fn link(&self) -> Result<String, RowFault> {
        let text = self.text(ColumnKind::Link)?;
        let is_web = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
        if text.is_empty() || is_web {
            return Ok(text);
        }
        Err(self.fault(ColumnKind::Link, "a link begins with https:// or http://"))
    }

    /// Number of the round, from 0, if the row has one.
    fn round(&self) -> Result<Option<u32>, RowFault> {
        let field = self.field(ColumnKind::Round);
        if field.is_empty() {
            return Ok(None);
        }
        let number = whole(field).filter(|number| *number <= ROUND_MOST);
        let round = number.and_then(|number| u32::try_from(number).ok());
        round.map(Some).ok_or_else(|| {
            let why = format!("a round is a whole number up to {ROUND_MOST}");
            self.fault(ColumnKind::Round, &why)
        })
    }
}
