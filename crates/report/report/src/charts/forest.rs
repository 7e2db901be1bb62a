//! Forest plot: for each ratio a line with its interval and a row of small dots, one for each
//! round, over the band of differences below the threshold.
//!
//! Ratios are inverted where necessary, so that more than 1, to the right, is better for any
//! metric. The chart is drawn twice: wide with the names beside the plot, and narrow with the names
//! above their rows; the page's style shows the layout that fits.

use std::f64::consts::LN_2;

use maud::{Markup, html};
use treering_analysis::compare::Verdict;
use treering_model::BetterDirection;

use super::axis::{Axis, AxisScale};
use super::figure::Figure;
use super::mark::{MarkShape, change_text, label, line, mark, px, ratio_text};
use super::plot::{dot_path, spread};
use super::{Forest, ForestRow};
use crate::escape::visible;
use crate::verdict::words;

/// Maximum of the axis as a natural logarithm: a ratio of a thousand in either direction.
const FARTHEST: f64 = 6.9;

/// Limit to which intervals may extend the axis, as a multiple of the farthest ratio.
const STRETCH: f64 = 3.0;

/// Maximum number of dots of a row; with more rounds they are thinned evenly.
const DOTS: usize = 60;

/// Maximum number of rows in the text alternative.
const SPOKEN_ROWS: usize = 8;

/// Geometry of the plot.
struct ForestLayout {
    wide: bool,
    width: f64,
    /// Left and right edge of the ratio axis.
    plot: (f64, f64),
    /// Height of a row, and vertical positions of the mark and of the dots in it.
    row: (f64, f64, f64),
    /// Height above the first row.
    top: f64,
    /// Top of each row, and the bottom of the last one.
    tops: Vec<f64>,
    several: bool,
}

impl ForestLayout {
    fn new(forest: &Forest, wide: bool) -> Self {
        let first = forest.rows.first();
        let several = forest.rows.iter().any(|row| Some(&row.contender) != first.map(contender));
        let (width, row, top) = if wide {
            (1100.0, (34.0, 14.0, 27.0), 26.0)
        } else {
            (380.0, (74.0, 50.0, 64.0), 26.0)
        };
        let plot = match (wide, several) {
            (true, true) => (385.0, 832.0),
            (true, false) => (245.0, 832.0),
            (false, _) => (8.0, 372.0),
        };
        let mut tops = Vec::with_capacity(forest.rows.len() + 1);
        let mut end = top;
        for place in 0..forest.rows.len() {
            end += if begins_job(forest, place) { HEADING } else { 0.0 };
            tops.push(end);
            end += row.0;
        }
        tops.push(end);
        Self { wide, width, plot, row, top, tops, several }
    }

    /// Top of a row.
    fn row_top(&self, place: usize) -> f64 {
        self.tops.get(place).copied().unwrap_or(self.top)
    }

    /// Bottom of the last row.
    fn bottom(&self) -> f64 {
        self.row_top(self.tops.len().saturating_sub(1))
    }
}

/// Height of a job's heading.
const HEADING: f64 = 30.0;

/// Reports whether a row is preceded by the name of a job.
fn begins_job(forest: &Forest, place: usize) -> bool {
    let job = &forest.rows[place].job;
    !job.is_empty() && (place == 0 || forest.rows[place - 1].job != *job)
}

fn contender(row: &ForestRow) -> &String {
    &row.contender
}

/// Chart in its wide and its narrow layout.
pub(super) fn figure(forest: &Forest) -> Figure {
    let ends = ends(forest);
    let clipped = forest.rows.iter().any(|row| {
        let beyond = |(low, high): (f64, f64)| low < ends.0 || high > ends.1;
        row.unbounded
            || row.turned_interval().is_some_and(beyond)
            || row.rounds.iter().any(|ratio| beyond((row.turned(*ratio), row.turned(*ratio))))
            || row.turned_ratio().is_some_and(|ratio| beyond((ratio, ratio)))
    });
    let dots = if forest.rows.iter().any(|row| !row.rounds.is_empty()) {
        " and a small dot for each round"
    } else {
        ""
    };
    let arrow = if clipped { " An arrow: more lies beyond the chart." } else { "" };
    let (size, drawing) = laid_out(forest, true);
    let baseline = visible(&forest.baseline);
    Figure {
        class: "forest",
        title: format!("Times as good as {baseline}"),
        subtitle: format!(
            ", with the interval that agrees with the verdict{dots}, on a logarithmic axis. More \
             than 1, to the right, is better."
        ),
        aside: format!("Grey band: {}, below the threshold.{arrow}", band_words(forest)),
        key: String::new(),
        legend: Vec::new(),
        spoken: format!("Times as good as {baseline}. {}", spoken_rows(forest)),
        size,
        drawing,
        narrow: Some(laid_out(forest, false)),
        below: String::new(),
    }
}

