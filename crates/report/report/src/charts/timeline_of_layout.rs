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
use crate::number::grouped;
use treering_model::Unit;

/// Maximum number of points of the line, and of dots on it.
const POINTS: usize = 400;

/// Ratio that disables a logarithmic axis, since shares and gaps may be 0.
const NEVER: f64 = f64::INFINITY;

pub(super) fn figure(timeline: &LayoutTimeline) -> Figure {
    let values =
        timeline.variants.iter().flat_map(|variant| &variant.points).map(|(_, value)| *value);
    let up = value_axis(values, NEVER);
    let measure = visible(&timeline.measure);
    let unit = match timeline.unit {
        Unit::Percent => " (%)",
        Unit::Count => "",
        other => other.symbol(),
    };
    Figure {
        class: "timeline",
        title: format!("{measure}{unit}"),
        subtitle: format!(" by {}.", visible(&timeline.by)),
        aside: axis_remark(&up).to_owned(),
        key: String::new(),
        legend: legend(timeline),
        spoken: spoken(timeline, &measure),
        size: (WIDTH, HEIGHT),
        drawing: drawing(timeline, &up),
        narrow: None,
        below: visible(&timeline.trend),
    }
}

/// Text alternative with the ends of each line.
fn spoken(timeline: &LayoutTimeline, measure: &str) -> String {
    let number = |value: f64| trimmed(&format!("{value:.2}"));
    let ends = timeline.variants.iter().filter_map(|variant| {
        let (first, last) = (variant.points.first()?, variant.points.last()?);
        let name = if variant.name.is_empty() { "" } else { " of " };
        let name = format!("{name}{}", visible(&variant.name));
        Some(format!(
            "{measure}{name} from {} to {} over {} {}",
            number(first.1),
            number(last.1),
            grouped(&format!("{:.0}", last.0 - first.0)),
            visible(&timeline.by)
        ))
    });
    ends.collect::<Vec<_>>().join("; ")
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
    let ticks = across.ticks(4).into_iter().filter(|(value, _)| value.fract() == 0.0);
    let ticks: Vec<(f64, String)> =
        ticks.map(|(value, text)| (across.place(value), text)).collect();
    html! {
        (value_grid(up, |_| None))
        (feet(&ticks, &visible(&timeline.by)))
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
