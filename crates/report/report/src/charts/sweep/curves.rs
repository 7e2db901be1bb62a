//! Chart of a metric over a swept key: means with intervals, and a curve for each combination of
//! the other keys. Values are spaced evenly, regardless of their size.

use maud::{Markup, html};

use super::super::axis::Axis;
use super::super::figure::Figure;
use super::super::mark::{line, mark, trimmed};
use super::super::plot::{
    ACROSS, HEIGHT, WIDTH, axis_remark, class, feet, path, shape, spread, value_axis, value_grid,
};
use super::super::{Curve, Curves};
use super::{legend, room, spoken, whisker};
use crate::escape::visible;
use crate::{Cell, Number};

/// Maximum number of labelled values below the plot.
const LABELS_MAX: usize = 10;
/// Ratio of the largest to the smallest value from which the axis is logarithmic.
const LOG_FROM: f64 = 8.0;
/// Horizontal distance between the marks of different curves at one value.
const APART: f64 = 5.0;

pub(in super::super) fn figure(chart: &Curves) -> Figure {
    let up = axis(chart);
    Figure {
        class: "rounds",
        title: visible(&chart.metric),
        subtitle: format!(" by {}, {}.", visible(&chart.key), chart.better.phrase()),
        aside: axis_remark(&up).to_owned(),
        key: String::new(),
        legend: legend(chart.curves.iter().map(|curve| curve.name.as_str())),
        spoken: format!("{} by {}", visible(&chart.metric), visible(&chart.key)),
        size: (WIDTH, HEIGHT),
        drawing: drawing(chart, &up),
        narrow: None,
        below: below(chart),
    }
}

/// Explanation of the lines that the chart has.
fn below(chart: &Curves) -> String {
    let mut points = chart.curves.iter().flat_map(|curve| curve.points.iter().flatten());
    let intervals = points
        .any(|point| point.interval.is_some())
        .then_some("Lines at the marks: 95 % intervals.");
    let limits = (!chart.limits.is_empty()).then_some("Grey line: the limit.");
    [intervals, limits].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn axis(chart: &Curves) -> Axis {
    let points = chart.curves.iter().flat_map(|curve| curve.points.iter().flatten());
    let means = points.flat_map(|point| room(point.mean, point.interval));
    value_axis(means.chain(chart.limits.iter().copied()), LOG_FROM)
}

fn drawing(chart: &Curves, up: &Axis) -> Markup {
    let count = chart.values.len().max(1) as f64;
    let step = (ACROSS.1 - ACROSS.0) / count;
    let place = |at: usize| ACROSS.0 + step * (at as f64 + 0.5);
    let named = spread(chart.values.len(), LABELS_MAX).into_iter();
    let ticks: Vec<(f64, String)> =
        named.map(|at| (place(at), visible(&chart.values[at]))).collect();
    let text = |value: f64| {
        let number = Number::measured(value, chart.unit);
        number.style.scales().then(|| trimmed(&number.text()))
    };
    let curves = chart.curves.len();
    let apart = APART.min(step / (curves + 1) as f64);
    html! {
        (value_grid(up, text))
        (feet(&ticks, &visible(&chart.key)))
        @for limit in &chart.limits {
            @let y = up.place(*limit);
            g {
                title { "limit: " (Cell::measured(*limit, chart.unit).shown("")) }
                (line("one", (ACROSS.0, y), (ACROSS.1, y)))
            }
        }
        @for (number, curve) in chart.curves.iter().enumerate() {
            @let aside = apart * (number as f64 - (curves as f64 - 1.0) / 2.0);
            g class=(class(number, curves)) {
                (of_curve(chart, (number, curve), &|at| place(at) + aside, up))
            }
        }
    }
}

fn of_curve(
    chart: &Curves,
    (number, curve): (usize, &Curve),
    place: &dyn Fn(usize) -> f64,
    up: &Axis,
) -> Markup {
    let points = || curve.points.iter().enumerate().filter_map(|(at, point)| Some((at, (*point)?)));
    let line_of: Vec<(f64, f64)> =
        points().map(|(at, point)| (place(at), up.place(point.mean))).collect();
    let shown = |value: f64| Cell::measured(value, chart.unit).shown("");
    html! {
        @if let Some(path) = path(&line_of) { path class="curve" d=(path) {} }
        @for (at, point) in points() {
            @let (x, y) = (place(at), up.place(point.mean));
            g {
                title {
                    @if !curve.name.is_empty() { (visible(&curve.name)) ", " }
                    (visible(&chart.key)) " " (visible(&chart.values[at])) ": " (shown(point.mean))
                    (spoken(point.interval, shown))
                }
                @if let Some(interval) = point.interval { (whisker(x, interval, up)) }
                g class=(class(number, chart.curves.len())) { (mark(shape(number), x, y, 4.0)) }
            }
        }
    }
}