/// Draws one of the layouts; returns its width and height.
fn laid_out(forest: &Forest, wide: bool) -> ((f64, f64), Markup) {
    let layout = ForestLayout::new(forest, wide);
    let axis = Axis::new(AxisScale::Log, ends(forest), layout.plot);
    let height = layout.bottom() + 26.0;
    ((layout.width, height), drawing(forest, &layout, &axis))
}

fn band_words(forest: &Forest) -> String {
    let least = forest.rows.iter().map(|row| row.threshold).fold(f64::INFINITY, f64::min);
    let most = forest.rows.iter().map(|row| row.threshold).fold(0.0, f64::max);
    let text = |share: f64| ratio_free(share * 100.0);
    if least >= most {
        return format!("less than {} %", text(most));
    }
    format!("less than {} to {} % (each metric has its own)", text(least), text(most))
}

/// Formats a percentage without trailing zeros.
fn ratio_free(percent: f64) -> String {
    let text = format!("{percent:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Logarithms of the lowest and highest ratio on the axis, which covers all estimates, the band,
/// and intervals and rounds within the stretch limit.
fn ends(forest: &Forest) -> (f64, f64) {
    let mut ends = (0f64, 0f64);
    let mut take = |log: f64| {
        let log = log.clamp(-FARTHEST, FARTHEST);
        ends = (ends.0.min(log), ends.1.max(log));
    };
    for row in &forest.rows {
        let margin = row.threshold.max(0.01).ln_1p() * 1.6;
        take(margin);
        take(-margin);
        if let Some(ratio) = row.turned_ratio() {
            take(ratio.ln());
        }
    }
    // A single interval is drawn whole, and several as far as from half to twice at least.
    let reach = match forest.rows.len() {
        1 => FARTHEST,
        _ => (ends.1.max(-ends.0) * STRETCH).max(LN_2),
    };
    for (low, high) in forest.rows.iter().filter_map(ForestRow::turned_interval) {
        ends.0 = ends.0.min(low.ln().max(-reach).max(-FARTHEST));
        ends.1 = ends.1.max(high.ln().min(reach).min(FARTHEST));
    }
    for row in &forest.rows {
        for log in row.rounds.iter().map(|ratio| row.turned(*ratio).ln()) {
            ends.0 = ends.0.min(log.max(-reach).max(-FARTHEST));
            ends.1 = ends.1.max(log.min(reach).min(FARTHEST));
        }
    }
    let room = (ends.1 - ends.0) * 0.04;
    ((ends.0 - room).exp(), (ends.1 + room).exp())
}

fn drawing(forest: &Forest, layout: &ForestLayout, axis: &Axis) -> Markup {
    let bottom = layout.bottom();
    html! {
        @for (place, row) in forest.rows.iter().enumerate() {
            (band(row, layout, axis, layout.row_top(place)))
        }
        (grid(forest, layout, axis, bottom))
        @if !layout.wide {
            // Blank strips behind the names, which are placed above the marks.
            @for place in 0..forest.rows.len() {
                rect class="clear" x="0" y=(px(layout.row_top(place)))
                    width=(px(layout.width)) height="38" {}
            }
        }
        @for (place, row) in forest.rows.iter().enumerate() {
            @let begins = begins_job(forest, place);
            @let repeats = place > 0 && !begins && forest.rows[place - 1].metric == row.metric;
            @if begins {
                rect class="clear" x="0" y=(px(layout.row_top(place) - HEADING + 1.0))
                    width=(px(layout.width)) height=(px(HEADING - 1.0)) {}
                text class="job" x="0" y=(px(layout.row_top(place) - 8.0)) {
                    (label(&row.job, layout.width))
                }
            }
            (of_row(row, layout, axis, layout.row_top(place), repeats))
        }
    }
}

/// Draws the band of differences below the threshold, as high as the row so that neighbouring bands
/// join.
fn band(row: &ForestRow, layout: &ForestLayout, axis: &Axis, top: f64) -> Markup {
    let factor = 1.0 + row.threshold.max(0.0);
    let (from, to) = (axis.place(1.0 / factor), axis.place(factor));
    html! {
        rect class="band" x=(px(from)) y=(px(top)) width=(px(to - from))
            height=(px(layout.row.0)) {}
    }
}

fn grid(forest: &Forest, layout: &ForestLayout, axis: &Axis, bottom: f64) -> Markup {
    let unity = axis.place(1.0);
    let (left, right) = layout.plot;
    html! {
        @for (value, text) in axis.ticks(5) {
            @let x = axis.place(value);
            (line("grid", (x, layout.top), (x, bottom)))
            text class="tick" x=(px(x)) y=(px(bottom + 17.0)) text-anchor="middle" { (text) }
        }
        (line("one", (unity, layout.top - 4.0), (unity, bottom)))
        text class="tick" x=(px(unity)) y=(px(layout.top - 9.0))
            text-anchor=(anchor(unity, layout.plot)) { (label(&forest.baseline, 140.0)) }
        @if unity - left > 130.0 {
            text class="hint" x=(px(left)) y=(px(layout.top - 9.0)) { "◀ worse" }
        }
        @if right - unity > 130.0 {
            text class="hint" x=(px(right)) y=(px(layout.top - 9.0)) text-anchor="end" {
                "better ▶"
            }
        }
    }
}

/// Text anchor that keeps a label at `x` inside the plot.
fn anchor(x: f64, (left, right): (f64, f64)) -> &'static str {
    match (x - left < 60.0, right - x < 60.0) {
        (true, _) => "start",
        (_, true) => "end",
        _ => "middle",
    }
}

fn of_row(row: &ForestRow, layout: &ForestLayout, axis: &Axis, top: f64, repeats: bool) -> Markup {
    html! {
        g class=(format!("row {}", row.verdict.name())) {
            // Narrow screens have no pointer to hover with.
            @if layout.wide { title { (spoken(row)) } }
            @if !(layout.wide && repeats) {
                (line("rule", (0.0, top), (layout.width, top)))
            }
            // Tooltip area over the empty parts of the row.
            rect class="ground" x="0" y=(px(top)) width=(px(layout.width))
                height=(px(layout.row.0)) {}
            (names(row, layout, top, repeats))
            @if let Some(ratio) = row.turned_ratio() {
                (estimate(row, ratio, axis, top + layout.row.1))
                (dots(row, axis, top + layout.row.2))
            }
        }
    }
}

fn names(row: &ForestRow, layout: &ForestLayout, top: f64, repeats: bool) -> Markup {
    let metric = &row.metric;
    let figures = figures(row);
    let (y, words) = (px(top + 18.0), words(row.verdict));
    html! {
        @if layout.wide {
            @if !repeats {
                @let room = if layout.several { 224.0 } else { 236.0 };
                text class="name" x="0" y=(y) { (label(metric, room)) }
            }
            @if layout.several {
                text class="name" x="232" y=(y) { (label(&row.contender, 146.0)) }
            }
            text class="value" x="846" y=(y) { (figures) }
            text class="word" x="1012" y=(y) { (words) }
        } @else {
            @let whole = if layout.several {
                format!("{metric} · {}", row.contender)
            } else {
                metric.clone()
            };
            text class="name" x="0" y=(px(top + 17.0)) { (label(&whole, 292.0)) }
            text class="value aside" x="0" y=(px(top + 34.0)) { (figures) }
            text class="word" x=(px(layout.width)) y=(px(top + 17.0)) text-anchor="end" {
                (words)
            }
        }
    }
}

impl ForestRow {
    /// Inverts a ratio if necessary, so that more than 1 is better.
    fn turned(&self, ratio: f64) -> f64 {
        match self.better {
            BetterDirection::Higher => ratio,
            BetterDirection::Lower => 1.0 / ratio,
        }
    }

    fn turned_ratio(&self) -> Option<f64> {
        self.ratio.map(|ratio| self.turned(ratio))
    }

    fn turned_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval?;
        let (low, high) = (self.turned(low), self.turned(high));
        Some((low.min(high), low.max(high)))
    }
}

