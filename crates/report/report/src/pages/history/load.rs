//! Page about a load search: the answer in words, the probes, and limitations of the answer.

use std::collections::BTreeMap;

use serde::Serialize;
use treering_model::workloads::load::{IDLE_RATE, LatencyBound, Probe};
use treering_model::{BetterDirection, TrialId, Unit};
use treering_stats::LoadAnswer;

use crate::charts::{Chart, Curve, CurvePoint, Curves};
use crate::table::RowField;
use crate::{Block, Cell, Column, Data, Number, PageOrigin, Report, Table};

/// Load search to show.
#[derive(Clone, Copy)]
pub struct LoadView<'a> {
    /// Answer of the search.
    pub answer: LoadAnswer,
    /// Probes in time order.
    pub probes: &'a [Probe],
    /// Probe with a very low load.
    pub idle: Option<&'a Probe>,
    /// Latency bounds, all of which must be met.
    pub bounds: &'a [LatencyBound],
    /// Trial that records the answer.
    pub recorded: Option<TrialId>,
}

/// Multiple of the answer up to which a late generator counts as a limitation.
const NEAR: f64 = 1.5;

/// Ratio of the ends of an interval from which the answer is rough.
const WIDE: f64 = 1.5;
/// Remark on a rough answer.
const WIDE_WORDS: &str = " That is rough; more --minutes narrow it.";

/// Formats a progress line about a probe.
pub fn probe_line(probe: &Probe, number: usize, bounds: &[LatencyBound]) -> String {
    let latencies: Vec<String> = bounds
        .iter()
        .map(|bound| format!("{} {}", bound.name, time(probe.latency_ns(bound))))
        .collect();
    let verdict = if probe.is_kept { "kept" } else { "not kept" };
    let rate = whole(probe.operations_per_second as f64);
    format!("probe {number}: {rate}/s: {}: {verdict}", latencies.join(", "))
}

/// Page about a search. `names` holds the short names of the trials in the store, `origin` the foot
/// of the page.
pub fn page(
    view: &LoadView<'_>,
    names: &BTreeMap<TrialId, String>,
    origin: Option<PageOrigin>,
) -> Report {
    let mut page = Report::new("The highest rate of requests");
    page.paragraph(answer(view));
    for limit in limits(view) {
        page.paragraph(limit);
    }
    if view.probes.len() > 1 {
        page.chart(Chart::Curves(picture(view)));
    }
    page.table(probes(view, names));
    if let Some(trial) = view.recorded.filter(|_| !names.is_empty()) {
        page.command("The answer as a trial", &format!("treering show {}", trial.text()));
    }
    page.blocks.extend(origin.map(Block::Origin));
    page
}

/// Chart of the bounded latencies over the probed rates, with their limits.
fn picture(view: &LoadView<'_>) -> Curves {
    let mut probes: Vec<&Probe> = view.probes.iter().collect();
    probes.sort_by_key(|probe| probe.operations_per_second);
    let curve = |bound: &LatencyBound| {
        let point = |probe: &&Probe| {
            let mean = probe.latency_ns(bound) as f64;
            (mean > 0.0).then_some(CurvePoint { mean, interval: None })
        };
        Curve { name: bound.name.to_owned(), points: probes.iter().map(point).collect() }
    };
    Curves {
        metric: "Latency from when a request was due".to_owned(),
        unit: Unit::Nanoseconds,
        better: BetterDirection::Lower,
        key: "requests a second".to_owned(),
        values: probes.iter().map(|probe| whole(probe.operations_per_second as f64)).collect(),
        curves: view.bounds.iter().map(curve).collect(),
        limits: view.bounds.iter().map(|bound| bound.ns as f64).collect(),
    }
}

