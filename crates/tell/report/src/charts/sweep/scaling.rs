//! Throughput over the number of those who work at once, on logarithmic axes: the means with their
//! intervals, the straight line of the ideal, and the model that was fitted.

use maud::{Markup, html};

use super::super::axis::{Axis, Scale};
use super::super::figure::{Entry, Figure};
use super::super::mark::{line, mark, trimmed};
use super::super::plot::{
    ACROSS, DOWN, HEIGHT, WIDTH, class, feet, path, shape, spread, value_axis, value_grid,
};
use super::super::{ScalingChart, ScalingCurve};
use crate::escape::visible;
use crate::{Cell, Number};

/// Sizes that are numbered below the plot.
const NUMBERED: usize = 10;
/// Half the length of the ends of an interval.
const END: f64 = 3.0;

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
        says: format!(" by {}, higher is better.", visible(&chart.key)),
        aside: "Logarithmic axes.".to_owned(),
        key: String::new(),
        legend: legend(chart),
        spoken: format!("{} by {}", visible(&chart.metric), visible(&chart.key)),
        size: (WIDTH, HEIGHT),
        drawing: drawing(chart),
        below: lines.to_owned(),
    }
}

fn legend(chart: &ScalingChart) -> Vec<Entry> {
    let entry = |(place, curve): (usize, &ScalingCurve)| Entry {
        class: class(place, chart.curves.len()),
        shape: shape(place),
        name: visible(&curve.name),
        text: String::new(),
    };
    let named = chart.curves.iter().enumerate().filter(|(_, curve)| !curve.name.is_empty());
    named.map(entry).collect()
}

fn drawing(chart: &ScalingChart) -> Markup {
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let values: Vec<f64> = points()
        .flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.mean, point.mean));
            // A few rounds that disagree have an interval over many decades.
            [point.mean, point.ideal, low.max(point.mean / 4.0), high.min(point.mean * 4.0)]
        })
        .collect();
    let up = value_axis(values.iter().copied(), 1.0);
    let mut sizes: Vec<f64> = points().map(|point| point.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let (first, last) = (sizes.first().copied(), sizes.last().copied());
    let ends = (first.unwrap_or(1.0) / 1.1, last.unwrap_or(1.0) * 1.1);
    let across = Axis::new(Scale::Log, ends, ACROSS);
    let numbered = spread(sizes.len(), NUMBERED).into_iter().map(|place| sizes[place]);
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
                    @if let Some((low, high)) = point.interval {
                        " (" (shown(low)) " to " (shown(high)) ")"
                    }
                }
                @if let Some((low, high)) = point.interval {
                    @let (top, bottom) = (up.place(high), up.place(low));
                    (line("whisker", (x, top), (x, bottom)))
                    (line("whisker", (x - END, top), (x + END, top)))
                    (line("whisker", (x - END, bottom), (x + END, bottom)))
                }
                g class=(class(place, chart.curves.len())) { (mark(shape(place), x, y, 4.0)) }
            }
        }
    }
}
