//! Comparison in the style of the kernel test robot's mails: means with standard deviations in
//! percent, and the change, followed by the verdict, since a change alone is no evidence.

use std::io;

use treering_analysis::compare::{MetricComparison, Outcome};

use super::warnings;
use super::words::sentences;
use crate::escape::plain;

/// Writes a table for each contender.
pub(super) fn write(outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
    for sentence in sentences(outcome) {
        writeln!(out, "{}", plain(&sentence))?;
    }
    for warning in warnings(outcome) {
        writeln!(out, "caution: {} ({})", plain(&warning.message), warning.code)?;
    }
    for (baseline, variant) in outcome.contenders() {
        let (base, new) = (plain(baseline), plain(&variant.name));
        writeln!(out, "\ncommit:\n  {base}\n  {new}\n")?;
        writeln!(out, "{:>16} {:>27} ", cut(&base, 16), cut(&new, 27))?;
        writeln!(out, "---------------- --------------------------- ")?;
        writeln!(out, "         %stddev     %change         %stddev")?;
        writeln!(out, "             \\          |                \\")?;
        // Operations within one run are left out, since readers would take them for runs.
        let of_runs = outcome.comparisons.iter().filter(|comparison| !comparison.within_one_run);
        for this_comparison in
            of_runs.filter(|this_comparison| this_comparison.contender == variant.name)
        {
            row(this_comparison, out)?;
        }
    }
    Ok(())
}

fn row(comparison: &MetricComparison, out: &mut dyn io::Write) -> io::Result<()> {
    let (base, new) = (value(&comparison.baseline_values), value(&comparison.contender_values));
    let (left, right) = (mean(&comparison.baseline_values), mean(&comparison.contender_values));
    let change = if left == 0.0 {
        "n/a".to_owned()
    } else {
        format!("{:+.1}%", (right / left - 1.0) * 100.0)
    };
    let metric = comparison.metric().replace('/', ".");
    let job =
        if comparison.job.is_empty() { String::new() } else { format!("[{}].", comparison.job) };
    let name = plain(&format!("{}.{job}{metric}", comparison.workload));
    writeln!(out, "{base} {change:>9} {new}  {name}  ({})", comparison.verdict.name())
}

/// Formats mean and standard deviation in percent, in 16 columns: `    233.10 ±  2%`.
fn value(values: &[f64]) -> String {
    let mean = mean(values);
    let number = if mean.abs() >= 1e7 || (mean != 0.0 && mean.abs() < 0.01) {
        format!("{mean:.2e}")
    } else {
        format!("{mean:.2}")
    };
    let spread = match spread(values, mean) {
        Some(percent) => format!(" ±{percent:>3.0}%"),
        None => " ".repeat(6),
    };
    format!("{number:>10}{spread}")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Standard deviation in percent of the mean; `None` for a single value.
fn spread(values: &[f64], mean: f64) -> Option<f64> {
    if values.len() < 2 || mean == 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / mean.abs() * 100.0)
}

fn cut(text: &str, room: usize) -> &str {
    text.get(..room).unwrap_or(text)
}
