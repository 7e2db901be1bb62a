//! Meaning of the columns of a table, by the names in its first line.

use std::collections::BTreeMap;

use treering_kit::import::log::shortened;
use treering_model::nearest::nearest;

use super::records::fields;

/// Separators of fields.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// Number of known names by which a line is taken for the first of a table.
const KNOWN_FEWEST: usize = 3;
/// Largest number of columns, and longest name of one.
const COLUMNS_MOST: usize = 256;
const NAME_CHARS_MOST: usize = 64;

/// Meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColumnKind {
    Time,
    Metric,
    Value,
    Unit,
    Direction,
    Version,
    Commit,
    Variant,
    Label,
    Round,
    Link,
}

/// Columns that every table has.
const NEEDED: [ColumnKind; 5] = [
    ColumnKind::Time,
    ColumnKind::Metric,
    ColumnKind::Value,
    ColumnKind::Unit,
    ColumnKind::Direction,
];

/// Names of the columns: the first is that of the documents, the others are as good.
const NAMES: [(ColumnKind, &[&str]); 11] = [
    (ColumnKind::Time, &["time", "date", "timestamp"]),
    (ColumnKind::Metric, &["metric", "benchmark"]),
    (ColumnKind::Value, &["value"]),
    (ColumnKind::Unit, &["unit"]),
    (ColumnKind::Direction, &["direction", "better"]),
    (ColumnKind::Version, &["version"]),
    (ColumnKind::Commit, &["commit"]),
    (ColumnKind::Variant, &["variant"]),
    (ColumnKind::Label, &["label"]),
    (ColumnKind::Round, &["round"]),
    (ColumnKind::Link, &["link", "url"]),
];

/// Columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    names: Vec<String>,
    places: BTreeMap<ColumnKind, usize>,
}

/// Reason why the columns of a table are refused.
#[derive(Debug)]
pub(super) struct ColumnsError {
    pub(super) text: String,
    pub(super) separator: u8,
}

/// Separator of a line that names the columns of a table; `None` if it is another line.
pub(super) fn separator(line: &str) -> Option<u8> {
    let is_letter = |letter: char| letter == '\u{feff}' || letter == '"' || letter.is_alphabetic();
    if !line.starts_with(is_letter) || line.len() > COLUMNS_MOST * NAME_CHARS_MOST {
        return None;
    }
    SEPARATORS.into_iter().find(|separator| {
        let count = line.bytes().filter(|byte| byte == separator).count();
        (KNOWN_FEWEST - 1..COLUMNS_MOST).contains(&count)
            && names(line, *separator).is_some_and(|names| {
                let has = |words: &[&str]| names.iter().any(|name| words.contains(&name.as_str()));
                let known = NAMES.iter().filter(|(_, words)| has(words)).map(|(kind, _)| *kind);
                let known: Vec<ColumnKind> = known.collect();
                known.len() >= KNOWN_FEWEST || is_history(&known)
            })
    })
}

/// True for a time and what was measured then: a table with a column for each metric, as other
/// programs have them, which is refused with the reason.
fn is_history(known: &[ColumnKind]) -> bool {
    let has = |kind: ColumnKind| known.contains(&kind);
    has(ColumnKind::Time) && (has(ColumnKind::Commit) || has(ColumnKind::Version))
}

/// Finds the columns of a table by its first line.
pub(super) fn find(line: &str) -> Result<(Columns, u8), ColumnsError> {
    let separator = separator(line).unwrap_or(b',');
    let names = names(line, separator).unwrap_or_default();
    let refused = |text: String| ColumnsError { text, separator };
    let mut places = BTreeMap::new();
    for (kind, words) in NAMES {
        let mut meant = (0..names.len()).filter(|place| words.contains(&names[*place].as_str()));
        let Some(place) = meant.next() else { continue };
        if let Some(other) = meant.next() {
            return Err(refused(format!(
                "columns {} '{}' and {} '{}' are both the {}: remove or rename one",
                place + 1,
                names[place],
                other + 1,
                names[other],
                words[0]
            )));
        }
        places.insert(kind, place);
    }
    let columns = Columns { names, places };
    let missing: Vec<ColumnKind> =
        NEEDED.into_iter().filter(|kind| !columns.places.contains_key(kind)).collect();
    if missing.is_empty() {
        Ok((columns, separator))
    } else {
        Err(refused(columns.without(&missing)))
    }
}

/// Names of the columns in small letters; `None` if the line does not hold names.
fn names(line: &str, separator: u8) -> Option<Vec<String>> {
    let fields = fields(line.trim_start_matches('\u{feff}'), separator).ok()?;
    let is_name = |name: &String| {
        name.chars().count() <= NAME_CHARS_MOST && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    fields.iter().all(is_name).then(|| fields.iter().map(|name| name.to_lowercase()).collect())
}

impl ColumnKind {
    /// Name of the column in the documents.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, names)| names[0])
    }
}

impl Columns {
    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Field of a record in the column; empty if the table has no such column.
    pub(super) fn field<'r>(&self, record: &'r [String], kind: ColumnKind) -> &'r str {
        let place = self.places.get(&kind);
        place.and_then(|place| record.get(*place)).map_or("", String::as_str)
    }

    /// Place of a column in messages: `column 5 'value'`.
    pub(super) fn place(&self, kind: ColumnKind) -> String {
        match self.places.get(&kind) {
            Some(place) => format!("column {} '{}'", place + 1, self.names[*place]),
            None => format!("column '{}'", kind.name()),
        }
    }

    /// Names of the columns that have no meaning, for messages.
    pub(super) fn unread(&self) -> Vec<String> {
        let unread = self.unknown().filter(|(_, name)| !name.is_empty());
        unread.map(|(_, name)| shortened(name)).collect()
    }

    fn unknown(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_known = |place: &usize| self.places.values().any(|known| known == place);
        let all = self.names.iter().enumerate();
        all.filter(move |(place, _)| !is_known(place)).map(|(place, name)| (place, name.as_str()))
    }

    /// Message about columns that the table lacks, with the nearest names that it has.
    fn without(&self, missing: &[ColumnKind]) -> String {
        let of = |kind: &ColumnKind| {
            let words = NAMES.iter().find(|(known, _)| known == kind).map_or(&[][..], |(_, w)| *w);
            let names = || self.unknown().map(|(_, name)| name);
            let near = words.iter().find_map(|word| nearest(word, names()));
            // A longer name may have the word in it: `time_ns`, `commit_date`.
            let near = near.or_else(|| {
                let parts =
                    |name: &str| name.split(['_', '-', ' ']).any(|part| words.contains(&part));
                names().find(|name| parts(name))
            });
            match near {
                Some(near) => format!("'{}' (is it {}?)", kind.name(), shortened(near)),
                None => format!("'{}'", kind.name()),
            }
        };
        let lacks = missing.iter().map(of).collect::<Vec<_>>().join(" and no column ");
        let needed = NEEDED.map(ColumnKind::name).join(", ");
        let unread = self.unread();
        let others = if unread.is_empty() {
            String::new()
        } else {
            format!("; not understood: {}", unread.join(", "))
        };
        let is_wide = [ColumnKind::Metric, ColumnKind::Value].map(|kind| missing.contains(&kind));
        let turn = match is_wide {
            [true, true] => "; a column for each metric has to become a row for each value",
            _ => "",
        };
        format!("this table has no column {lacks}; it needs {needed}{others}{turn}")
    }
}
