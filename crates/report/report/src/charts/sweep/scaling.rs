//! Chart of throughput over concurrency on logarithmic axes: means with intervals, the ideal as a
//! straight line, and the fitted model.

use maud::{Markup, html};

use super::super::axis::{Axis, AxisScale};
use super::super::figure::Figure;
use super::super::mark::{line, mark, trimmed};
use super::super::plot::{
    ACROSS, DOWN, HEIGHT, WIDTH, class, feet, path, shape, spread, value_axis, value_grid,
};
use super::super::{ScalingChart, ScalingCurve};
use super::{legend, room, spoken, whisker};
use crate::escape::visible;
use crate::{Cell, Number};

/// Maximum number of labelled sizes below the plot.
const LABELS_MAX: usize = 10;

pub(in super::super) fn figure(chart: &ScalingChart) -> Figure {
    let has_model = chart.curves.iter().any(|curve| !curve.model.is_empty());
    let lines = if has_model {
        "Dashed: the ideal. Curve: the Universal Scalability Law."
    } else {
        "Dashed: the ideal."
    };
    Figure {
        class: "scaling",
        title: visible(&chart.metric),
        subtitle: format!(" by {}, higher is better.", visible(&chart.key)),
        aside: "Logarithmic axes.".to_owned(),
        key: String::new(),
        legend: legend(chart.curves.iter().map(|curve| curve.name.as_str())),
        spoken: format!("{} by {}", visible(&chart.metric), visible(&chart.key)),
        size: (WIDTH, HEIGHT),
        drawing: drawing(chart),
        narrow: None,
        below: lines.to_owned(),
    }
}

fn drawing(chart: &ScalingChart) -> Markup {
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let ideals = points().map(|point| point.ideal);
    let values = points().flat_map(|point| room(point.mean, point.interval)).chain(ideals);
    let up = value_axis(values, 1.0);
    let mut sizes: Vec<f64> = points().map(|point| point.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let (first, last) = (sizes.first().copied(), sizes.last().copied());
    let ends = (first.unwrap_or(1.0) / 1.1, last.unwrap_or(1.0) * 1.1);
    let across = Axis::new(AxisScale::Log, ends, ACROSS);
    let numbered = spread(sizes.len(), LABELS_MAX).into_iter().map(|place| sizes[place]);
    let ticks: Vec<(f64, String)> =
        numbered.map(|size| (across.place(size), format!("{size}"))).collect();
    let text = |value: f64| {
        let number = Number::measured(value, chart.unit);
        number.style.scales().then(|| trimmed(&number.text()))
    };
    html! {
        (value_grid(&up, text))
        @for (x, _) in &ticks { (line("grid", (*x, DOWN.0), (*x, DOWN.1))) }
        (feet(&ticks, &visible(&chart.key)))
        @for (place, curve) in chart.curves.iter().enumerate() {
            g class=(class(place, chart.curves.len())) {
                (of_curve(chart, curve, place, (&across, &up)))
            }
        }
    }
}

fn of_curve(
    chart: &ScalingChart,
    curve: &ScalingCurve,
    place: usize,
    (across, up): (&Axis, &Axis),
) -> Markup {
    let at = |size: f64, value: f64| (across.place(size), up.place(value));
    let ideal = curve.points.first().zip(curve.points.last());
    let model: Vec<(f64, f64)> = curve.model.iter().map(|&(size, value)| at(size, value)).collect();
    let shown = |value: f64| Cell::measured(value, chart.unit).shown("");
    html! {
        @if let Some((first, last)) = ideal {
            (line("median", at(first.size, first.ideal), at(last.size, last.ideal)))
        }
        @if let Some(path) = path(&model) { path class="curve" d=(path) {} }
        @for point in &curve.points {
            @let (x, y) = at(point.size, point.mean);
            g {
                title {
                    (visible(&chart.key)) " " (point.size) ": " (shown(point.mean))
                    (spoken(point.interval, shown))
                }
                @if let Some(interval) = point.interval { (whisker(x, interval, up)) }
                g class=(class(place, chart.curves.len())) { (mark(shape(place), x, y, 4.0)) }
            }
        }
    }
}
