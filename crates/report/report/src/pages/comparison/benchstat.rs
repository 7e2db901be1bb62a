//! Trials as Go benchmark lines, with which `benchstat -col /variant FILE` independently checks the
//! medians and the unpaired test. Each trial is a value; cautions are lines that begin with `#`,
//! which benchstat skips.

use std::collections::BTreeSet;
use std::io;

use treering_analysis::compare::{MetricComparison, Outcome};

use super::warnings;
use super::words::sentences;
use crate::escape::visible;

/// Writes the units, then the values of each variant.
pub(super) fn write(outcome: &Outcome, out: &mut dyn io::Write) -> io::Result<()> {
    for sentence in sentences(outcome) {
        writeln!(out, "# {}", visible(&sentence))?;
    }
    for warning in warnings(outcome) {
        writeln!(out, "# caution: {} ({})", visible(&warning.message), warning.code)?;
    }
    let units: BTreeSet<(&str, &str)> = outcome
        .comparisons
        .iter()
        .map(|comparison| (unit(comparison), comparison.better.word()))
        .collect();
    for (unit, better) in units {
        writeln!(out, "Unit {unit} better={better}")?;
    }
    // Operations within one run are left out, since benchstat would take them for runs.
    let of_runs = || outcome.comparisons.iter().filter(|comparison| !comparison.within_one_run);
    // The baseline has the same values against each contender, unless a round was dropped.
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (baseline, contender) in outcome.contenders() {
        if !told.insert(baseline) {
            continue;
        }
        for this_comparison in
            of_runs().filter(|this_comparison| this_comparison.contender == contender.name)
        {
            values(
                this_comparison,
                &this_comparison.baseline,
                &this_comparison.baseline_values,
                out,
            )?;
        }
    }
    for this_comparison in of_runs() {
        values(
            this_comparison,
            &this_comparison.contender,
            &this_comparison.contender_values,
            out,
        )?;
    }
    Ok(())
}

fn values(
    comparison: &MetricComparison,
    variant: &str,
    values: &[f64],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let job = if comparison.job.is_empty() {
        String::new()
    } else {
        format!("/job={}", word(&comparison.job))
    };
    let name = format!("{}{job}/{}", capitalised(&word(&comparison.workload)), metric(comparison));
    for value in values {
        writeln!(out, "Benchmark{name}/variant={} 1 {value} {}", word(variant), unit(comparison))?;
    }
    Ok(())
}

fn metric(comparison: &MetricComparison) -> String {
    comparison.metric().split('/').map(word).collect::<Vec<_>>().join("/")
}

/// Unit for benchstat, which requires a unit even for plain numbers.
fn unit(comparison: &MetricComparison) -> &'static str {
    match comparison.unit.symbol() {
        "" => "count",
        "%" => "percent",
        symbol => symbol,
    }
}

/// Replaces characters that benchstat treats as separators.
fn word(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "._-+=".contains(c) { c } else { '_' };
    text.chars().map(kept).collect()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
