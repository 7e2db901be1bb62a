//! Overview matrix with a row for each metric of each job and a column for each variant. Each cell
//! has a sparkline with the newest value and its changes. The most notable rows come first.

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};
use treering_analysis::history::History;
use treering_model::{BetterDirection, RunMode, Unit};

use super::notable::{NotableReason, NotableSeries};
use crate::charts::{SparkChange, SparkValues};
use crate::escape::visible;
use crate::pages::history::{
    HistoryView, shift_change, suspect_change, title, trend_change, value,
};

/// Maximum number of cells; in a larger store only the most notable rows are drawn.
const MOST_CELLS: usize = 1200;
/// Maximum number of columns of a table; a sweep may have many variants.
const MOST_COLUMNS: usize = 12;

/// Properties that the series of a row share.
type RowKey<'h> = (&'h str, RunMode, &'h str, &'h str, Unit);

struct MatrixRow<'h> {
    key: RowKey<'h>,
    /// Cells of the row, at least one.
    cells: Vec<NotableSeries<'h>>,
}

impl<'h> MatrixRow<'h> {
    fn most(&self) -> Option<&NotableSeries<'h>> {
        self.cells.iter().max_by(|left, right| left.order(right))
    }

    fn variants(&self) -> BTreeSet<&'h str> {
        self.cells.iter().map(|cell| cell.series.variant.as_str()).collect()
    }
}

/// Rows with the same variants.
struct RowGroup<'h> {
    variants: Vec<&'h str>,
    rows: Vec<MatrixRow<'h>>,
}

/// Tables of the overview.
pub(super) struct Matrix<'h> {
    groups: Vec<RowGroup<'h>>,
    /// Number of series that are not drawn.
    left_out: usize,
}

impl<'h> Matrix<'h> {
    pub(super) fn new(history: &'h History, notable: &[NotableSeries<'h>]) -> Self {
        let mut rows = rows(notable);
        rows.sort_by(|left, right| match (left.most(), right.most()) {
            (Some(left), Some(right)) => right.order(left),
            (left, right) => right.is_some().cmp(&left.is_some()),
        });
        let mut drawn = 0;
        let kept = rows.into_iter().take_while(|row| {
            drawn += row.cells.len();
            drawn <= MOST_CELLS
        });
        let groups = grouped(kept.collect());
        let shown: usize = groups.iter().flat_map(|group| &group.rows).map(|r| r.cells.len()).sum();
        Self { groups, left_out: history.series.len() - shown }
    }

    /// Series that have a cell.
    pub(super) fn series(&self) -> impl Iterator<Item = &NotableSeries<'h>> {
        self.groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.cells)
    }

    pub(super) fn markup(&self, view: &HistoryView<'_>) -> Markup {
        html! {
            @if !self.groups.is_empty() {
                h2 id="series" { "Series" }
                p class="caption" {
                    "Each chart is a metric over time, point by point by " (visible(view.by))
                    ", on an axis of its own that covers at least ±5 %. ▼ marks a change of level "
                    "for the worse, ▲ one for the better; the figure is the newest value."
                }
                p class="tools" id="filter" hidden {
                    label for="words" { "Show rows with " }
                    input id="words" type="search" placeholder="words, such as ext4 create";
                    " "
                    label { input id="changed" type="checkbox"; " changed only" }
                    " " span id="count" class="aside" role="status" {}
                }
            }
            @for group in &self.groups { (group.markup(view)) }
            @if self.left_out > 0 {
                p class="note" {
                    (self.left_out) " more series are steady or too short and not drawn here: "
                    code { "treering history" } ", or "
                    code { "treering store overview --workload NAME" }
                }
            }
        }
    }
}

fn rows<'h>(notable: &[NotableSeries<'h>]) -> Vec<MatrixRow<'h>> {
    let mut rows: Vec<MatrixRow<'h>> = Vec::new();
    let mut places: HashMap<RowKey<'h>, usize> = HashMap::new();
    for notable_series in notable {
        let series = notable_series.series;
        let key = (
            series.workload.as_str(),
            series.mode,
            series.job.as_str(),
            series.metric.as_str(),
            series.unit,
        );
        let at = *places.entry(key).or_insert_with(|| {
            rows.push(MatrixRow { key, cells: Vec::new() });
            rows.len() - 1
        });
        rows[at].cells.push(*notable_series);
    }
    rows
}

