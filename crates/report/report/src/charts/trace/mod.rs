//! Chart of block traces on a common scale: for each run its offsets over time, and below them
//! throughput, seeks, request rate, queue depth and latency.
//!
//! Each panel is a nested drawing with milliseconds and MiB (or the unit of its values) as
//! coordinates, so that a script can zoom by changing only the visible range.

mod field;
mod lines;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use treering_model::counted;
use treering_trace::{TraceDigest, TraceFigures};

use self::lines::LinePanel;
use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{MarkShape, label, line, px, trimmed};
use super::plot::{MOST_SIDES, class};
use crate::escape::visible;

/// Traces drawn on one scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceChart {
    /// Runs from top to bottom; only the first six are drawn.
    pub runs: Vec<TraceChartRun>,
    /// Subject of the traces; empty where the names of the runs suffice.
    #[serde(default)]
    pub of: String,
    /// Number of charts that share the page's limit of detail; 1 for full detail.
    #[serde(default = "alone")]
    pub sharing: usize,
    /// Start of the time axis in nanoseconds; an excerpt keeps the times of the whole trace.
    #[serde(default)]
    pub from_ns: u64,
}

fn alone() -> usize {
    1
}

/// A trace, or a phase of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceChartRun {
    /// Name of the run.
    pub name: String,
    /// Figures, series and maps of the trace.
    pub digest: TraceDigest,
}

const WIDTH: f64 = 960.0;
/// Left and right edge of the panels.
const ACROSS: (f64, f64) = (86.0, 950.0);
/// Height of an offset panel, and of a line panel.
const OFFSET_PANEL_HEIGHT: f64 = 210.0;
const LINE_PANEL_HEIGHT: f64 = 76.0;
/// Height of the title above a panel.
const HEAD: f64 = 22.0;
const GAP: f64 = 10.0;
const FOOT: f64 = 40.0;

/// Number of points of a line: the maximum, the number shared by all charts of a page for each
/// line, and the minimum.
const POINTS: usize = 480;
const SHARED_POINTS: usize = 720;
const FEWEST_POINTS: usize = 120;
/// Number of strokes shared by all charts of a page.
const SHARED_STROKES: usize = 20_000;

const NS_PER_MS: f64 = 1e6;
const SECTORS_PER_MIB: f64 = 2048.0;

impl TraceChart {
    /// Creates a chart of these runs at full detail.
    pub fn new(runs: Vec<TraceChartRun>) -> Self {
        Self { runs, of: String::new(), sharing: alone(), from_ns: 0 }
    }

    /// Sets the start of the time axis, in nanoseconds after the beginning of the trace.
    pub(crate) fn from(self, from_ns: u64) -> Self {
        Self { from_ns, ..self }
    }

    /// Number of points of a line.
    fn points(&self) -> usize {
        match self.sharing {
            0 | 1 => POINTS,
            many => (SHARED_POINTS / many).clamp(FEWEST_POINTS, POINTS),
        }
    }

    fn shown(&self) -> &[TraceChartRun] {
        &self.runs[..self.runs.len().min(MOST_SIDES)]
    }

    /// Duration of the longest run in milliseconds, never 0.
    fn end_ms(&self) -> f64 {
        let spans = self.shown().iter().map(|run| run.digest.figures.span_ns);
        spans.max().unwrap_or(0).max(1) as f64 / NS_PER_MS
    }
}

/// Describes the number of seeks; states if it is unknown.
pub(crate) fn seeks(figures: &TraceFigures) -> String {
    if figures.is_ordered() || figures.reads.requests + figures.writes.requests == 0 {
        counted(figures.seeks, "seek")
    } else {
        "seeks unknown (device counters do not show where requests go)".to_owned()
    }
}

pub(super) fn figure(chart: &TraceChart) -> Figure {
    let measures = lines::measures(chart);
    let fields = chart.shown().iter().filter(|run| !run.digest.maps.is_empty()).count();
    let height = fields as f64 * (OFFSET_PANEL_HEIGHT + HEAD + GAP)
        + measures.len() as f64 * (LINE_PANEL_HEIGHT + HEAD + GAP)
        + FOOT;
    let left_out = chart.runs.len() - chart.shown().len();
    let below = match left_out {
        0 => String::new(),
        _ => format!("{left_out} more are not drawn."),
    };
    Figure {
        class: "trace",
        title: match chart.of.as_str() {
            "" => "Device activity".to_owned(),
            of => format!("Device activity in {}", visible(of)),
        },
        subtitle: " over time.".to_owned(),
        aside: "Each request is drawn at its offset, at the resolution of the cells.".to_owned(),
        key: String::new(),
        legend: legend(chart),
        spoken: "Offsets of requests over time, throughput, seeks, requests per second, queue \
                 depth and latency"
            .to_owned(),
        size: (WIDTH, height),
        drawing: drawing(chart, &measures, height),
        narrow: None,
        below,
    }
}

