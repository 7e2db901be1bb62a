//! Comparison as CSV (RFC 4180): a row for each comparison, with the JSON's field names as columns.
//! `null` is empty; lists of values are left out.

use std::io;

use treering_analysis::compare::Outcome;

use super::json::ComparisonRow;
use crate::formats::csv::{text_field, write_record};

const HEADER: [&str; 34] = [
    "workload",
    "mode",
    "job",
    "metric",
    "unit",
    "better",
    "baseline",
    "contender",
    "paired",
    "pairs",
    "baseline_runs",
    "contender_runs",
    "baseline_median",
    "contender_median",
    "ratio",
    "ratio_low",
    "ratio_high",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "p_adjusted",
    "primary",
    "threshold",
    "verdict",
    "rounds_needed",
    "within_one_run",
    "observed",
    "title",
    "same_as",
    "decided_level",
    "decided_low",
    "decided_high",
    "rounds_needed_most",
];

/// Writes header and rows.
pub(super) fn write(outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
    write_record(&HEADER.map(str::to_owned), out)?;
    for comparison in &outcome.comparisons {
        write_record(&fields(&ComparisonRow::new(comparison)), out)?;
    }
    Ok(())
}

fn fields(row: &ComparisonRow<'_>) -> [String; HEADER.len()] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let count = |rounds: Option<u32>| rounds.map_or_else(String::new, |rounds| rounds.to_string());
    let better = row.better.word();
    [
        text_field(row.workload),
        row.mode.name().to_owned(),
        text_field(row.job),
        text_field(&row.metric),
        row.unit.to_owned(),
        better.to_owned(),
        text_field(row.baseline),
        text_field(row.contender),
        row.paired.to_string(),
        row.pairs.to_string(),
        row.baseline_runs.to_string(),
        row.contender_runs.to_string(),
        row.baseline_median.to_string(),
        row.contender_median.to_string(),
        number(row.ratio),
        number(row.ratio_low),
        number(row.ratio_high),
        number(row.difference),
        number(row.difference_low),
        number(row.difference_high),
        number(row.p),
        number(row.p_adjusted),
        row.primary.to_string(),
        row.threshold.to_string(),
        row.verdict.to_owned(),
        count(row.rounds_needed),
        row.within_one_run.to_string(),
        row.observed.to_string(),
        text_field(row.title),
        text_field(row.same_as.unwrap_or_default()),
        number(row.decided_level),
        number(row.decided_low),
        number(row.decided_high),
        count(row.rounds_needed_most),
    ]
}
