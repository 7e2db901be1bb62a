//! Page about a load search: the answer in words, the probes, and the limits of the answer.

use std::collections::HashMap;

use serde::Serialize;
use treering_model::{TrialId, Unit};
use treering_report::{Cell, Column, Data, Number, Report, Table};
use treering_stats::LoadAnswer;

use super::probe::Probe;
use super::{Found, IDLE_RATE, output};
use crate::arguments::{Bound, OutputArgs};
use crate::failure::Failure;

/// Factor above the answer up to which a probe's rate affects the limits of the answer.
const NEAR: f64 = 1.5;

/// Progress line about a probe.
pub(super) fn progress(probe: &Probe, number: usize, bounds: &[Bound]) -> String {
    let latencies: Vec<String> = bounds
        .iter()
        .map(|bound| format!("{} {}", bound.name, time(probe.latency_ns(bound))))
        .collect();
    let verdict = if probe.is_kept { "kept" } else { "not kept" };
    let rate = whole(probe.operations_per_second as f64);
    format!("probe {number}: {rate}/s: {}: {verdict}", latencies.join(", "))
}

/// Writes the page. `names` are the short names of the trials in the store.
pub(super) fn write(
    found: &Found,
    bounds: &[Bound],
    (kept, names): (Option<TrialId>, &HashMap<TrialId, String>),
    args: &OutputArgs,
) -> Result<(), Failure> {
    output::write_or_data(&page(found, bounds, names), &LoadData::of(found, bounds, kept), args)
}

fn page(found: &Found, bounds: &[Bound], names: &HashMap<TrialId, String>) -> Report {
    let mut page = Report::new("The highest rate of requests");
    page.paragraph(answer(found, bounds));
    for limit in limits(found, bounds) {
        page.paragraph(limit);
    }
    page.table(probes(found, names));
    if matches!(found.answer, LoadAnswer::At { .. }) && !names.is_empty() {
        page.command("the answer as a trial", "treering show last");
    }
    page
}

/// The answer in a sentence or two.
fn answer(found: &Found, bounds: &[Bound]) -> String {
    let kept: Vec<String> =
        bounds.iter().map(|bound| format!("{} within {}", bound.name, time(bound.ns))).collect();
    let kept = kept.join(" and ");
    let first = found.probes.first();
    match found.answer {
        LoadAnswer::At { rate, interval } => format!(
            "{} requests a second keep {kept} (95 % interval: {} to {}, by {} probes).",
            whole(rate),
            whole(interval.low),
            whole(interval.high),
            found.probes.len()
        ),
        LoadAnswer::BelowLowest => {
            let probe = found.idle.as_ref().or(first);
            let latency = probe.map_or(String::new(), |probe| {
                let load = if found.idle.is_some() { "with hardly any load" } else { "even then" };
                format!(
                    " {}, at {} requests a second, p50 is {}, p99 {} and the slowest {}.",
                    capitalised(load),
                    whole(probe.operations_per_second as f64),
                    time(probe.p50_ns),
                    time(probe.p99_ns),
                    time(probe.max_ns)
                )
            });
            let lowest = first.map_or(IDLE_RATE, |probe| probe.operations_per_second);
            format!(
                "Not even the lowest rate, {} requests a second, keeps {kept}.{latency}",
                whole(lowest as f64)
            )
        }
        LoadAnswer::AboveHighest => {
            let highest = found.probes.iter().map(|probe| probe.operations_per_second).max();
            format!(
                "The highest rate that was probed, {} requests a second, still keeps {kept}: the \
                 limit is above it. A higher --max-rate would search there.",
                whole(highest.unwrap_or(0) as f64)
            )
        }
        LoadAnswer::Open { passed, failed } => {
            let end = |rate: Option<f64>, words: &str| {
                rate.map(|rate| format!(" {} requests a second {words}.", whole(rate)))
            };
            let (passed, failed) = (end(passed, "kept it"), end(failed, "did not"));
            format!(
                "The time was over before the rate that keeps {kept} was found.{}{} More \
                 --minutes would find it.",
                passed.unwrap_or_default(),
                failed.unwrap_or_default()
            )
        }
    }
}

