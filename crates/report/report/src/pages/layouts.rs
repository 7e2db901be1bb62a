//! Layouts on a trial's page: a table row for each, trends and charts, and the result of a
//! deliberate aging run.

use treering_analysis::{
    LAYOUT_MEASURES, LayoutMeasure, LayoutPoint, LayoutTrend, layout_series, layout_trend, layouts,
};
use treering_model::metrics::age::GAIN_FACT;
use treering_model::metrics::layout::SCORE_PERCENT;
use treering_model::{
    Artifact, FileLayout, LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION, LayoutHeat, LayoutMap, Metric,
    Scope, Trial, Unit,
};

use crate::table::RowField;
use crate::{
    Block, Cell, Chart, Column, DeviceMapChart, HeatLayer, LayoutTimeline, LayoutTimelineVariant,
    Number, NumberStyle, Report, Table,
};

const MIB: f64 = 1_048_576.0;

/// Maximum number of maps on a page, which are those of the last phases.
const MOST_MAPS: usize = 3;

/// Measures in a line about a layout.
const MEASURES_IN_SHORT: [&str; 4] =
    ["adjacent siblings", "traversal score", "modelled read", "free extents"];

/// Facts of a deliberate aging run in page order, each with its title.
const AGING_FACTS: [(&str, &str); 5] = [
    ("age.stopped_by", "stopped by"),
    ("age.operations", "operations"),
    ("age.written_bytes", "bytes written"),
    ("age.live_bytes", "bytes that stand"),
    ("age.fingerprint", "list of operations"),
];

/// Reports whether a trial aged a filesystem deliberately.
pub(super) fn is_aging(trial: &Trial) -> bool {
    trial.fact("age.operations").is_some()
}

/// Adds the result of an aging run; nothing for other trials.
pub(super) fn add_aging(page: &mut Report, trial: &Trial) {
    if !is_aging(trial) {
        return;
    }
    page.heading("Aging");
    let pair = |(name, title): &(&str, &str)| {
        Some(((*title).to_owned(), fact_cell(name, trial.fact(name)?)))
    };
    let after = |metric: &Metric| match &metric.scope {
        Scope::Phase(phase) if metric.name == SCORE_PERCENT.name => {
            let title = format!("layout score after {phase}");
            Some((title, Cell::measured(metric.value, metric.unit)))
        }
        _ => None,
    };
    let scores = trial.metrics.iter().filter_map(after);
    let gains = trial.facts.iter().filter_map(|fact| {
        let maintenance = fact.name.strip_prefix(GAIN_FACT)?;
        Some((format!("gain of {maintenance}"), Cell::text(&fact.value)))
    });
    page.key_values(AGING_FACTS.iter().filter_map(pair).chain(scores).chain(gains));
}

fn fact_cell(name: &str, value: &str) -> Cell {
    match value.parse::<u64>() {
        Ok(bytes) if name.ends_with("_bytes") => Cell::measured(bytes as f64, Unit::Bytes),
        Ok(count) => Cell::whole(count),
        Err(_) => Cell::text(value),
    }
}

/// Result of an aging run in a line; `None` for other trials.
pub(super) fn aging_in_short(trial: &Trial) -> Option<String> {
    let rule = trial.fact("age.stopped_by")?;
    let bytes = |name: &str| fact_cell(name, trial.fact(name).unwrap_or_default()).shown("");
    Some(format!(
        "until {rule}: {} written, {} stand; list of operations {}",
        bytes("age.written_bytes"),
        bytes("age.live_bytes"),
        trial.fact("age.fingerprint").unwrap_or("not known")
    ))
}

/// Layout of the files in a line: in the phase that left the most, or from the first to the last
/// phase that left at least half as many; `None` for a trial without layouts.
pub(super) fn in_short(trial: &Trial) -> Option<String> {
    let points = layouts(trial);
    let after = || points.iter().filter(|point| point.tasks.is_none());
    let most = after().map(|point| point.layout.files).max()?;
    let mut large = after().filter(|point| point.layout.files >= most.div_ceil(2));
    let first = large.next()?;
    let last = large.next_back();
    let measure = |measure: &LayoutMeasure| {
        let words = |point: &LayoutPoint| cell(measure, (measure.of)(&point.layout)).shown("");
        let from = (measure.of)(&first.layout).is_some().then(|| words(first))?;
        let both = last.map_or_else(|| from.clone(), |last| format!("{from} → {}", words(last)));
        Some(format!("{} {both}", measure.name))
    };
    let named = LAYOUT_MEASURES.iter().filter(|m| MEASURES_IN_SHORT.contains(&m.name));
    let measures: Vec<String> = named.filter_map(measure).collect();
    let to = last.map_or_else(String::new, |last| format!(" → {}", last.phase));
    Some(format!("after {}{to}: {}", first.phase, measures.join(", ")))
}

