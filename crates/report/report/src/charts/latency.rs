//! Latency chart of one kind of call: a curve for each variant over the share of its calls.
//!
//! The horizontal axis counts nines of the share of calls, so that the slowest tenth of the calls,
//! where filesystems differ and people wait, takes half of it. Each percentile named in tables has
//! a mark.

use maud::{Markup, html};
use treering_analysis::nines_of;

use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{latency_text, line, mark, time_tick};
use super::plot::{ACROSS, DOWN, HEIGHT, WIDTH, class, feet, path, shape, value_grid};
use super::{Latencies, LatencyVariant};
use crate::Number;
use crate::escape::visible;

/// Shares with a tick, in percent.
const TICKS: [(f64, &str); 8] = [
    (0.0, "0"),
    (50.0, "50"),
    (90.0, "90"),
    (99.0, "99"),
    (99.9, "99.9"),
    (99.99, "99.99"),
    (99.999, "99.999"),
    (99.9999, "99.9999"),
];

/// Percentiles that are named in legends and marked.
const NAMED_PERCENTILES: [(f64, &str); 4] =
    [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9")];

pub(super) fn figure(latencies: &Latencies) -> Figure {
    let call = visible(&latencies.call);
    Figure {
        class: "latencies",
        title: format!("Latency of {call}"),
        subtitle: ", lower is better.".to_owned(),
        aside: String::new(),
        key: String::new(),
        legend: legend(&latencies.variants),
        spoken: format!("Latency of {call} by the share of the calls"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(latencies),
        narrow: None,
        below: String::new(),
    }
}

fn legend(variants: &[LatencyVariant]) -> Vec<LegendEntry> {
    let entry = |(place, variant): (usize, &LatencyVariant)| {
        // Where p99 is unknown, p90 is used instead.
        let has_p99 = at(variant, 99.0).is_some();
        let named = NAMED_PERCENTILES.iter().filter(|(percent, _)| *percent != 90.0 || !has_p99);
        let value = |(percent, word): &(f64, &str)| {
            Some(format!("{word} {}", at(variant, *percent).map(latency_text)?))
        };
        let values: Vec<String> = named.filter_map(value).collect();
        LegendEntry {
            class: class(place, variants.len()),
            shape: shape(place),
            name: visible(&variant.name),
            text: if values.is_empty() { "too few calls".to_owned() } else { values.join(", ") },
        }
    };
    variants.iter().enumerate().map(entry).collect()
}

/// Latency at a percentile, if the curve extends to it.
fn at(variant: &LatencyVariant, percent: f64) -> Option<f64> {
    let nines = nines_of(percent / 100.0);
    let point = variant.curve.iter().find(|(known, _)| (known - nines).abs() < 1e-6)?;
    Some(point.1)
}

fn drawing(latencies: &Latencies) -> Markup {
    let points = || latencies.variants.iter().flat_map(|variant| &variant.curve);
    let most = points().map(|(nines, _)| *nines).fold(1.0, f64::max);
    let across = Axis::new(AxisScale::Linear, (0.0, most), ACROSS);
    let low = points().map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min).max(1.0);
    let high = points().map(|(_, ns)| *ns).fold(1.0, f64::max);
    let up = Axis::new(AxisScale::Log, (low / 1.2, high * 1.2), (DOWN.1, DOWN.0));
    let ticks = TICKS.iter().map(|(percent, text)| (nines_of(percent / 100.0), *text));
    let ticks = ticks.filter(|(nines, _)| *nines <= most + 1e-9);
    let ticks: Vec<(f64, String)> =
        ticks.map(|(nines, text)| (across.place(nines), text.to_owned())).collect();
    let variants = latencies.variants.len();
    html! {
        (value_grid(&up, |ns| Some(time_tick(ns))))
        @for (x, _) in &ticks { (line("grid", (*x, DOWN.0), (*x, DOWN.1))) }
        (feet(&ticks, "percent of the calls took no longer"))
        @for (place, variant) in latencies.variants.iter().enumerate() {
            @let curve: Vec<(f64, f64)> =
                variant.curve.iter().map(|(n, ns)| (across.place(*n), up.place(*ns))).collect();
            g class=(class(place, variants)) {
                @if let Some(path) = path(&curve) {
                    path class="curve" d=(path) { title { (visible(&variant.name)) } }
                }
                @for (percent, word) in NAMED_PERCENTILES {
                    @if let Some(ns) = at(variant, percent) {
                        g class=(class(place, variants)) {
                            title {
                                (visible(&variant.name)) ": " (word) " " (latency_text(ns))
                                " (" (Number::whole(variant.timed).text()) " calls timed)"
                            }
                            (mark(
                                shape(place),
                                across.place(nines_of(percent / 100.0)),
                                up.place(ns),
                                4.0
                            ))
                        }
                    }
                }
            }
        }
    }
}