/// Formats the ratio, inverted so that more than 1 is better, with its interval.
fn figures(row: &ForestRow) -> String {
    match (row.turned_ratio(), row.turned_interval()) {
        (Some(ratio), Some((low, high))) => {
            format!("{} ({}–{})", ratio_text(ratio), ratio_text(low), ratio_text(high))
        }
        (Some(ratio), None) if row.unbounded => format!("{} (unbounded)", ratio_text(ratio)),
        (Some(ratio), None) => ratio_text(ratio),
        (None, _) => "no ratio".to_owned(),
    }
}

/// Text alternative of a row.
fn spoken(row: &ForestRow) -> String {
    let subject = format!("{}, {}", visible(&row.metric), visible(&row.contender));
    let measured = row.ratio.map_or_else(String::new, |ratio| {
        format!(": measured {}, {}", change_text(ratio), row.better.phrase())
    });
    format!("{subject}: {}, {}{measured}", figures(row), words(row.verdict))
}

/// Text alternative of all rows, or of the first ones if there are many.
fn spoken_rows(forest: &Forest) -> String {
    let texts = forest.rows.iter().take(SPOKEN_ROWS).map(|row| {
        let subject = format!("{}, {}", visible(&row.metric), visible(&row.contender));
        format!("{subject}: {}, {}", figures(row), words(row.verdict))
    });
    let more = match forest.rows.len().saturating_sub(SPOKEN_ROWS) {
        0 => String::new(),
        more => format!("; {more} more in the tables"),
    };
    texts.collect::<Vec<_>>().join("; ") + &more + "."
}

