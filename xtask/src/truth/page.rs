//! The tables of docs/evidence/truth.md, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::TruthOptions;
use super::tally::{VerdictTally, at_most};

/// Page with all tallies.
pub(super) fn text(
    options: &TruthOptions,
    same: &BTreeMap<String, VerdictTally>,
    slowed: &BTreeMap<u32, VerdictTally>,
) -> String {
    let mut text = String::new();
    if !same.is_empty() {
        with_itself(options, same, &mut text);
    }
    if !slowed.is_empty() {
        slowdowns(options, slowed, &mut text);
    }
    text
}

fn with_itself(options: &TruthOptions, same: &BTreeMap<String, VerdictTally>, to: &mut String) {
    let mut totals = VerdictTally::default();
    same.values().for_each(|tally| totals.add(tally));
    let mut rows: Vec<(&str, &VerdictTally)> =
        same.iter().map(|(filesystem, tally)| (filesystem.as_str(), tally)).collect();
    rows.push(("all", &totals));
    let header = header(&[
        "filesystem",
        "comparisons",
        "with a false alarm",
        "primary metrics",
        "better, worse or small",
        "same",
        "unclear",
        "intervals with 1",
        "half width",
        "p < .05, uncorrected",
    ]);
    let _memory_takes_it = write!(
        to,
        "{} comparisons of a filesystem with itself, {} rounds each, image of {}.\n\n{header}",
        totals.comparisons, options.rounds, options.size
    );
    for (name, tally) in rows {
        let _memory_takes_it = writeln!(
            to,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.1} % | {} |",
            tally.comparisons,
            tally.alarmed,
            tally.metrics,
            tally.count(&["better", "worse", "small"]),
            tally.count(&["same"]),
            tally.count(&["unclear"]),
            share(tally.true_intervals, tally.intervals),
            tally.median_half_width_percent(),
            tally.uncorrected
        );
    }
    let _memory_takes_it = writeln!(
        to,
        "\nA comparison with a false alarm: {} of {}, so with 95 % certainty in at most {:.1} % of \
         all. A primary metric: {} of {}, at most {:.1} %.",
        totals.alarmed,
        totals.comparisons,
        at_most(totals.alarmed, totals.comparisons) * 100.0,
        totals.count(&["better", "worse", "small"]),
        totals.metrics,
        at_most(totals.count(&["better", "worse", "small"]), totals.metrics) * 100.0
    );
}

fn slowdowns(options: &TruthOptions, slowed: &BTreeMap<u32, VerdictTally>, to: &mut String) {
    let header = header(&[
        "slowed by",
        "comparisons",
        "found",
        "primary metrics",
        "worse",
        "small",
        "unclear",
        "same",
        "better (wrong)",
        "estimate over truth",
        "intervals with the truth",
        "half width",
    ]);
    let _memory_takes_it = write!(
        to,
        "\nA filesystem against itself, every task of the contender slowed; {} rounds each, image \
         of {}.\n\n{header}",
        options.slowed_rounds, options.size
    );
    for (percent, tally) in slowed {
        let _memory_takes_it = writeln!(
            to,
            "| {percent} % | {} | {} | {} | {} | {} | {} | {} | {} | {:+.2} % | {} | {:.1} % |",
            tally.comparisons,
            tally.alarmed,
            tally.metrics,
            tally.count(&["worse"]),
            tally.count(&["small"]),
            tally.count(&["unclear"]),
            tally.count(&["same"]),
            tally.count(&["better"]),
            tally.median_error_percent(),
            share(tally.true_intervals, tally.intervals),
            tally.median_half_width_percent()
        );
    }
}

/// The first two lines of a table.
fn header(columns: &[&str]) -> String {
    format!("| {} |\n{}|\n", columns.join(" | "), "|---".repeat(columns.len()))
}

/// Count and percentage: `7 of 10 (70 %)`.
fn share(part: u32, total: u32) -> String {
    match total {
        0 => "–".to_owned(),
        total => format!("{part} of {total} ({:.0} %)", 100.0 * f64::from(part) / f64::from(total)),
    }
}
