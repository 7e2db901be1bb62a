//! Detail page of a series: chart with intervals, changes with suspected causes, and points with
//! their trials.

use std::collections::HashMap;

use maud::{Markup, html};
use treering_analysis::history::{HistorySeries, LevelShift, SeriesPoint};
use treering_model::{TrialId, Unit};

use super::Overview;
use super::matrix::Matrix;
use super::notable::NotableSeries;
use super::packed::{DetailPage, PagePack};
use crate::charts::Chart;
use crate::escape::visible;
use crate::formats::html::whole;
use crate::pages::history::{
    HistoryView, changes, chart, facts, memory_note, sentences, title, value,
};
use crate::{Cell, Number, Report};

/// Number of series in a pack.
const PACKED: usize = 24;
/// Maximum number of listed points, and of named trials for each point.
const POINTS: usize = 400;
const TRIALS: usize = 40;

type TrialNames<'a> = HashMap<TrialId, &'a str>;

/// Detail pages of the series drawn in the overview.
pub(super) fn packs(
    overview: &Overview<'_>,
    matrix: &Matrix<'_>,
    view: &HistoryView<'_>,
    names: &TrialNames<'_>,
) -> Vec<PagePack> {
    let mut details: Vec<DetailPage> = Vec::new();
    let mut series: Vec<&NotableSeries<'_>> = matrix.series().collect();
    // Series of the same trials are adjacent, which lets their points compress well.
    series.sort_by_key(|notable_series| notable_series.number);
    for notable_series in series {
        let markup = page(notable_series, overview, view, names);
        details.push(DetailPage { name: notable_series.name(), markup });
    }
    details.chunks(PACKED).map(PagePack::new).collect()
}

fn page(
    notable_series: &NotableSeries<'_>,
    overview: &Overview<'_>,
    view: &HistoryView<'_>,
    names: &TrialNames<'_>,
) -> Markup {
    let series = notable_series.series;
    let mut report = Report::new(title(series));
    let series_sentences = sentences(series);
    if series_sentences.is_empty() {
        report.paragraph(format!(
            "Over {} points: {}.",
            series.points.len(),
            notable_series.words()
        ));
    }
    series_sentences.into_iter().for_each(|sentence| report.paragraph(sentence));
    report.chart(Chart::Rounds(chart(series, view)));
    if !series.shifts.is_empty() {
        report.table(changes(series));
    }
    for shift in series.shifts.iter().filter(|shift| !shift.facts.is_empty()) {
        report.table(facts(series, shift));
    }
    if let Some(memory) = series.memory.filter(|memory| memory.is_seen) {
        report.note(format!("Here {}", memory_note(&memory)));
    }
    let shown = series.points.len().min(POINTS);
    html! {
        (whole(&report))
        h2 { "Points" }
        @if shown < series.points.len() {
            p class="note" {
                "The newest " (shown) " of " (series.points.len()) " points; all of them: "
                code { "treering history --by " (visible(overview.by)) " --format json" }
            }
        }
        div class="scroll" tabindex="0" role="region" aria-label="Points" {
            table {
                thead {
                    tr {
                        th scope="col" { (visible(overview.by)) }
                        th scope="col" class="r" {
                            @if view.anchor.is_some() { "ratio" } @else { "value" }
                        }
                        th scope="col" class="r" { "95 % interval" }
                        th scope="col" class="r" { "trials" }
                        th scope="col" { "which" }
                    }
                }
                tbody {
                    @for (at, point) in series.points.iter().enumerate().rev().take(shown) {
                        (row(series, at, point, names))
                    }
                }
            }
        }
    }
}

fn range(low: f64, high: f64, unit: Unit) -> Cell {
    let [low, high] = [low, high].map(|end| Number::measured(end, unit));
    Cell::Range { low, high }
}

/// CSS class of a change; an acknowledged change has no colour.
fn tone(shift: &LevelShift) -> &'static str {
    match (&shift.known, shift.is_worse) {
        (Some(_), _) => "tone",
        (None, true) => "tone bad",
        (None, false) => "tone good",
    }
}

fn row(series: &HistorySeries, at: usize, point: &SeriesPoint, names: &TrialNames<'_>) -> Markup {
    let known = point.trials.iter().filter_map(|trial| names.get(trial));
    let known: Vec<&&str> = known.collect();
    let shown = |number: f64| value(number, series.unit).shown("");
    let begins = series.shifts.iter().find(|shift| shift.index == at);
    html! {
        tr {
            th scope="row" {
                (visible(&point.key))
                @if let Some(shift) = begins {
                    " " span class=(tone(shift)) {
                        (if shift.is_worse { "▼ worse" } else { "▲ better" })
                        @if shift.known.is_some() { ", known" }
                    }
                }
            }
            td class="r" { (shown(point.value)) }
            td class="r" {
                @if let Some((low, high)) = point.interval {
                    (range(low, high, series.unit).shown(""))
                } @else { "–" }
            }
            td class="r" { (point.trials.len()) }
            td class="wraps which" {
                @for name in known.iter().take(TRIALS) {
                    a href=(format!("#trial-{name}")) { (name) } " "
                }
                @if known.len() > TRIALS { "and " (known.len() - TRIALS) " more" }
            }
        }
    }
}