/// Draws a small dot for each round below the interval, from end to end of the axis.
fn dots(row: &ForestRow, axis: &Axis, y: f64) -> Markup {
    let shown = spread(row.rounds.len(), DOTS).into_iter().map(|place| row.rounds[place]);
    let ratios: Vec<f64> = shown.map(|ratio| row.turned(ratio)).collect();
    let inside = |ratio: &&f64| (axis.low..=axis.high).contains(*ratio);
    let path = dot_path(ratios.iter().filter(inside).map(|ratio| (axis.place(*ratio), y)));
    let is_beyond = |end: fn(&Axis, f64) -> bool| ratios.iter().any(|ratio| end(axis, *ratio));
    let arrow = |end: f64, back: f64| {
        let (x, wing) = (axis.place(end), axis.place(end) + back);
        let path = format!(
            "M{} {}L{} {}L{} {}",
            px(wing),
            px(y - 3.0),
            px(x),
            px(y),
            px(wing),
            px(y + 3.0)
        );
        html! { path class="interval" d=(path) {} }
    };
    html! {
        @if !path.is_empty() { path class="each" d=(path) {} }
        @if is_beyond(|axis, ratio| ratio < axis.low) { (arrow(axis.low, 4.0)) }
        @if is_beyond(|axis, ratio| ratio > axis.high) { (arrow(axis.high, -4.0)) }
    }
}

/// Draws the interval as a line, with an arrow where it leaves the plot, and the estimate on it.
fn estimate(row: &ForestRow, ratio: f64, axis: &Axis, y: f64) -> Markup {
    let bounds = if row.unbounded { Some((0.0, f64::INFINITY)) } else { row.turned_interval() };
    let (low, high) = bounds.unwrap_or((ratio, ratio));
    let (from, to, x) = (axis.place(low), axis.place(high), axis.place(ratio));
    let arrow = |x: f64, back: f64| {
        let (tip, wing) = (format!("{} {}", px(x), px(y)), px(x + back));
        format!("M{wing} {}L{tip}L{wing} {}", px(y - 5.0), px(y + 5.0))
    };
    let cap = |x: f64| line("interval", (x, y - 4.0), (x, y + 4.0));
    let (shape, size) = match row.verdict {
        Verdict::Better => (MarkShape::Up, 6.0),
        Verdict::Worse => (MarkShape::Down, 6.0),
        Verdict::Small => (MarkShape::Diamond, 5.0),
        Verdict::Same => (MarkShape::Square, 5.0),
        Verdict::Unclear | Verdict::SingleRun => (MarkShape::Circle, 5.0),
    };
    html! {
        @if bounds.is_some() {
            (line(if row.unbounded { "interval open" } else { "interval" }, (from, y), (to, y)))
            @if low < axis.low { path class="interval" d=(arrow(from, 7.0)) {} }
            @else { (cap(from)) }
            @if high > axis.high { path class="interval" d=(arrow(to, -7.0)) {} }
            @else { (cap(to)) }
        }
        @if ratio < axis.low { path class="interval" d=(arrow(x, 7.0)) {} }
        @else if ratio > axis.high { path class="interval" d=(arrow(x, -7.0)) {} }
        @else { g class="mark" { (mark(shape, x, y, size)) } }
    }
}