/// Groups rows into tables: a row joins the largest variant set that contains all of its variants
/// (the first one if several are equally large), so that tables have few empty cells.
fn grouped(rows: Vec<MatrixRow<'_>>) -> Vec<RowGroup<'_>> {
    let mut sets: Vec<BTreeSet<&str>> = rows.iter().map(MatrixRow::variants).collect();
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let mut groups: Vec<RowGroup<'_>> = Vec::new();
    for row in rows {
        let own = row.variants();
        let set = sets.iter().find(|set| own.is_subset(set)).unwrap_or(&own);
        let variants: Vec<&str> = set.iter().copied().collect();
        match groups.iter_mut().find(|group| group.variants == variants) {
            Some(group) => group.rows.push(row),
            None => groups.push(RowGroup { variants, rows: vec![row] }),
        }
    }
    groups
}

impl RowGroup<'_> {
    fn markup(&self, view: &HistoryView<'_>) -> Markup {
        html! {
            @for variants in self.variants.chunks(MOST_COLUMNS) {
                @let label = format!("Series of {}", named(variants));
                div class="scroll matrix" tabindex="0" role="region" aria-label=(label) {
                    table {
                        thead {
                            tr {
                                th scope="col" { "workload and metric" }
                                @for variant in variants { th scope="col" { (name(variant)) } }
                            }
                        }
                        tbody {
                            @for row in &self.rows { (row.markup(variants, view)) }
                        }
                    }
                }
            }
        }
    }
}

fn name(variant: &str) -> String {
    if variant.is_empty() { "(no variant)".to_owned() } else { visible(variant) }
}

/// Renders a name that may be wrapped between its words.
fn breakable(name: &str) -> Markup {
    html! {
        @for part in visible(name).split_inclusive(['_', '/']) { (part) wbr; }
    }
}

fn named(variants: &[&str]) -> String {
    variants.iter().map(|variant| name(variant)).collect::<Vec<_>>().join(", ")
}

impl MatrixRow<'_> {
    fn markup(&self, variants: &[&str], view: &HistoryView<'_>) -> Markup {
        let (workload, mode, job, metric, _) = self.key;
        let better = self.cells[0].series.better;
        let sign = match better {
            BetterDirection::Higher => "↑",
            BetterDirection::Lower => "↓",
        };
        let mode = if mode == RunMode::Classic { " (classic)" } else { "" };
        let is_news = self.most().is_some_and(|worst| worst.reason > NotableReason::Steady);
        let of = |variant: &str| self.cells.iter().find(|cell| cell.series.variant == variant);
        html! {
            tr data-changed[is_news] {
                th scope="row" {
                    b { (visible(workload)) (mode) } " "
                    span class="metric" {
                        (breakable(metric)) " " span title=(better.phrase()) { (sign) }
                    }
                    @if !job.is_empty() { " " span class="job aside" { (visible(job)) } }
                }
                @for variant in variants {
                    @match of(variant) {
                        Some(cell) => (of_cell(cell, view)),
                        None => td { span class="aside" { "–" } },
                    }
                }
            }
        }
    }
}

fn of_cell(cell: &NotableSeries<'_>, view: &HistoryView<'_>) -> Markup {
    let series = cell.series;
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let newest = values.last().map_or_else(String::new, |newest| {
        value(*newest, series.unit).shown("") + if view.anchor.is_some() { " ×" } else { "" }
    });
    let changes = series.shifts.iter();
    let changes =
        changes.map(|shift| SparkChange { index: shift.index, is_worse: shift.is_worse }).collect();
    let spoken = format!(
        "{}: {} points, newest {newest}, {}",
        visible(&title(series)),
        values.len(),
        visible(&cell.words())
    );
    let spark = SparkValues { values: &values, changes, spoken };
    // Sorting by a column groups its most notable cells.
    let rank = cell.rank();
    html! {
        td data-v=(rank) {
            a class="cell" href=(format!("#{}", cell.name())) title=(visible(&cell.words())) {
                (spark.svg())
                span class="figures" { b { (newest) } " " (badge(cell)) }
            }
        }
    }
}

/// Badge of a cell, with the change as a word and a figure.
fn badge(cell: &NotableSeries<'_>) -> Markup {
    let series = cell.series;
    let change = cell.shift.map_or_else(String::new, |shift| shift_change(series, shift));
    let suspect = series.suspect.as_ref();
    let suspect = suspect.map_or_else(String::new, |suspect| suspect_change(series, suspect));
    let trend = series.trend.as_ref();
    let trend = trend.map_or_else(String::new, |trend| trend_change(series, trend));
    match cell.reason {
        NotableReason::SlowlyWorse => html! { span class="tone bad" { "▼ slowly " (trend) } },
        NotableReason::Worse => html! { span class="tone bad" { "▼ " (change) } },
        NotableReason::Better => html! { span class="tone good" { "▲ " (change) } },
        NotableReason::SuspectWorse | NotableReason::SuspectBetter => {
            html! { span class="tone caution" { "⚠ " (suspect) } }
        }
        NotableReason::ChangedEarlier => html! { span class="aside" { "earlier " (change) } },
        NotableReason::Steady => html! { span class="aside" { "steady" } },
        NotableReason::TooShort => html! {
            span class="aside" {
                (series.points.len()) @if series.points.len() == 1 { " point" } @else { " points" }
            }
        },
    }
}
