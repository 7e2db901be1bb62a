//! Tables of numbers: a value in each row, with its time, version, metric, unit and direction. The
//! rows of a time, a version, a variant and a round are a trial.
//!
//! `columns` finds the meaning of the fields, `records` splits lines into fields, `row` reads the
//! values of a record.

mod columns;
mod records;
mod row;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use treering_kit::import::known_text::KnownText;

use treering_kit::import::log::{Log, shortened};
use treering_kit::import::trial::{ForeignTrial, ImportedTrial};
use treering_kit::import::{Importer, ParsedOutputs, Remark};
use treering_model::{
    BetterDirection, COMMIT_FACT, LINK_FACT, Metric, ROUND_FACT, VARIANT_FACT, VERSION_FACT,
};

use columns::Columns;
use records::{Record, RowFault, has_fields, record};
use row::{Row, RowKey};

/// Name of the tool.
const TOOL: &str = "csv";
/// Largest number of rows, which are in memory until the last is read.
const ROWS_MOST: usize = 500_000;
/// Largest number of remarks about rows; more are counted.
const REMARKS_MOST: usize = 20;

/// Importer of tables of numbers.
pub(super) struct TableImporter;

impl Importer for TableImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &[]
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        columns::separator(log.line(at)).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut table = TableReader::default();
        let (columns, separator) = match columns::find(log.line(at)) {
            Ok((columns, separator)) => (Some(columns), separator),
            Err(why) => {
                table.remarks.push(Remark { line: at + 1, what: why.text });
                (None, why.separator)
            }
        };
        let mut end = at + 1;
        while end < log.len() && !is_over(log, end, separator) {
            if log.line(end).trim().is_empty() {
                end += 1;
                continue;
            }
            let (record, lines) = record(log, end, separator);
            if let Some(columns) = &columns {
                table.take(columns, &record, end + 1);
            }
            end += lines;
            log.forget_before(end);
        }
        if let Some(columns) = &columns {
            let unread = columns.unread();
            if !unread.is_empty() {
                let what = format!("columns that are not read: {}", unread.join(", "));
                table.remarks.push(Remark { line: at + 1, what });
            }
        }
        let (outputs, remarks) = table.finish(at + 1);
        ParsedOutputs { end, outputs, remarks }
    }
}

/// True if no row of the table is at this line.
fn is_over(log: &Log<'_>, at: usize, separator: u8) -> bool {
    let line = log.line(at);
    if line.trim().is_empty() {
        return !has_fields(log.line(at + 1), separator);
    }
    !has_fields(line, separator) || log.importers().iter().any(|importer| importer.begins(log, at))
}

/// Trials of a table, and what is said of its rows.
#[derive(Default)]
struct TableReader {
    /// Number of rows with the same metric and, apart from rounds, the same key.
    counts: HashMap<(RowKey, String), u32>,
    /// Number of each trial.
    places: HashMap<RowKey, usize>,
    trials: Vec<(RowKey, Vec<Metric>)>,
    rows: usize,
    remarks: Vec<Remark>,
    left_out: usize,
    /// Units that are not known, and the first line of each.
    units: BTreeMap<String, usize>,
    /// Better direction of each metric, and the line that says it first.
    directions: HashMap<String, (BetterDirection, usize)>,
}

impl TableReader {
    fn take(&mut self, columns: &Columns, record: &Record, line: usize) {
        self.rows += 1;
        if self.rows > ROWS_MOST {
            return;
        }
        let read = record.fields.as_ref().map_err(Clone::clone).and_then(|fields| {
            let row = row::read(columns, fields)?;
            self.add(row, line)
        });
        if let Err(what) = read {
            if self.remarks.len() < REMARKS_MOST {
                self.remarks.push(Remark { line, what: format!("{what}; row left out") });
            } else {
                self.left_out += 1;
            }
        }
    }

    /// Adds the value of a row to its trial. Without the number of a round, a value that the trial
    /// has already is that of the next round.
    fn add(&mut self, row: Row, line: usize) -> Result<(), RowFault> {
        let Row { mut key, has_round, metric, unknown_unit } = row;
        let (better, first) =
            *self.directions.entry(metric.name.clone()).or_insert((metric.better, line));
        if better != metric.better {
            let name = shortened(&metric.name);
            let why = format!("line {first} gives {name} the other better direction");
            return Err(RowFault::whole(why));
        }
        // A link may come later, and is no part of what was measured.
        let measured = RowKey { link: String::new(), ..key.clone() };
        let count = self.counts.entry((measured, metric.name.clone())).or_default();
        if *count > 0 && has_round {
            let name = shortened(&metric.name);
            let why = format!("a row above has the same round and metric {name}");
            return Err(RowFault::whole(why));
        }
        key.round += *count;
        *count += 1;
        let place = *self.places.entry(key.clone()).or_insert_with(|| {
            self.trials.push((key, Vec::new()));
            self.trials.len() - 1
        });
        self.trials[place].1.push(metric);
        if let Some(unit) = unknown_unit {
            self.units.entry(unit).or_insert(line);
        }
        Ok(())
    }

    fn finish(mut self, line: usize) -> (Vec<ImportedTrial>, Vec<Remark>) {
        for (unit, line) in self.units {
            let unit = shortened(&unit);
            let what = format!("the unit {unit} is not known: its values are plain numbers");
            self.remarks.push(Remark { line, what });
        }
        if self.left_out > 0 {
            let what = format!("{} further rows are left out", self.left_out);
            self.remarks.push(Remark { line, what });
        }
        if self.rows > ROWS_MOST {
            let what = format!(
                "only the first {ROWS_MOST} of {} rows are read: split the table",
                self.rows
            );
            self.remarks.push(Remark { line, what });
        }
        let rounds: BTreeSet<u32> = self.trials.iter().map(|(key, _)| key.round).collect();
        let has_rounds = rounds.len() > 1;
        let trials = self.trials.into_iter();
        let outputs = trials.map(|(key, metrics)| {
            ImportedTrial::Foreign(Box::new(trial(key, metrics, has_rounds)))
        });
        (outputs.collect(), self.remarks)
    }
}

fn trial(key: RowKey, metrics: Vec<Metric>, has_rounds: bool) -> ForeignTrial {
    let label = [&key.label, &key.version, &key.commit, &key.variant];
    let mut trial = ForeignTrial {
        workload: TOOL,
        name: label.into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_default(),
        started_unix_ms: Some(key.unix_ms),
        is_round: true,
        stands_alone: true,
        metrics,
        ..ForeignTrial::default()
    };
    trial.record_tool(None);
    if has_rounds {
        trial.fact(ROUND_FACT, u64::from(key.round) + 1);
    }
    for (name, value) in [
        (VARIANT_FACT, key.variant),
        (VERSION_FACT, key.version),
        (COMMIT_FACT, key.commit),
        (LINK_FACT, key.link),
    ] {
        if !value.is_empty() {
            trial.fact(name, value);
        }
    }
    trial
}
