//! Charts of sweeps: curves over a key, a map of two keys, and scaling with concurrency.

pub(super) mod curves;
pub(super) mod map;
pub(super) mod scaling;

use maud::{Markup, html};

use super::axis::Axis;
use super::figure::LegendEntry;
use super::mark::line;
use super::plot::{DOWN, class, shape};
use crate::escape::visible;

/// Half length of the caps of an interval.
const END: f64 = 3.0;
/// Ratio of an interval's end to its mean beyond which it is clipped. A few rounds that disagree
/// can have intervals over many decades.
const FARTHEST: f64 = 4.0;

/// Legend of the named curves.
fn legend<'c>(names: impl ExactSizeIterator<Item = &'c str>) -> Vec<LegendEntry> {
    let count = names.len();
    let entry = |(place, name): (usize, &str)| LegendEntry {
        class: class(place, count),
        shape: shape(place),
        name: visible(name),
        text: String::new(),
    };
    names.enumerate().filter(|(_, name)| !name.is_empty()).map(entry).collect()
}

/// Values of a mean and its interval that must fit on the axis.
fn room(mean: f64, interval: Option<(f64, f64)>) -> [f64; 3] {
    let (low, high) = interval.unwrap_or((mean, mean));
    [mean, low.max(mean / FARTHEST), high.min(mean * FARTHEST)]
}

/// Draws an interval, clipped to the plot.
fn whisker(x: f64, (low, high): (f64, f64), up: &Axis) -> Markup {
    let [top, bottom] = [high, low].map(|end| up.place(end).clamp(DOWN.0, DOWN.1));
    html! {
        (line("whisker", (x, top), (x, bottom)))
        (line("whisker", (x - END, top), (x + END, top)))
        (line("whisker", (x - END, bottom), (x + END, bottom)))
    }
}

/// Formats an interval as text after its mean.
fn spoken(interval: Option<(f64, f64)>, shown: impl Fn(f64) -> String) -> String {
    interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", shown(low), shown(high)))
}
