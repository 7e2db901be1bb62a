//! Observer results of a comparison: a table for each part of the trial and, for one trial of each
//! variant, charts of the device requests on a common scale and of the layout of files.

use treering_analysis::compare::{MetricComparison, ObservedJob, ObservedVariant, Verdict};
use treering_analysis::{LAYOUT_MEASURES, LayoutMeasure, TrendSpan, layout_series, layouts};
use treering_model::{Scope, Trial, Unit};
use treering_trace::TraceDigest;

use super::tables::{better_heading, interval, part, probability, ratio, runs, verdict};
use crate::charts::MOST_SIDES;
use crate::pages::identity::metric_words;
use crate::pages::layouts::{map_after, placed_on_axis};
use crate::pages::trace::digests;
use crate::table::RowField;
use crate::{
    Block, Cell, Chart, Column, DeviceMapChart, LayoutTimeline, LayoutTimelineVariant, Table,
    TraceChart, TraceChartRun,
};

/// Maximum number of trace charts for all jobs of a page; each job has at least one.
const MOST_TRACES: usize = 8;
/// Maximum number of phases drawn for a job: those with most device requests.
const MOST_PHASES: usize = 4;
/// Maximum number of jobs whose layouts are drawn.
const MOST_SERIES_JOBS: usize = 6;

/// Maximum number of rows of a table of observer figures that is not collapsed.
const OPEN_ROWS: usize = 8;

/// Tables of a job's observer figures, by part of the trial. If each variant has a single run, they
/// show no inference.
pub(super) fn tables_of(seen: &[&MetricComparison], several_contenders: bool) -> Vec<Table> {
    let mut scopes: Vec<&Scope> = Vec::new();
    for comparison in seen {
        if !scopes.contains(&&comparison.scope) {
            scopes.push(&comparison.scope);
        }
    }
    let table = |(place, scope): (usize, &&Scope)| {
        let own: Vec<&MetricComparison> =
            seen.iter().filter(|comparison| comparison.scope == **scope).copied().collect();
        let about = if place == 0 { caption(seen) } else { String::new() };
        let name = part(scope);
        let caption = format!("Observed, {name}. {about}");
        let table = table_of(&own, caption.trim_end(), several_contenders);
        match own.len() {
            0..=OPEN_ROWS => table,
            rows => table.folded(format!("Observed, {name}: {rows} figures")),
        }
    };
    scopes.iter().enumerate().map(table).collect()
}

fn caption(seen: &[&MetricComparison]) -> String {
    let which = if seen.iter().any(|comparison| comparison.observed) {
        "In separate rounds, which enter no other figure:"
    } else {
        "In the measured rounds:"
    };
    let how = if seen.iter().all(|comparison| comparison.verdict == Verdict::SingleRun) {
        "One trial per variant: ratios show what happened once and prove nothing."
    } else {
        "n: pairs of rounds; q: Benjamini-Hochberg; interval: at the level at which q decides. \
         Exploratory: not a basis for decisions."
    };
    let zeros = if seen.iter().any(|comparison| comparison.difference.is_some()) {
        " Where a value is not above zero, a difference with its unit replaces the ratio."
    } else {
        ""
    };
    format!("{which} the requests to the devices, and where the files lie. {how}{zeros}")
}

/// Table of the counters that differ most, with the number of compared counters.
pub(super) fn counters_of(
    leading: &[&MetricComparison],
    compared: usize,
    several_contenders: bool,
) -> Table {
    let judged = if leading.iter().all(|one| one.verdict == Verdict::SingleRun) {
        "One trial per variant: ratios show what happened once and prove nothing."
    } else {
        "n: pairs of rounds; q: Benjamini-Hochberg over all counters; interval: at the level at \
         which q decides. They explain, and are not a basis for decisions."
    };
    let caption = format!(
        "Why: the counters of the kernel and of the devices that differ most, of {compared} that \
         were compared, phases together. {judged}"
    );
    table_of(leading, &caption, several_contenders)
}

fn table_of(own: &[&MetricComparison], caption: &str, several_contenders: bool) -> Table {
    let is_judged = own.iter().any(|comparison| comparison.verdict != Verdict::SingleRun);
    let keys = if several_contenders { 2 } else { 1 };
    let heading = better_heading(own.iter().copied());
    let row = |comparison: &&MetricComparison| {
        let name = metric_words(&comparison.name, comparison.unit);
        let median = |value| Cell::measured(value, comparison.unit);
        let mut fields = vec![RowField::long_text("measure", name)];
        if several_contenders {
            fields.push(RowField::long_text("contender", &comparison.contender));
        }
        if is_judged {
            fields.push(RowField::new(Column::text("verdict"), verdict(comparison)));
        }
        fields.push(RowField::mixed(heading, ratio(comparison)));
        if is_judged {
            fields.extend([
                RowField::new(Column::range("interval", Unit::Count), interval(comparison)),
                RowField::new(Column::count("q"), probability(comparison)),
                RowField::mixed("n", runs(comparison)),
            ]);
        }
        fields.extend([
            RowField::mixed("baseline", median(comparison.baseline_median)),
            RowField::mixed("contender", median(comparison.contender_median)),
        ]);
        fields
    };
    Table::from_rows("observed", caption, own.iter().map(row)).with_keys(keys)
}