/// Limits of the answer that are not due to the filesystem.
fn limits(found: &Found, bounds: &[Bound]) -> Vec<String> {
    let highest = match found.answer {
        LoadAnswer::At { rate, .. } => rate * NEAR,
        _ => f64::INFINITY,
    };
    let late = found
        .probes
        .iter()
        .filter(|probe| probe.is_generator_late && probe.operations_per_second as f64 <= highest)
        .max_by_key(|probe| probe.generator_lag_ns);
    let at = bounds.last().map_or("p99", |bound| bound.name);
    late.map(|probe| {
        format!(
            "The generator was late by {} ({at}) at {} requests a second, of requests that an idle \
             thread was waiting for: the answer is limited by the machine that asks, not by the \
             filesystem alone.",
            time(probe.generator_lag_ns),
            whole(probe.operations_per_second as f64)
        )
    })
    .into_iter()
    .collect()
}

fn probes(found: &Found, names: &HashMap<TrialId, String>) -> Table {
    let columns = vec![
        Column::text("requests a second"),
        Column::count("due"),
        Column::text("p50"),
        Column::text("p95"),
        Column::text("p99"),
        Column::text("p99.9"),
        Column::text("slowest"),
        Column::count("unfinished"),
        Column::text("generator late by"),
        Column::text("kept"),
        Column::text("trial"),
    ];
    let caption = "Probes by their rate. Latency counts from when a request was due. Unfinished \
                   requests count as slower than all others. Lower latencies are better.";
    let mut table = Table::new("load_probes", caption, columns);
    let mut all: Vec<&Probe> = found.probes.iter().chain(&found.idle).collect();
    all.sort_by_key(|probe| probe.operations_per_second);
    table.rows = all.into_iter().map(|probe| row(probe, names.get(&probe.trial))).collect();
    table
}

fn row(probe: &Probe, name: Option<&String>) -> Vec<Cell> {
    let latency = |ns: u64| Cell::text(time(ns));
    vec![
        Cell::text(whole(probe.operations_per_second as f64)),
        Cell::whole(probe.due),
        latency(probe.p50_ns),
        latency(probe.p95_ns),
        latency(probe.p99_ns),
        latency(probe.p999_ns),
        latency(probe.max_ns),
        Cell::whole(probe.unfinished),
        latency(probe.generator_lag_ns),
        Cell::text(if probe.is_kept { "yes" } else { "no" }),
        name.map_or(Cell::Missing, Cell::text),
    ]
}

/// A time with its unit.
fn time(ns: u64) -> String {
    Number::measured(ns as f64, Unit::Nanoseconds).text()
}

fn whole(rate: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates")]
    Number::whole(rate.round() as u64).text()
}

fn capitalised(words: &str) -> String {
    let mut all = words.chars();
    all.next().map_or(String::new(), |first| first.to_uppercase().chain(all).collect())
}

/// A search as data.
#[derive(Serialize)]
struct LoadData<'f> {
    /// `found`, `below_lowest`, `above_highest` or `open`.
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_operations_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_operations_per_second: Option<f64>,
    kept: Vec<KeptLatency>,
    is_limited_by_generator: bool,
    /// The trial of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<String>,
    probes: &'f [Probe],
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<&'f Probe>,
}

#[derive(Serialize)]
struct KeptLatency {
    percentile: &'static str,
    ns: u64,
}

impl<'f> LoadData<'f> {
    fn of(found: &'f Found, bounds: &[Bound], kept: Option<TrialId>) -> Self {
        let (answer, rates) = match found.answer {
            LoadAnswer::At { rate, interval } => {
                ("found", Some([rate, interval.low, interval.high]))
            }
            LoadAnswer::BelowLowest => ("below_lowest", None),
            LoadAnswer::AboveHighest => ("above_highest", None),
            LoadAnswer::Open { .. } => ("open", None),
        };
        let bound = |bound: &Bound| KeptLatency { percentile: bound.name, ns: bound.ns };
        Self {
            answer,
            operations_per_second: rates.map(|rates| rates[0]),
            low_operations_per_second: rates.map(|rates| rates[1]),
            high_operations_per_second: rates.map(|rates| rates[2]),
            kept: bounds.iter().map(bound).collect(),
            is_limited_by_generator: !limits(found, bounds).is_empty(),
            trial: kept.map(TrialId::text),
            probes: &found.probes,
            idle: found.idle.as_ref(),
        }
    }
}

impl Data for LoadData<'_> {
    const FORMAT: &'static str = "treering load";
    const VERSION: u32 = 1;
}