/// Legend: colours of reads and writes in the offset panel, and of runs in the line panels.
fn legend(chart: &TraceChart) -> Vec<LegendEntry> {
    let any = |of: fn(&TraceDigest) -> bool| chart.shown().iter().any(|run| of(&run.digest));
    let has = [
        ("s1", "reads", any(|digest| digest.figures.reads.requests > 0)),
        ("s2", "writes", any(|digest| digest.figures.writes.requests > 0)),
        ("s3", "discards", any(|digest| digest.figures.discards.requests > 0)),
    ];
    let entry =
        |class: String, shape, name: String, text: String| LegendEntry { class, shape, name, text };
    let kinds = has.into_iter().filter(|(.., is_present)| *is_present);
    let mut legend: Vec<LegendEntry> = kinds
        .map(|(class, name, _)| {
            entry(class.to_owned(), MarkShape::Square, name.to_owned(), String::new())
        })
        .collect();
    let runs = chart.shown();
    if runs.len() > 1 {
        legend.extend(runs.iter().enumerate().map(|(place, run)| {
            let figures = &run.digest.figures;
            let text = format!("{:.2} s, {}", figures.seconds(), seeks(figures));
            entry(class(place, runs.len()), MarkShape::Circle, visible(&run.name), text)
        }));
    }
    legend
}

fn drawing(chart: &TraceChart, measures: &[LinePanel], height: f64) -> Markup {
    let end_ms = chart.end_ms();
    let scale = field::OffsetScale::new(chart.shown(), strokes(chart));
    let mut top = 0.0;
    let mut panels: Vec<Markup> = Vec::new();
    for run in chart.shown().iter().filter(|run| !run.digest.maps.is_empty()) {
        panels.push(field::panel(run, &scale, end_ms, top + HEAD));
        top += OFFSET_PANEL_HEIGHT + HEAD + GAP;
    }
    for measure in measures {
        panels.push(measure.panel(end_ms, top + HEAD));
        top += LINE_PANEL_HEIGHT + HEAD + GAP;
    }
    html! {
        @for panel in &panels { (panel) }
        (time_ticks(chart.from_ns as f64 / NS_PER_MS, end_ms, top - GAP, height))
    }
}

/// Time axis below all panels, with vertical lines through them.
fn time_ticks(from_ms: f64, end_ms: f64, bottom: f64, height: f64) -> Markup {
    let (unit_ms, word) = match end_ms {
        ms if ms >= 600_000.0 => (60_000.0, "minutes"),
        ms if ms < 1000.0 => (1.0, "milliseconds"),
        _ => (1000.0, "seconds"),
    };
    let axis =
        Axis::new(AxisScale::Linear, (from_ms / unit_ms, (from_ms + end_ms) / unit_ms), ACROSS);
    let middle = f64::midpoint(ACROSS.0, ACROSS.1);
    html! {
        g class="times" data-from-ms=[(from_ms > 0.0).then_some(from_ms)] {
            @for (value, text) in axis.ticks(8) {
                @let x = axis.place(value);
                text class="tick" x=(px(x)) y=(px(bottom + 16.0)) text-anchor="middle" {
                    (trimmed(&text))
                }
            }
        }
        text class="hint" x=(px(middle)) y=(px(height - 4.0)) text-anchor="middle" { (word) }
    }
}

/// Maximum number of strokes of a chart's offset panels.
fn strokes(chart: &TraceChart) -> usize {
    if chart.sharing < 2 { usize::MAX } else { SHARED_STROKES / chart.sharing }
}

/// A panel: title, value grid, and contents in the panel's own units.
struct TracePanel<'a> {
    /// CSS class of the panel's kind of units.
    kind: &'static str,
    title: &'a str,
    top: f64,
    height: f64,
    end_ms: f64,
    /// Lowest and highest value.
    values: (f64, f64),
    /// Size of the unit in which ticks are counted.
    unit: f64,
    /// Formats a tick.
    tick: &'a dyn Fn(f64, &str) -> String,
    inside: Markup,
}

impl TracePanel<'_> {
    fn markup(&self) -> Markup {
        let (low, high) = self.values;
        let ends = (low / self.unit, high / self.unit);
        let axis = Axis::new(AxisScale::Linear, ends, (self.top + self.height, self.top));
        let view = format!("0 {} {} {}", -high, self.end_ms, high - low);
        let ticks = if self.height > 100.0 { 5 } else { 2 };
        html! {
            text class="name" x=(px(ACROSS.0)) y=(px(self.top - 6.0)) {
                (label(self.title, ACROSS.1 - ACROSS.0))
            }
            g class="values" {
                @for (value, text) in axis.ticks(ticks) {
                    @let y = axis.place(value);
                    (line("grid", (ACROSS.0, y), (ACROSS.1, y)))
                    text class="tick" x=(px(ACROSS.0 - 6.0)) y=(px(y + 4.0)) text-anchor="end" {
                        ((self.tick)(value, &text))
                    }
                }
            }
            svg class=(format!("panel {}", self.kind)) xmlns="http://www.w3.org/2000/svg"
                x=(px(ACROSS.0)) y=(px(self.top)) width=(px(ACROSS.1 - ACROSS.0))
                height=(px(self.height)) viewBox=(view) preserveAspectRatio="none" {
                (self.inside)
            }
        }
    }
}
