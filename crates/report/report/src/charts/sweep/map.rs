//! Map of two swept keys as rows and columns. Better cells have a deeper colour, and the text of a
//! cell is its share of the best value.

use maud::{Markup, html};
use treering_model::BetterDirection;

use super::super::SweepMap;
use super::super::figure::Figure;
use super::super::mark::px;
use super::super::plot::{ACROSS, DOWN, HEIGHT, WIDTH, feet, spread};
use crate::Cell;
use crate::escape::visible;

/// Maximum number of labelled rows and columns.
const LABELS_MAX: usize = 10;
/// Minimum width and height of a cell with text.
const TEXT_CELL_MIN: (f64, f64) = (30.0, 14.0);
/// Opacities of the worst and the best cell.
const DEPTHS: (f64, f64) = (0.06, 0.75);

pub(in super::super) fn figure(chart: &SweepMap) -> Figure {
    let (down, across) = (visible(&chart.rows.key), visible(&chart.columns.key));
    Figure {
        class: "rounds",
        title: visible(&chart.metric),
        subtitle: format!(" by {down} (down) and {across} (across), {}.", chart.better.phrase()),
        aside: "In percent of the best; deeper is better.".to_owned(),
        key: String::new(),
        legend: Vec::new(),
        spoken: format!("{} by {down} and {across}", visible(&chart.metric)),
        size: (WIDTH, HEIGHT),
        drawing: drawing(chart),
        narrow: None,
        below: String::new(),
    }
}

fn drawing(chart: &SweepMap) -> Markup {
    let (rows, columns) = (&chart.rows.values, &chart.columns.values);
    let width = (ACROSS.1 - ACROSS.0) / columns.len().max(1) as f64;
    let height = (DOWN.1 - DOWN.0) / rows.len().max(1) as f64;
    let middle = |at: usize| ACROSS.0 + width * (at as f64 + 0.5);
    let level = |at: usize| DOWN.0 + height * (at as f64 + 0.5);
    let named = spread(columns.len(), LABELS_MAX).into_iter();
    let ticks: Vec<(f64, String)> = named.map(|at| (middle(at), visible(&columns[at]))).collect();
    let means = || chart.means.iter().flatten().flatten().copied();
    let (low, high) =
        (means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max));
    let is_higher = chart.better == BetterDirection::Higher;
    let best = if is_higher { high } else { low };
    let depth = |mean: f64| {
        // The scale is logarithmic like the errors of the curves: equal ratios have equal
        // distances.
        let share = if high > low { (mean / low).ln() / (high / low).ln() } else { 1.0 };
        let share = if is_higher { share } else { 1.0 - share };
        DEPTHS.0 + (DEPTHS.1 - DEPTHS.0) * share.clamp(0.0, 1.0)
    };
    let has_room = width >= TEXT_CELL_MIN.0 && height >= TEXT_CELL_MIN.1;
    let cells = || {
        chart.means.iter().enumerate().flat_map(|(row, means)| {
            means.iter().enumerate().filter_map(move |(column, mean)| Some((row, column, (*mean)?)))
        })
    };
    html! {
        @for at in spread(rows.len(), LABELS_MAX) {
            text class="tick" x=(px(ACROSS.0 - 6.0)) y=(px(level(at) + 4.0)) text-anchor="end" {
                (visible(&rows[at]))
            }
        }
        (feet(&ticks, &visible(&chart.columns.key)))
        @for (row, column, mean) in cells() {
            @let (x, y) = (middle(column), level(row));
            @let (left, top) = (x - width / 2.0 + 0.5, y - height / 2.0 + 0.5);
            g class="map-1" {
                title {
                    (visible(&chart.rows.key)) " " (visible(&rows[row])) ", "
                    (visible(&chart.columns.key)) " " (visible(&columns[column])) ": "
                    (Cell::measured(mean, chart.unit).shown(""))
                }
                path fill-opacity=(format!("{:.2}", depth(mean)))
                    d=(rectangle((left, top), (width - 1.0, height - 1.0))) {}
                @if has_room {
                    text class="value" x=(px(x)) y=(px(y + 4.5)) text-anchor="middle" {
                        (format!("{:.0}", 100.0 * mean / best))
                    }
                }
            }
        }
    }
}

fn rectangle((left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    format!("M{} {}h{}v{}h-{}z", px(left), px(top), px(width), px(height), px(width))
}
