//! Charts of sweeps: curves over the values of a key, a picture of two keys, and how throughput
//! grows with the number of those who work at once.

pub(super) mod curves;
pub(super) mod map;
pub(super) mod scaling;

use maud::{Markup, html};

use super::axis::Axis;
use super::figure::Entry;
use super::mark::line;
use super::plot::{DOWN, class, shape};
use crate::escape::visible;

/// Half the length of the ends of an interval.
const END: f64 = 3.0;
/// An interval farther from its mean than this factor leaves the plot: a few rounds that disagree
/// have one over many decades.
const FARTHEST: f64 = 4.0;

/// The curves that have a name.
fn legend<'c>(names: impl ExactSizeIterator<Item = &'c str>) -> Vec<Entry> {
    let count = names.len();
    let entry = |(place, name): (usize, &str)| Entry {
        class: class(place, count),
        shape: shape(place),
        name: visible(name),
        text: String::new(),
    };
    names.enumerate().filter(|(_, name)| !name.is_empty()).map(entry).collect()
}

/// What of a mean and its interval has to have room on an axis.
fn room(mean: f64, interval: Option<(f64, f64)>) -> [f64; 3] {
    let (low, high) = interval.unwrap_or((mean, mean));
    [mean, low.max(mean / FARTHEST), high.min(mean * FARTHEST)]
}

/// An interval, as far as it is in the plot.
fn whisker(x: f64, (low, high): (f64, f64), up: &Axis) -> Markup {
    let [top, bottom] = [high, low].map(|end| up.place(end).clamp(DOWN.0, DOWN.1));
    html! {
        (line("whisker", (x, top), (x, bottom)))
        (line("whisker", (x - END, top), (x + END, top)))
        (line("whisker", (x - END, bottom), (x + END, bottom)))
    }
}

/// An interval in words, behind its mean.
fn spoken(interval: Option<(f64, f64)>, shown: impl Fn(f64) -> String) -> String {
    interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", shown(low), shown(high)))
}
