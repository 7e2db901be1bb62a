//! A run of bonnie++ from one form of its output: figures, parameters, and differences to another
//! form of the same run.

use treering_kit::import::number::{decimal, nanoseconds};

/// Version assumed for a line without a format.
pub(super) const VERSION_UNMARKED: &str = "1.03";

/// Number of figures in each row: one per test.
pub(super) const TESTS: usize = 12;
/// Tests in the order of both forms: those of one large file, then those of many files.
pub(super) const NAMES: [&str; TESTS] = [
    "per-char write",
    "block write",
    "rewrite",
    "per-char read",
    "block read",
    "seeks",
    "sequential create",
    "sequential stat",
    "sequential delete",
    "random create",
    "random stat",
    "random delete",
];
/// Index of the random seeks.
pub(super) const SEEKS: usize = 5;
/// Index of the first test of small files.
pub(super) const FILES: usize = 6;
/// Indices of the tests that `-f` leaves out.
pub(super) const PER_CHAR: [usize; 2] = [0, 3];

/// Largest accepted rate and percentage.
const RATE_MOST: f64 = 1e12;
const PERCENT_MOST: f64 = 1e6;
/// Longest quoted word, and longest parameter, in bytes.
const WORD_MOST: usize = 30;

/// Content of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ColumnContent {
    /// Empty: the test was not run.
    #[default]
    Absent,
    /// Plus signs: the test ran for less than half a second.
    TooShort,
    /// Text that is neither, and no number in range.
    Odd(String),
    /// A number, and its largest rounding error as printed.
    Value { value: f64, slack: f64 },
}

impl ColumnContent {
    /// Parses a rate: data in KiB per second, others in operations per second. Tables have units
    /// after them.
    pub(super) fn rate(word: &str) -> Self {
        let units = [('k', 1.0), ('m', 1024.0), ('g', 1024.0 * 1024.0)];
        let unit = units.into_iter().find(|(letter, _)| word.ends_with(*letter));
        let number = word.get(..word.len() - usize::from(unit.is_some())).unwrap_or("");
        // Kilobytes are truncated, the others rounded to the printed digits.
        let slack = match unit {
            None => 0.0,
            Some((_, 1.0)) => 1.0,
            Some((_, size)) if number.contains('.') => 0.051 * size,
            Some((_, size)) => 0.51 * size,
        };
        let size = unit.map_or(1.0, |(_, size)| size);
        let is_known = |rate: &f64| *rate > 0.0 && *rate <= RATE_MOST;
        Self::new(word, decimal(number).map(|rate| rate * size).filter(is_known), slack)
    }

    /// Parses a CPU percentage.
    pub(super) fn percent(word: &str) -> Self {
        Self::new(word, decimal(word).filter(|percent| *percent <= PERCENT_MOST), 0.0)
    }

    /// Parses a latency to nanoseconds.
    pub(super) fn latency(word: &str) -> Self {
        let read = latency(word).filter(|(_, tail)| tail.is_empty());
        Self::new(word, read.map(|(ns, _)| ns), 0.0)
    }

    fn new(word: &str, value: Option<f64>, slack: f64) -> Self {
        match value {
            Some(value) => Self::Value { value, slack },
            None if word.is_empty() => Self::Absent,
            None if is_too_short(word) => Self::TooShort,
            None => Self::Odd(word.chars().take(WORD_MOST).collect()),
        }
    }

    pub(super) fn is_odd(&self) -> bool {
        matches!(self, Self::Odd(_))
    }

    /// Compares with the figure of another form; `None` if one of them has no value.
    fn agrees(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Absent | Self::Odd(_), _) | (_, Self::Absent | Self::Odd(_)) => None,
            (Self::TooShort, Self::TooShort) => Some(true),
            (Self::Value { value, slack }, Self::Value { value: other_value, slack: more }) => {
                Some((value - other_value).abs() <= slack + more)
            }
            _ => Some(false),
        }
    }

    /// Text for a message.
    fn words(&self) -> String {
        match self {
            Self::Absent => "nothing".to_owned(),
            Self::TooShort => "+++++".to_owned(),
            Self::Odd(word) => format!("`{word}`"),
            Self::Value { value, .. } => format!("{value}"),
        }
    }
}

/// True for plus signs, which mark a test too short to be measured.
pub(super) fn is_too_short(word: &str) -> bool {
    word.len() >= 2 && word.bytes().all(|byte| byte == b'+')
}

/// Latency at the start of a text, in nanoseconds, and the rest: `92041us`, `1128ms`, `13s`.
pub(super) fn latency(text: &str) -> Option<(f64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, tail) = text.split_at(digits);
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (tail, unit) =
        units.into_iter().find_map(|(unit, size)| Some((tail.strip_prefix(unit)?, size)))?;
    let ns = nanoseconds(decimal(number)? * unit)?;
    Some((ns as f64, tail))
}

/// True for a word that can be a parameter's value: `2264M`, `16`, `link`.
pub(super) fn is_parameter(word: &str) -> bool {
    word.len() <= WORD_MOST
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-')
}

/// A run, parsed from a CSV line or a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ParsedRun {
    pub(super) is_table: bool,
    /// Format of the CSV line; empty for a table.
    pub(super) format: String,
    /// Version of the program.
    pub(super) version: String,
    /// Name of the run or its machine.
    pub(super) name: String,
    /// Names and values of the parameters that are present.
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) rates: [ColumnContent; TESTS],
    pub(super) cpus: [ColumnContent; TESTS],
    pub(super) latencies: [ColumnContent; TESTS],
    /// Remarks about unparsable fields.
    pub(super) remarks: Vec<String>,
    /// Runs of the further rows of the table.
    pub(super) further: Vec<ParsedRun>,
}

