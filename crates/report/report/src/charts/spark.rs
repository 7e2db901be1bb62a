//! Sparkline for a table cell: the course of a value, its changes of level, and its newest point.

use maud::{Markup, html};

use super::axis::{Axis, AxisScale};
use super::mark::{MarkShape, line, mark, px};
use super::plot::path;

/// Size of the drawing in its own units.
const SIZE: (f64, f64) = (132.0, 34.0);
/// Horizontal and vertical extent of the points.
const ACROSS: (f64, f64) = (5.0, 127.0);
const DOWN: (f64, f64) = (5.0, 29.0);

/// Maximum number of points drawn; longer series are reduced to medians of neighbours.
const POINTS: usize = 64;

/// Minimum half-height of the axis as a share of the median, so that noise looks small.
const LEAST: f64 = 0.05;

/// Values of a sparkline.
pub(crate) struct SparkValues<'a> {
    /// Values over time, finite; at least one.
    pub(crate) values: &'a [f64],
    /// Changes of level.
    pub(crate) changes: Vec<SparkChange>,
    /// Text alternative of the sparkline.
    pub(crate) spoken: String,
}

/// A change of level.
pub(crate) struct SparkChange {
    /// Index of the first point of the new level, from 0.
    pub(crate) index: usize,
    /// True when the new level is worse.
    pub(crate) is_worse: bool,
}

impl SparkValues<'_> {
    /// Renders the sparkline.
    pub(crate) fn svg(&self) -> Markup {
        let values = thinned(self.values);
        let axis = axis(&values);
        let count = self.values.len().max(2) as f64 - 1.0;
        let x = |share: f64| ACROSS.0 + share * (ACROSS.1 - ACROSS.0);
        let last = values.len().max(2) as f64 - 1.0;
        let place = |(at, value): (usize, &f64)| (x(at as f64 / last), axis.place(*value));
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(place).collect();
        html! {
            svg class="spark" role="img" aria-label=(self.spoken)
                viewBox=(format!("0 0 {} {}", px(SIZE.0), px(SIZE.1))) {
                @for change in &self.changes {
                    @let (word, shape) = if change.is_worse {
                        ("worse", MarkShape::Down)
                    } else {
                        ("better", MarkShape::Up)
                    };
                    @let x = x((change.index as f64 - 0.5) / count);
                    g class=(word) {
                        (line("cut", (x, 0.0), (x, SIZE.1)))
                        (mark(shape, x, 4.5, 3.6))
                    }
                }
                @if let Some(path) = path(&points) { path class="curve" d=(path) {} }
                @if let Some((x, y)) = points.last() { (mark(MarkShape::Circle, *x, *y, 2.6)) }
            }
        }
    }
}

fn axis(values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let around = LEAST * median(values).abs();
    let middle = f64::midpoint(low, high);
    let ends = (low.min(middle - around), high.max(middle + around));
    Axis::new(AxisScale::Linear, ends, (DOWN.1, DOWN.0))
}

/// Reduces the values to the number drawn, keeping the newest one exact.
fn thinned(values: &[f64]) -> Vec<f64> {
    let Some((newest, before)) = values.split_last() else { return Vec::new() };
    let share = before.len().div_ceil(POINTS).max(1);
    before.chunks(share).map(median).chain([*newest]).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{DOWN, SparkChange, SparkValues, axis, thinned};

    #[test]
    fn many_points_are_thinned_and_the_newest_is_kept() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let few = thinned(&values);
        assert!(few.len() <= super::POINTS + 1, "{}", few.len());
        assert_eq!(few.last(), Some(&999.0));
        assert_eq!(thinned(&[3.0, 4.0]), [3.0, 4.0]);
    }

    #[test]
    fn noise_of_one_percent_does_not_fill_the_height() {
        let axis = axis(&[99.5, 100.0, 100.5]);
        let height = axis.place(99.5) - axis.place(100.5);
        assert!(height < (DOWN.1 - DOWN.0) / 8.0, "{height}");
    }

    #[test]
    fn a_single_point_is_a_dot_and_words_are_escaped() {
        let changes = vec![SparkChange { index: 0, is_worse: true }];
        let spoken = "a\"<b>".to_owned();
        let svg = SparkValues { values: &[1.0], changes, spoken }.svg().into_string();
        assert!(svg.contains("<circle") && !svg.contains("path class=\"curve\""), "{svg}");
        assert!(svg.contains("aria-label=\"a&quot;&lt;b&gt;\""), "{svg}");
    }
}