/// Adds the layout sections; nothing for a trial without layouts.
pub(super) fn add(page: &mut Report, trial: &Trial, with_charts: bool) {
    let points = layouts(trial);
    if points.is_empty() {
        return;
    }
    page.heading("Layout on disk");
    let after: Vec<&LayoutPoint> = points.iter().filter(|point| point.tasks.is_none()).collect();
    if !after.is_empty() {
        page.table(phases(&after));
    }
    let trends = trends(&points);
    if !trends.rows.is_empty() {
        page.table(trends);
    }
    if with_charts {
        // The page of an aging run begins with the first chart and the maps.
        let opening = usize::from(is_aging(trial));
        let rest = timelines(&points).skip(opening);
        page.blocks.extend(rest.map(|timeline| Block::Chart(Chart::Layout(timeline))));
        let maps = maps(trial).into_iter();
        let is_left = |chart: &Chart| opening == 0 || !matches!(chart, Chart::Map(_));
        page.blocks.extend(maps.filter(is_left).map(Block::Chart));
    }
}

fn cell(measure: &LayoutMeasure, value: Option<f64>) -> Cell {
    Cell::measured(value, measure.unit)
}

/// Table of layouts, one row for each phase.
fn phases(points: &[&LayoutPoint]) -> Table {
    let field = |measure: &LayoutMeasure, layout: &FileLayout| {
        let column = match measure.unit {
            Unit::Count => Column::count(measure.name),
            unit => Column::number(measure.name, unit),
        };
        RowField::new(column, cell(measure, (measure.of)(layout)))
    };
    let row = |point: &&LayoutPoint| {
        let mut fields = vec![
            RowField::text("after phase", &point.phase),
            RowField::count("files", point.layout.files),
        ];
        fields.extend(LAYOUT_MEASURES.iter().map(|measure| field(measure, &point.layout)));
        fields
    };
    let caption = "Where the files lie after each phase; docs/layout.md defines the measures.";
    Table::from_rows("layouts", caption, points.iter().map(row))
}

/// Table of the trends of the layout measures.
fn trends(points: &[LayoutPoint]) -> Table {
    let mut caption = String::new();
    let row = |measure: &LayoutMeasure| {
        let trend = layout_trend(points, measure)?;
        let over = trend.span.words();
        caption = format!(
            "How the layout moves within this run: change over {over} with its 95 % interval \
             (Theil-Sen). It describes this run and is not a verdict."
        );
        let interval = trend.interval.map_or(Cell::Missing, |(low, high)| {
            Cell::between(change(measure, low), change(measure, high))
        });
        Some(vec![
            RowField::text("measure", measure.name),
            RowField::count("n", trend.layouts as u64),
            RowField::mixed("first", cell(measure, Some(trend.ends.0))),
            RowField::mixed("last", cell(measure, Some(trend.ends.1))),
            RowField::mixed(&format!("over {over}"), change(measure, trend.change)),
            RowField::mixed("low–high", interval),
        ])
    };
    let table = Table::from_rows("layout_trends", "", LAYOUT_MEASURES.iter().filter_map(row));
    Table { caption, ..table }
}

/// Change in the unit of the measure; for a share, in percentage points.
fn change(measure: &LayoutMeasure, value: f64) -> Number {
    match measure.unit {
        Unit::Count => Number { value, unit: String::new(), style: NumberStyle::Measured },
        unit => Number::difference(value, unit),
    }
}

/// Name, unit and factor of an axis. Bytes are shown in MiB, so that ticks are round.
pub(super) fn placed_on_axis(measure: &LayoutMeasure) -> (String, Unit, f64) {
    match measure.unit {
        Unit::Bytes => (format!("{} in MiB", measure.name), Unit::Count, 1.0 / MIB),
        unit => (measure.name.to_owned(), unit, 1.0),
    }
}