/// Formats the answer in one or two sentences.
fn answer(view: &LoadView<'_>) -> String {
    let kept: Vec<String> = view
        .bounds
        .iter()
        .map(|bound| format!("{} within {}", bound.name, time(bound.ns)))
        .collect();
    let kept = kept.join(" and ");
    let first = view.probes.first();
    match view.answer {
        LoadAnswer::At { rate, interval } => format!(
            "{} requests a second keep {kept} (95 % interval: {} to {}, by {} probes).{}",
            whole(rate),
            whole(interval.low),
            whole(interval.high),
            view.probes.len(),
            if interval.high > interval.low * WIDE { WIDE_WORDS } else { "" }
        ),
        LoadAnswer::BelowLowest => {
            let probe = view.idle.or(first);
            let latency = probe.map_or(String::new(), |probe| {
                let load = if view.idle.is_some() { "with hardly any load" } else { "even then" };
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
            let highest = view.probes.iter().map(|probe| probe.operations_per_second).max();
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

/// Limitations of the answer that are not caused by the filesystem.
fn limits(view: &LoadView<'_>) -> Vec<String> {
    let highest = match view.answer {
        LoadAnswer::At { rate, .. } => rate * NEAR,
        _ => f64::INFINITY,
    };
    let late = view
        .probes
        .iter()
        .filter(|probe| probe.is_generator_late && probe.operations_per_second as f64 <= highest)
        .max_by_key(|probe| probe.generator_lag_ns);
    let at = view.bounds.last().map_or("p99", |bound| bound.name);
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

fn probes(view: &LoadView<'_>, names: &BTreeMap<TrialId, String>) -> Table {
    let caption = "Probes by their rate. Latency counts from when a request was due. Unfinished \
                   requests count as slower than all others. Lower latencies are better. A \
                   percentile above which no request is left is the slowest one.";
    let mut all: Vec<&Probe> = view.probes.iter().chain(view.idle).collect();
    all.sort_by_key(|probe| probe.operations_per_second);
    let rows = all.into_iter().map(|probe| row(probe, names.get(&probe.trial)));
    Table::from_rows("load_probes", caption, rows)
}

fn row(probe: &Probe, name: Option<&String>) -> Vec<RowField> {
    let latency = |name, ns: u64| RowField::text(name, time(ns));
    vec![
        RowField::text("requests a second", whole(probe.operations_per_second as f64)),
        RowField::count("due", probe.due),
        latency("p50", probe.p50_ns),
        latency("p95", probe.p95_ns),
        latency("p99", probe.p99_ns),
        latency("p99.9", probe.p999_ns),
        latency("slowest", probe.max_ns),
        RowField::count("unfinished", probe.unfinished),
        RowField::text("generator late by", time(probe.generator_lag_ns)),
        RowField::text("kept", if probe.is_kept { "yes" } else { "no" }),
        RowField::new(Column::text("trial"), name.map_or(Cell::Missing, Cell::text)),
    ]
}

/// Formats a time with its unit.
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

/// Data of a search.
#[derive(Serialize)]
pub struct LoadData<'f> {
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
    /// Trial that records the answer.
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
    /// Creates the data of a search.
    pub fn new(view: &LoadView<'f>) -> Self {
        let (answer, rates) = match view.answer {
            LoadAnswer::At { rate, interval } => {
                ("found", Some([rate, interval.low, interval.high]))
            }
            LoadAnswer::BelowLowest => ("below_lowest", None),
            LoadAnswer::AboveHighest => ("above_highest", None),
            LoadAnswer::Open { .. } => ("open", None),
        };
        let bound = |bound: &LatencyBound| KeptLatency { percentile: bound.name, ns: bound.ns };
        Self {
            answer,
            operations_per_second: rates.map(|rates| rates[0]),
            low_operations_per_second: rates.map(|rates| rates[1]),
            high_operations_per_second: rates.map(|rates| rates[2]),
            kept: view.bounds.iter().map(bound).collect(),
            is_limited_by_generator: !limits(view).is_empty(),
            trial: view.recorded.map(TrialId::text),
            probes: view.probes,
            idle: view.idle,
        }
    }
}

impl Data for LoadData<'_> {
    const FORMAT: &'static str = "treering load";
    const VERSION: u32 = 1;
}