impl ParsedRun {
    /// Stores a parameter if present, or adds a remark if its value is invalid.
    pub(super) fn parameter(&mut self, name: &'static str, word: &str) {
        if !is_parameter(word) {
            let word: String = word.chars().take(WORD_MOST).collect();
            self.remarks.push(format!("{name} is `{word}`: not understood, ignored"));
        } else if !word.is_empty() {
            self.parameters.push((name, word.to_owned()));
        }
    }

    /// Stores the number of files, given in units of 1024.
    pub(super) fn files(&mut self, word: &str) {
        match word.parse::<u64>().ok().and_then(|units| units.checked_mul(1024)) {
            Some(files) => self.parameter("files", &files.to_string()),
            None if word.is_empty() => {}
            None => {
                let word: String = word.chars().take(WORD_MOST).collect();
                self.remarks.push(format!("files is `{word}`: out of range, ignored"));
            }
        }
    }

    pub(super) fn value(&self, parameter: &str) -> Option<&str> {
        let pair = self.parameters.iter().find(|(name, _)| *name == parameter);
        pair.map(|(_, value)| value.as_str())
    }

    /// Rates, CPU percentages and latencies with their names.
    pub(super) fn rows(&self) -> [(&'static str, &[ColumnContent; TESTS]); 3] {
        [("rate", &self.rates), ("%CP", &self.cpus), ("latency", &self.latencies)]
    }

    /// Number of figures that are neither numbers nor plus signs.
    pub(super) fn odd(&self) -> usize {
        self.rows().iter().flat_map(|(_, row)| row.iter()).filter(|figure| figure.is_odd()).count()
    }

    /// Differences of the table from this CSV line; `None` if the table is of another run.
    pub(super) fn differences(&self, table: &Self) -> Option<Vec<String>> {
        // A line of 1.03 does not tell the letter of its version.
        let is_older =
            self.version == VERSION_UNMARKED && table.version.starts_with(VERSION_UNMARKED);
        if self.version != table.version && !is_older {
            return None;
        }
        let (mut compared, mut messages) = (0, Vec::new());
        for ((test_name, own), (_, other)) in self.rows().into_iter().zip(table.rows()) {
            for ((name, own), other) in NAMES.into_iter().zip(own).zip(other) {
                let Some(agrees) = own.agrees(other) else { continue };
                compared += 1;
                if !agrees {
                    let (own, other) = (own.words(), other.words());
                    messages.push(format!(
                        "{name}, {test_name}: the table says {other}, the line {own}, which is used"
                    ));
                }
            }
        }
        let is_same = compared > 0 && messages.len() * 2 <= compared;
        for name in ["size", "files", "concurrency"] {
            if let (Some(own), Some(other)) = (self.value(name), table.value(name))
                && own != other
            {
                messages
                    .push(format!("{name}: the table says {other}, the line {own}, which is used"));
            }
        }
        is_same.then_some(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnContent, ParsedRun, latency};

    fn value(figure: &ColumnContent) -> f64 {
        match figure {
            ColumnContent::Value { value, .. } => *value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn figures_are_numbers_plus_signs_or_invalid() {
        assert_eq!(value(&ColumnContent::rate("331")), 331.0);
        assert_eq!(value(&ColumnContent::rate("1951k")), 1951.0);
        assert_eq!(value(&ColumnContent::rate("406m")), 406.0 * 1024.0);
        assert_eq!(value(&ColumnContent::rate("1.5g")), 1.5 * 1024.0 * 1024.0);
        assert_eq!(value(&ColumnContent::percent("0")), 0.0);
        assert_eq!(ColumnContent::rate(""), ColumnContent::Absent);
        assert_eq!(ColumnContent::rate("+++++"), ColumnContent::TooShort);
        assert_eq!(ColumnContent::percent("+++"), ColumnContent::TooShort);
        for odd in ["0", "-1", "1e9", "k", "+", "é", "99999999999999", "nan"] {
            assert!(ColumnContent::rate(odd).is_odd(), "{odd}");
        }
        assert!(ColumnContent::percent("1000001").is_odd());
    }

    #[test]
    fn latencies_have_three_units() {
        assert_eq!(value(&ColumnContent::latency("92041us")), 92_041_000.0);
        assert_eq!(value(&ColumnContent::latency("1128ms")), 1_128_000_000.0);
        assert_eq!(latency("13sVersion"), Some((13e9, "Version")));
        assert_eq!(latency("650usconsole"), Some((650_000.0, "console")));
        assert_eq!(ColumnContent::latency(""), ColumnContent::Absent);
        for odd in ["5", "us", "5h", "99999999999999999999s", "5us "] {
            assert!(ColumnContent::latency(odd).is_odd(), "{odd}");
        }
    }

    #[test]
    fn table_and_line_are_compared_within_rounding() {
        let line = ParsedRun {
            rates: std::array::from_fn(|_| ColumnContent::rate("415783")),
            ..ParsedRun::default()
        };
        let mut table = ParsedRun { is_table: true, ..line.clone() };
        table.rates = std::array::from_fn(|_| ColumnContent::rate("406m"));
        assert_eq!(line.differences(&table), Some(Vec::new()));
        table.rates[1] = ColumnContent::rate("407m");
        assert_eq!(line.differences(&table).map(|messages| messages.len()), Some(1));
        table.rates = std::array::from_fn(|_| ColumnContent::rate("1m"));
        assert_eq!(line.differences(&table), None, "another run");
        table.version = "2.00".to_owned();
        assert_eq!(line.differences(&table), None);
    }
}