/// Chart of each measure over the run.
pub(super) fn timelines(points: &[LayoutPoint]) -> impl Iterator<Item = LayoutTimeline> + '_ {
    LAYOUT_MEASURES.iter().filter_map(|measure| timeline(points, measure))
}

/// Chart of a measure over the run; `None` for fewer than two layouts.
fn timeline(points: &[LayoutPoint], measure: &LayoutMeasure) -> Option<LayoutTimeline> {
    let (span, series) = layout_series(points, measure);
    let trend = layout_trend(points, measure);
    let (measure_name, unit, scale) = placed_on_axis(measure);
    (series.len() >= 2).then(|| LayoutTimeline {
        measure: measure_name,
        unit,
        by: span.counted().to_owned(),
        variants: vec![LayoutTimelineVariant {
            name: String::new(),
            points: series.into_iter().map(|(n, value)| (n as f64, value * scale)).collect(),
        }],
        trend: trend.map_or_else(String::new, |trend| trend_text(measure, &trend)),
    })
}

fn trend_text(measure: &LayoutMeasure, trend: &LayoutTrend) -> String {
    let text = |value: f64| change(measure, value).text();
    let around = trend
        .interval
        .map_or_else(String::new, |(low, high)| format!(" ({} to {})", text(low), text(high)));
    let change = change(measure, trend.change).text_with_unit();
    format!("Over {}: {change}{around}.", trend.span.words())
}

/// Map of an artifact, if it is a layout with a map, with the name of its phase.
pub(super) fn map_after<'t>(trial: &'t Trial, made: &Artifact) -> Option<(&'t str, LayoutMap)> {
    let map: LayoutMap = made.read(LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION)?;
    let phase = trial.phases.iter().find(|phase| Some(phase.phase) == made.phase);
    Some((phase.map_or("the end", |phase| &phase.name), map))
}

/// Maps after the first and after the last phase, small enough to fit side by side; empty if there
/// are fewer than two.
pub(super) fn first_and_last_maps(trial: &Trial) -> Vec<DeviceMapChart> {
    let of = |artifact: &Artifact| {
        let (phase, map) = map_after(trial, artifact)?;
        Some((phase.to_owned(), map))
    };
    let first = trial.artifacts.iter().find_map(of);
    let last = trial.artifacts.iter().rev().find_map(of);
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    if first.0 == last.0 {
        return Vec::new();
    }
    let chart = |word: &str, (phase, map): (String, LayoutMap)| DeviceMapChart {
        title: format!("{word}: after {phase}"),
        map,
        is_small: true,
    };
    vec![chart("Fresh", first), chart("Aged", last)]
}

/// Maps of the last phases, each followed by its heat maps.
fn maps(trial: &Trial) -> Vec<Chart> {
    let chart = |artifact: &Artifact| {
        let (name, map) = map_after(trial, artifact)?;
        let heat = hot(trial, artifact.phase, name, &map);
        let title = format!("Disk layout after {name}");
        let map = Chart::Map(DeviceMapChart { title, map, is_small: false });
        Some(std::iter::once(map).chain(heat).collect())
    };
    let mut maps: Vec<Vec<Chart>> = trial.artifacts.iter().filter_map(chart).collect();
    let surplus = maps.len().saturating_sub(MOST_MAPS);
    maps.drain(..surplus);
    maps.into_iter().flatten().collect()
}

/// Heat maps of a phase: by accesses, and by device requests.
fn hot(trial: &Trial, phase: Option<u32>, name: &str, map: &LayoutMap) -> Vec<Chart> {
    let artifacts = trial.artifacts.iter().filter(|artifact| artifact.phase == phase);
    let heat = artifacts
        .filter_map(|artifact| artifact.read::<LayoutHeat>(LayoutHeat::KIND, LayoutHeat::VERSION));
    let chart = |heat: LayoutHeat| {
        let of = match heat.of.as_str() {
            LayoutHeat::REQUESTS => "requests that the device received",
            _ => "reads and writes as issued",
        };
        let title = format!("Hot data in {name}: {of}");
        Chart::Heat(HeatLayer { title, map: map.clone(), heat, is_small: false })
    };
    heat.map(chart).collect()
}