/// Charts of a job; `jobs` is the number of jobs with charts on the page.
pub(super) fn charts_of(job: &ObservedJob, jobs: usize) -> Vec<Block> {
    let variants: Vec<(&ObservedVariant, &Trial)> = job
        .variants
        .iter()
        .filter_map(|variant| Some((variant, variant.seen.as_ref()?)))
        .take(MOST_SIDES)
        .collect();
    let mut charts = traces(&variants, jobs);
    if jobs <= MOST_SERIES_JOBS {
        charts.extend(timelines(&variants).map(Chart::Layout));
        charts.extend(variants.iter().filter_map(|(variant, trial)| last_map(variant, trial)));
    }
    if charts.is_empty() {
        return Vec::new();
    }
    let left_out = job.variants.len() - variants.len();
    let more = match left_out {
        0 => String::new(),
        _ => format!(" {left_out} more are not drawn."),
    };
    let text = format!("A trial of each variant, not the median of several.{more}");
    let heading = Chart::Remark { title: "Observed".to_owned(), text };
    std::iter::once(heading).chain(charts).map(Block::Chart).collect()
}

/// Trace charts of the phases with most device requests, in phase order.
fn traces(variants: &[(&ObservedVariant, &Trial)], jobs: usize) -> Vec<Chart> {
    let digests: Vec<(&str, Vec<(String, TraceDigest)>)> =
        variants.iter().map(|(variant, trial)| (variant.name.as_str(), digests(trial))).collect();
    let mut phases: Vec<(&str, u64)> = Vec::new();
    for (name, digest) in digests.iter().flat_map(|(_, phases)| phases) {
        let figures = &digest.figures;
        let requests = figures.reads.requests + figures.writes.requests;
        match phases.iter_mut().find(|(known, _)| known == name) {
            Some((_, most)) => *most = requests.max(*most),
            None => phases.push((name, requests)),
        }
    }
    let mut counts: Vec<u64> = phases.iter().map(|(_, requests)| *requests).collect();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    let most = (MOST_TRACES / jobs.max(1)).clamp(1, MOST_PHASES);
    let least = counts.get(most - 1).copied().unwrap_or(0);
    let chosen = phases.iter().filter(|(_, requests)| *requests >= least.max(1)).take(most);
    let chosen: Vec<&str> = chosen.map(|(name, _)| *name).collect();
    let chart = |phase: &str| {
        let run = |(name, phases): &(&str, Vec<(String, TraceDigest)>)| {
            let (_, digest) = phases.iter().find(|(known, _)| known == phase)?;
            Some(TraceChartRun { name: (*name).to_owned(), digest: digest.clone() })
        };
        // With more charts, each has a smaller share of the page's limit of detail.
        let sharing = (chosen.len() * jobs.max(1)).max(2);
        let runs = digests.iter().filter_map(run).collect();
        Chart::Trace(TraceChart { runs, of: format!("phase {phase}"), sharing, from_ns: 0 })
    };
    chosen.iter().map(|phase| chart(phase)).collect()
}

/// Charts of the layout measures over the run of each variant.
fn timelines<'t>(
    variants: &'t [(&ObservedVariant, &Trial)],
) -> impl Iterator<Item = LayoutTimeline> + use<'t> {
    let points: Vec<_> =
        variants.iter().map(|(variant, trial)| (variant.name.clone(), layouts(trial))).collect();
    let timeline = move |measure: &LayoutMeasure| {
        let (name, unit, scale) = placed_on_axis(measure);
        let variant = |(name, points): &(String, Vec<_>)| {
            let (span, series) = layout_series(points, measure);
            let points: Vec<(f64, f64)> =
                series.into_iter().map(|(n, value)| (n as f64, value * scale)).collect();
            let name = name.clone();
            (points.len() >= 2).then_some((span, LayoutTimelineVariant { name, points }))
        };
        let (spans, variants): (Vec<TrendSpan>, Vec<LayoutTimelineVariant>) =
            points.iter().filter_map(variant).unzip();
        let by = spans.first()?.counted().to_owned();
        Some(LayoutTimeline { measure: name, unit, by, variants, trend: String::new() })
    };
    LAYOUT_MEASURES.iter().filter_map(timeline)
}

/// Map of a variant's device at the end of the trial.
fn last_map(variant: &ObservedVariant, trial: &Trial) -> Option<Chart> {
    let (name, map) = trial.artifacts.iter().rev().find_map(|made| map_after(trial, made))?;
    let title = format!("{}: disk layout after {name}", variant.name);
    Some(Chart::Map(DeviceMapChart { title, map, is_small: false }))
}
