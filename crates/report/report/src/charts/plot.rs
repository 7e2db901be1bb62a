//! Base of a small chart: size, value axis, grid, ticks, and the variants it can distinguish.

use maud::{Markup, html};

use super::axis::{Axis, AxisScale};
use super::mark::{MarkShape, line, px};

/// Maximum number of variants in a chart, the baseline included.
pub(crate) const MOST_SIDES: usize = 6;

const SHAPES: [MarkShape; MOST_SIDES] = [
    MarkShape::Circle,
    MarkShape::Square,
    MarkShape::Up,
    MarkShape::Diamond,
    MarkShape::Down,
    MarkShape::Cross,
];

pub(super) const WIDTH: f64 = 400.0;
pub(super) const HEIGHT: f64 = 236.0;

/// Horizontal and vertical extent of the plot area.
pub(super) const ACROSS: (f64, f64) = (60.0, 398.0);
pub(super) const DOWN: (f64, f64) = (10.0, 196.0);

/// Ratio of the largest to the smallest value above which the axis includes zero.
const SHOWS_ZERO: f64 = 2.0;

/// CSS class of a variant's colour. A single variant is blue.
pub(super) fn class(place: usize, variants: usize) -> String {
    let place = if variants == 1 { 1 } else { place % MOST_SIDES };
    format!("s{place}")
}

/// Mark shape of a variant.
pub(super) fn shape(place: usize) -> MarkShape {
    SHAPES[place % MOST_SIDES]
}

/// Value axis: logarithmic if the ratio of the largest to the smallest value is at least
/// `log_from`, and including zero if that needs little space.
pub(super) fn value_axis(values: impl Iterator<Item = f64> + Clone, log_from: f64) -> Axis {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let places = (DOWN.1, DOWN.0);
    if low > 0.0 && high / low >= log_from {
        return Axis::new(AxisScale::Log, (low / 1.2, high * 1.2), places);
    }
    let room = (high / 2.0 - low / 2.0) * 0.16;
    if low >= 0.0 && (low == 0.0 || high / low >= SHOWS_ZERO) {
        return Axis::new(AxisScale::Linear, (0.0, high + room), places);
    }
    Axis::new(AxisScale::Linear, (low - room, high + room), places)
}

/// Remark on the scale of a value axis.
pub(super) fn axis_remark(axis: &Axis) -> &'static str {
    match (axis.scale, axis.low > 0.0) {
        (AxisScale::Log, _) => "Logarithmic axis.",
        (AxisScale::Linear, true) => "Axis starts above 0.",
        (AxisScale::Linear, false) => "",
    }
}

/// Horizontal grid lines, labelled with the texts of the axis or those that `text` returns.
pub(super) fn value_grid(axis: &Axis, text: impl Fn(f64) -> Option<String>) -> Markup {
    let ticks = axis.ticks(5).into_iter();
    let (values, mut texts): (Vec<f64>, Vec<String>) =
        ticks.map(|(value, plain)| (value, text(value).unwrap_or(plain))).unzip();
    if axis.scale == AxisScale::Linear {
        texts = even(&texts);
    }
    html! {
        @for (value, text) in values.iter().zip(&texts) {
            @let y = axis.place(*value);
            (line("grid", (ACROSS.0, y), (ACROSS.1, y)))
            text class="tick" x=(px(ACROSS.0 - 6.0)) y=(px(y + 4.0)) text-anchor="end" { (text) }
        }
    }
}

/// Pads labels of the same unit to equal decimals: `3.60 ms` beside `3.65 ms`.
fn even(texts: &[String]) -> Vec<String> {
    let parts = |text: &str| -> (String, String) {
        let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
        (number.to_owned(), unit.to_owned())
    };
    let decimals = |number: &str| number.split_once('.').map_or(0, |(_, behind)| behind.len());
    let evened = |text: &String| {
        let (number, unit) = parts(text);
        let same = texts.iter().map(|other| parts(other)).filter(|(_, other)| *other == unit);
        let most = same.map(|(number, _)| decimals(&number)).max().unwrap_or(0);
        match number.parse::<f64>() {
            Ok(value) if value != 0.0 && !number.contains('e') => {
                format!("{value:.most$} {unit}").trim_end().to_owned()
            }
            _ => text.clone(),
        }
    };
    texts.iter().map(evened).collect()
}

