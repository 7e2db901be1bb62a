//! How a measure of the layout moves in the course of a run: a line through the layouts.

use maud::{Markup, html};

use super::LayoutCourse;
use super::axis::{Axis, Scale};
use super::figure::Figure;
use super::mark::{px, trimmed};
use super::plot::{
    ACROSS, HEIGHT, WIDTH, axis_remark, class, feet, path, spread, value_axis, value_grid,
};
use crate::escape::visible;
use treering_model::Unit;

/// Points of the line, and dots on it.
const POINTS: usize = 400;

/// Shares and gaps may be 0: the axis is never logarithmic.
const NEVER: f64 = f64::INFINITY;

pub(super) fn figure(course: &LayoutCourse) -> Figure {
    let up = value_axis(course.points.iter().map(|(_, value)| *value), NEVER);
    let measure = visible(&course.measure);
    let unit = match course.unit {
        Unit::Percent => " in %",
        Unit::Count => "",
        other => other.symbol(),
    };
    Figure {
        class: "course",
        title: format!("{measure}{unit}"),
        says: " as the filesystem ages.".to_owned(),
        aside: axis_remark(&up).to_owned(),
        key: String::new(),
        legend: Vec::new(),
        spoken: format!("{measure} by the number of tasks that had ended"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(course, &up),
        below: visible(&course.trend),
    }
}

fn drawing(course: &LayoutCourse, up: &Axis) -> Markup {
    let points = &course.points;
    let first = points.first().map_or(0.0, |point| point.0);
    let last = points.last().map_or(1.0, |point| point.0);
    let across = Axis::new(Scale::Linear, (first, last), ACROSS);
    let places = spread(points.len(), POINTS).into_iter();
    let at: Vec<(f64, f64)> =
        places.map(|place| (across.place(points[place].0), up.place(points[place].1))).collect();
    let ticks = across.ticks(7).into_iter().filter(|(value, _)| value.fract() == 0.0);
    let ticks: Vec<(f64, String)> =
        ticks.map(|(value, _)| (across.place(value), format!("{value:.0}"))).collect();
    let text = |value: f64| Some(trimmed(&format!("{value:.2}")));
    html! {
        (value_grid(up, text))
        (feet(&ticks, "tasks that had ended"))
        g class=(class(0, 1)) {
            @if let Some(path) = path(&at) { path class="curve" d=(path) {} }
            @if at.len() <= 80 {
                @for (x, y) in &at { circle cx=(px(*x)) cy=(px(*y)) r="2.6" {} }
            }
        }
    }
}
