//! Check that an import stored every number of its lines: the numbers are read from the lines
//! without the importer, and looked for in the trials that became of them.

use serde_json::Value;
use treering_kit::import::known_text::KnownText;
use treering_kit::import::log::shortened;
use treering_kit::import::printed::{PrintedNumber, printed_numbers};
use treering_model::Trial;

use crate::{EmptyOutput, ImportReader, OutputOutline, PhaseRows, importers};

/// Factors from printed to stored units of figures that importers make more exact than they are
/// printed: rates, with decimal and binary multiples of bytes, and seconds.
const REFINED: [f64; 8] =
    [1.0, 1e3, 1e6, 1024.0, 1_048_576.0, 1.0 / 1024.0, 1e3 / 1_048_576.0, 1e6 / 1_048_576.0];
/// Further factors, of figures that are stored as printed: multiples of bytes, parts of seconds,
/// percent.
const CONVERTED: [f64; 10] =
    [1e9, 1e-3, 1e-6, 1e-9, 100.0, 0.01, 60e9, 512.0, 1.0 / 1_048_576.0, 1_073_741_824.0];
/// Relative error of a value that was converted.
const CONVERSION_ERROR: f64 = 1e-9;

/// Numbers of the trials of an output.
#[derive(Debug, Default)]
pub struct StoredNumbers {
    /// Absolute values, sorted by [`StoredNumbers::sort`].
    values: Vec<f64>,
}

impl StoredNumbers {
    /// Adds the numbers of a trial and of its separate rows, also those within texts.
    pub fn add(&mut self, trial: &Trial, rows: &PhaseRows) {
        self.add_json(&serde_json::to_value(trial).unwrap_or_default());
        self.values.extend(rows.metrics().map(|metric| metric.value.abs()));
        for phase in rows.phases() {
            self.values.extend([phase.files, phase.bytes].map(|amount| amount as f64));
        }
        // A task has what was done and how long it took, which is its rate.
        for task in trial.tasks.iter().filter(|task| task.wall_ns > 0) {
            let amounts = [task.files, task.bytes, task.listed_bytes];
            self.values.extend(amounts.map(|amount| amount as f64 / task.seconds()));
        }
    }

    fn add_json(&mut self, value: &Value) {
        match value {
            Value::Number(number) => self.values.extend(number.as_f64().map(f64::abs)),
            Value::String(text) => {
                self.values.extend(printed_numbers(text).into_iter().map(|number| number.value));
            }
            Value::Array(values) => values.iter().for_each(|value| self.add_json(value)),
            Value::Object(members) => members.values().for_each(|value| self.add_json(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn sort(&mut self) {
        self.values.sort_unstable_by(f64::total_cmp);
    }

    /// True if a stored value, in any unit, is the printed number up to its last digit.
    fn has(&self, number: &PrintedNumber) -> bool {
        // Tools also cut digits instead of rounding.
        REFINED
            .iter()
            .any(|factor| self.has_near(number.value * factor, 2.0 * number.rounding * factor))
            || CONVERTED.iter().any(|factor| self.has_near(number.value * factor, 0.0))
    }

    fn has_near(&self, value: f64, rounding: f64) -> bool {
        let error = rounding + CONVERSION_ERROR * value;
        let next = self.values.partition_point(|stored| *stored < value - error);
        self.values.get(next).is_some_and(|stored| *stored <= value + error)
    }
}

/// Number on a line of an output that is neither stored nor left out on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostNumber {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number as printed.
    pub number: String,
    /// Shortened line.
    pub text: String,
}

impl ImportReader<'_> {
    /// Numbers on the lines of an output, from the first to the last counted from 1, that its
    /// trials do not have. Zeros are not looked for: tools print them for what did not happen.
    pub fn lost_numbers(
        &mut self,
        output: &OutputOutline,
        stored: &mut StoredNumbers,
    ) -> Vec<LostNumber> {
        let of_others = self.lines_of_others(output);
        self.decorate_as(output);
        let mut lost = self.lost(output.tool, output.lines, stored);
        lost.retain(|number| !of_others.contains(&number.line));
        lost
    }

    /// Numbers on the lines of an output that became no trial.
    pub fn numbers_of_empty(&mut self, empty: &EmptyOutput) -> Vec<LostNumber> {
        self.lost(empty.tool, empty.lines, &mut StoredNumbers::default())
    }

    fn lost(
        &self,
        tool: &str,
        (first, last): (usize, usize),
        stored: &mut StoredNumbers,
    ) -> Vec<LostNumber> {
        stored.sort();
        let importer = importers().iter().find(|importer| importer.tool() == tool);
        let known: &[KnownText] = importer.map_or(&[], |importer| importer.known_text());
        let mut lost = Vec::new();
        for line in first..=last {
            let text = self.log().line(line - 1);
            for number in printed_numbers(text) {
                let is_known = known.iter().any(|known| known.covers(text, number.start));
                if number.value != 0.0 && !is_known && !stored.has(&number) {
                    let number = text[number.start..number.end].to_owned();
                    lost.push(LostNumber { line, number, text: shortened(text) });
                }
            }
        }
        lost
    }
}