/// Tick labels below the plot, and the axis title below them. Labels that would touch the one
/// before are left out.
pub(super) fn feet(ticks: &[(f64, String)], hint: &str) -> Markup {
    let middle = f64::midpoint(ACROSS.0, ACROSS.1);
    let mut taken = f64::NEG_INFINITY;
    let has_room = |tick: &&(f64, String)| {
        let (x, text) = *tick;
        let half = half_width(text);
        let left = if anchor(*x, text) == "end" { x - 2.0 * half } else { x - half };
        let fits = left >= taken;
        if fits {
            taken = left + 2.0 * half + TICK_GAP;
        }
        fits
    };
    let shown: Vec<&(f64, String)> = ticks.iter().filter(has_room).collect();
    html! {
        @for (x, text) in shown {
            text class="tick" x=(px(*x)) y=(px(DOWN.1 + 17.0)) text-anchor=(anchor(*x, text)) {
                (text)
            }
        }
        text class="hint" x=(px(middle)) y=(px(HEIGHT - 5.0)) text-anchor="middle" { (hint) }
    }
}

/// Text anchor that keeps a label inside the drawing's right edge.
fn anchor(x: f64, text: &str) -> &'static str {
    if x + half_width(text) > WIDTH { "end" } else { "middle" }
}

/// Least distance between two tick labels.
const TICK_GAP: f64 = 6.0;

/// Half the width of a tick label, of at most 8 units a character.
fn half_width(text: &str) -> f64 {
    text.chars().count() as f64 * 4.0
}

/// Path through points; `None` for fewer than two. Interior points of a horizontal run are left
/// out.
pub(super) fn path(points: &[(f64, f64)]) -> Option<String> {
    let texts: Vec<(String, String)> = points.iter().map(|&(x, y)| (px(x), px(y))).collect();
    let level = |place: usize| {
        let y = &texts[place].1;
        place > 0
            && texts.get(place + 1).is_some_and(|(_, next)| next == y)
            && texts[place - 1].1 == *y
    };
    let kept = (0..texts.len()).filter(|&place| !level(place));
    let parts: Vec<String> =
        kept.map(|place| format!("{} {}", texts[place].0, texts[place].1)).collect();
    (parts.len() > 1).then(|| format!("M{}", parts.join("L")))
}

/// Path of all points, which saves space: a zero-length line with round caps is a dot.
pub(super) fn dot_path(points: impl Iterator<Item = (f64, f64)>) -> String {
    points.fold(String::new(), |path, (x, y)| path + &format!("M{} {}h0", px(x), px(y)))
}

/// Draws all points as one path.
pub(super) fn dots(points: impl Iterator<Item = (f64, f64)>) -> Markup {
    let path = dot_path(points);
    html! { @if !path.is_empty() { path class="dots" d=(path) {} } }
}

/// Indices of at most `most` of `count` items, evenly spread, including the first and the last.
pub(super) fn spread(count: usize, most: usize) -> Vec<usize> {
    if count <= most || most < 2 {
        return (0..count).collect();
    }
    (0..most).map(|place| place * (count - 1) / (most - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::{even, path, spread};

    #[test]
    fn ticks_have_equally_many_decimals() {
        let even =
            |texts: &[&str]| even(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        assert_eq!(even(&["0", "3.6 ms", "3.65 ms"]), ["0", "3.60 ms", "3.65 ms"]);
        assert_eq!(even(&["500 ns", "1.5 µs", "2 µs"]), ["500 ns", "1.5 µs", "2.0 µs"]);
        assert_eq!(even(&["5,000", "10,000"]), ["5,000", "10,000"]);
    }

    #[test]
    fn a_level_stretch_is_two_points() {
        let points = [(0.0, 5.0), (1.0, 5.0), (2.0, 5.0), (3.0, 5.0), (4.0, 9.0)];
        assert_eq!(path(&points).unwrap(), "M0 5L3 5L4 9");
        assert_eq!(path(&points[..1]), None);
        assert_eq!(path(&[]), None);
    }

    #[test]
    fn a_long_list_is_thinned_from_end_to_end() {
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert_eq!(spread(101, 5), [0, 25, 50, 75, 100]);
        assert!(spread(0, 5).is_empty());
    }
}
