//! Chart of the cost of a kind's tasks over a run: a dot for each task, and a trend line for each
//! variant.

use maud::{Markup, html};

use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{latency_text, mark, px, time_tick};
use super::plot::{
    ACROSS, HEIGHT, WIDTH, axis_remark, class, dots, feet, path, shape, spread, value_axis,
    value_grid,
};
use super::{Aging, AgingVariant};
use crate::escape::visible;
use crate::{Number, NumberStyle};

/// Ratio of the largest to the smallest value at which the axis becomes logarithmic, so that a
/// trend in percent is straight.
const LOG_FROM: f64 = 5.0;

/// Maximum number of tasks whose dots have tooltips, for a single trial; with several variants the
/// lines have tooltips.
const POINTED_AT: usize = 150;

/// Maximum number of dots drawn for a variant; larger sets are thinned evenly.
const MOST_DOTS: usize = 600;

/// Number of marks on the line of a variant.
const MARKS: usize = 4;

/// Number of points of a trend line.
const LINE_POINTS: usize = 40;

pub(super) fn figure(aging: &Aging) -> Figure {
    let kind = visible(&aging.kind);
    let up = value_axis(values(aging), LOG_FROM);
    let left_out = aging.variants.iter().any(|variant| variant.points.len() > MOST_DOTS);
    let thinned = if left_out { "Not every task has a dot." } else { "" };
    Figure {
        class: "aging",
        title: format!("{kind}: time per {}", visible(&aging.basis)),
        subtitle: ", lower is better.".to_owned(),
        aside: format!("{} {thinned}", axis_remark(&up)).trim().to_owned(),
        key: "Figures: change over ten tasks of the kind, with the range of this change."
            .to_owned(),
        legend: aging
            .variants
            .iter()
            .enumerate()
            .map(|(place, variant)| entry(aging, place, variant))
            .collect(),
        spoken: format!("Time of each task of kind {kind} over the run"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(aging, &up),
        narrow: None,
        below: String::new(),
    }
}

fn values(aging: &Aging) -> impl Iterator<Item = f64> + Clone {
    let variants = aging.variants.iter();
    variants.flat_map(|variant| variant.points.iter().chain(&variant.line)).map(|(_, ns)| *ns)
}

fn entry(aging: &Aging, place: usize, variant: &AgingVariant) -> LegendEntry {
    LegendEntry {
        class: class(place, aging.variants.len()),
        shape: shape(place),
        name: visible(&variant.name),
        text: trend(variant),
    }
}

/// Formats the trend over ten tasks: `+3.2 % (+2.1 to +4.0)`.
fn trend(variant: &AgingVariant) -> String {
    if variant.points.is_empty() {
        return "no task".to_owned();
    }
    let change = |value: f64| match value.abs() {
        large if (9.95..1e6).contains(&large) => format!("{value:+.0}"),
        _ => Number { value, unit: String::new(), style: NumberStyle::Change }.text(),
    };
    let range = match variant.range {
        Some((low, high)) => format!(" ({} to {})", change(low), change(high)),
        None => String::new(),
    };
    format!("{} %{range}", change(variant.percent_per_10_tasks))
}

fn drawing(aging: &Aging, up: &Axis) -> Markup {
    let numbers =
        aging.variants.iter().flat_map(|variant| &variant.points).map(|(number, _)| *number);
    let (first, last) = (numbers.clone().min().unwrap_or(1), numbers.max().unwrap_or(1));
    let room = (f64::from(last) - f64::from(first)) * 0.02;
    let ends = (f64::from(first) - room, f64::from(last) + room);
    let across = Axis::new(AxisScale::Linear, ends, ACROSS);
    let at = |point: &(u32, f64)| (across.place(f64::from(point.0)), up.place(point.1));
    let variants = aging.variants.len();
    let few = variants == 1 && aging.variants[0].points.len() <= POINTED_AT;
    let ticks = across.ticks(5).into_iter().filter(|(value, _)| value.fract() == 0.0);
    let ticks: Vec<(f64, String)> =
        ticks.map(|(value, _)| (across.place(value), format!("{value:.0}"))).collect();
    html! {
        (value_grid(up, |ns| Some(time_tick(ns))))
        (feet(&ticks, "number of the task in the run"))
        @for (place, variant) in aging.variants.iter().enumerate() {
            @let thinned = spread(variant.points.len(), MOST_DOTS).into_iter();
            @let points = thinned.map(|place| at(&variant.points[place]));
            g class=(class(place, variants)) {
                @if few { (pointed_at(aging, variant, at)) } @else { (dots(points)) }
            }
        }
        @for (place, variant) in aging.variants.iter().enumerate() {
            @let line: Vec<(f64, f64)> = (spread(variant.line.len(), LINE_POINTS).into_iter())
                .map(|place| at(&variant.line[place]))
                .collect();
            g class=(class(place, variants)) {
                title { (visible(&variant.name)) ": " (trend(variant)) " per ten tasks" }
                @if let Some(path) = path(&line) { path class="curve trend" d=(path) {} }
                @for (number, at) in spread(line.len(), MARKS * variants).into_iter().enumerate() {
                    @if variants > 1 && number % variants == place {
                        (mark(shape(place), line[at].0, line[at].1, 4.0))
                    }
                }
            }
        }
    }
}

/// Draws a dot for each task, with its value as a tooltip.
fn pointed_at(
    aging: &Aging,
    variant: &AgingVariant,
    at: impl Fn(&(u32, f64)) -> (f64, f64),
) -> Markup {
    html! {
        @for point in &variant.points {
            @let (x, y) = at(point);
            g class="dot" {
                title {
                    (visible(&variant.name)) ", task " (point.0) ": " (latency_text(point.1))
                    " per " (visible(&aging.basis))
                }
                circle cx=(px(x)) cy=(px(y)) r="3" {}
            }
        }
    }
}
