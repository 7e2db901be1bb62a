//! Comparison as CSV (RFC 4180): a row for each comparison, with the JSON's field names as columns.
//! `null` is empty; lists of values are left out.

use std::io;

use treering_analysis::compare::Outcome;

use super::json::ComparisonRow;
use crate::formats::csv::{CsvColumn, text_field, write_header, write_row};

fn columns<'o>() -> [CsvColumn<ComparisonRow<'o>>; 34] {
    [
        ("workload", |row| text_field(row.workload)),
        ("mode", |row| row.mode.name().to_owned()),
        ("job", |row| text_field(row.job)),
        ("metric", |row| text_field(&row.metric)),
        ("unit", |row| row.unit.to_owned()),
        ("better", |row| row.better.word().to_owned()),
        ("baseline", |row| text_field(row.baseline)),
        ("contender", |row| text_field(row.contender)),
        ("paired", |row| row.paired.to_string()),
        ("pairs", |row| row.pairs.to_string()),
        ("baseline_runs", |row| row.baseline_runs.to_string()),
        ("contender_runs", |row| row.contender_runs.to_string()),
        ("baseline_median", |row| row.baseline_median.to_string()),
        ("contender_median", |row| row.contender_median.to_string()),
        ("ratio", |row| optional(row.ratio)),
        ("ratio_low", |row| optional(row.ratio_low)),
        ("ratio_high", |row| optional(row.ratio_high)),
        ("difference", |row| optional(row.difference)),
        ("difference_low", |row| optional(row.difference_low)),
        ("difference_high", |row| optional(row.difference_high)),
        ("p", |row| optional(row.p)),
        ("p_adjusted", |row| optional(row.p_adjusted)),
        ("primary", |row| row.primary.to_string()),
        ("threshold", |row| row.threshold.to_string()),
        ("verdict", |row| row.verdict.to_owned()),
        ("rounds_needed", |row| optional(row.rounds_needed)),
        ("within_one_run", |row| row.within_one_run.to_string()),
        ("observed", |row| row.observed.to_string()),
        ("title", |row| text_field(row.title)),
        ("same_as", |row| text_field(row.same_as.unwrap_or_default())),
        ("decided_level", |row| optional(row.decided_level)),
        ("decided_low", |row| optional(row.decided_low)),
        ("decided_high", |row| optional(row.decided_high)),
        ("rounds_needed_most", |row| optional(row.rounds_needed_most)),
    ]
}

/// Writes header and rows.
pub(super) fn write(outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = columns();
    write_header(&columns, out)?;
    for comparison in &outcome.comparisons {
        write_row(&columns, &ComparisonRow::new(comparison), out)?;
    }
    Ok(())
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
