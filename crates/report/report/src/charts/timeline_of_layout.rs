//! Chart of a layout measure over a run: a line through the layouts.

use maud::{Markup, html};

use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{MarkShape, px, trimmed};
use super::plot::{
    ACROSS, HEIGHT, WIDTH, axis_remark, class, feet, path, spread, value_axis, value_grid,
};
use super::{LayoutTimeline, LayoutTimelineVariant};
use crate::escape::visible;
use treering_model::Unit;

/// Maximum number of points of the line, and of dots on it.
const POINTS: usize = 400;

/// Ratio that disables a logarithmic axis: shares and gaps may be 0.
const NEVER: f64 = f64::INFINITY;

pub(super) fn figure(timeline: &LayoutTimeline) -> Figure {
    let values =
        timeline.variants.iter().flat_map(|variant| &variant.points).map(|(_, value)| *value);
    let up = value_axis(values, NEVER);
    let measure = visible(&timeline.measure);
    let unit = match timeline.unit {
        Unit::Percent => " in %",
        Unit::Count => "",
        other => other.symbol(),
    };
    Figure {
        class: "timeline",
        title: format!("{measure}{unit}"),
        says: " as the filesystem ages.".to_owned(),
        aside: axis_remark(&up).to_owned(),
        key: String::new(),
        legend: legend(timeline),
        spoken: format!("{measure} by number of completed tasks"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(timeline, &up),
        below: visible(&timeline.trend),
    }
}

/// Names of the variants, if there are several.
fn legend(timeline: &LayoutTimeline) -> Vec<LegendEntry> {
    let variants = timeline.variants.len();
    let entry = |(place, variant): (usize, &LayoutTimelineVariant)| LegendEntry {
        class: class(place, variants),
        shape: MarkShape::Circle,
        name: visible(&variant.name),
        text: String::new(),
    };
    timeline.variants.iter().enumerate().filter(|_| variants > 1).map(entry).collect()
}

fn drawing(timeline: &LayoutTimeline, up: &Axis) -> Markup {
    let tasks = timeline.variants.iter().flat_map(|variant| &variant.points).map(|point| point.0);
    let first = tasks.clone().fold(f64::INFINITY, f64::min);
    let last = tasks.fold(f64::NEG_INFINITY, f64::max);
    let across = Axis::new(AxisScale::Linear, (first, last), ACROSS);
    let line = |variant: &LayoutTimelineVariant| -> Vec<(f64, f64)> {
        let points = &variant.points;
        let places = spread(points.len(), POINTS).into_iter();
        places.map(|place| (across.place(points[place].0), up.place(points[place].1))).collect()
    };
    let lines: Vec<Vec<(f64, f64)>> = timeline.variants.iter().map(line).collect();
    let ticks = across.ticks(7).into_iter().filter(|(value, _)| value.fract() == 0.0);
    let ticks: Vec<(f64, String)> =
        ticks.map(|(value, _)| (across.place(value), format!("{value:.0}"))).collect();
    let text = |value: f64| Some(trimmed(&format!("{value:.2}")));
    html! {
        (value_grid(up, text))
        (feet(&ticks, "completed tasks"))
        @for (place, at) in lines.iter().enumerate() {
            g class=(class(place, lines.len())) {
                @if let Some(path) = path(at) { path class="curve" d=(path) {} }
                @if at.len() <= 80 {
                    @for (x, y) in at { circle cx=(px(*x)) cy=(px(*y)) r="2.6" {} }
                }
            }
        }
    }
}
