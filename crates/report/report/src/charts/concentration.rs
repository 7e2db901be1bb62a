//! Chart of access concentration: share of the accesses over share of the data, above the diagonal
//! of uniform access.

use maud::{Markup, html};

use super::Concentration;
use super::axis::{Axis, AxisScale};
use super::figure::Figure;
use super::mark::line;
use super::plot::{ACROSS, DOWN, HEIGHT, WIDTH, class, feet, path, value_grid};
use crate::escape::visible;

/// Tick values of both shares, in percent.
const TICKS: [f64; 6] = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0];

pub(super) fn figure(concentration: &Concentration) -> Figure {
    let of = visible(&concentration.of);
    Figure {
        class: "concentration",
        title: format!("Accesses on the hottest data: {of}"),
        subtitle: ", the hottest data from the left.".to_owned(),
        aside: String::new(),
        key: String::new(),
        legend: Vec::new(),
        spoken: format!("Share of the accesses by share of the data of {of}"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(&concentration.curve),
        narrow: None,
        below: "The straight line: all parts of the data are used equally.".to_owned(),
    }
}

fn drawing(curve: &[(f64, f64)]) -> Markup {
    let across = Axis::new(AxisScale::Linear, (0.0, 100.0), ACROSS);
    let up = Axis::new(AxisScale::Linear, (0.0, 100.0), (DOWN.1, DOWN.0));
    let at = |data: f64, accesses: f64| (across.place(data), up.place(accesses));
    let ticks: Vec<(f64, String)> =
        TICKS.iter().map(|percent| (across.place(*percent), format!("{percent}"))).collect();
    let points: Vec<(f64, f64)> =
        curve.iter().map(|(data, accesses)| at(100.0 * data, 100.0 * accesses)).collect();
    html! {
        (value_grid(&up, |percent| Some(format!("{percent} %"))))
        @for (x, _) in &ticks { (line("grid", (*x, DOWN.0), (*x, DOWN.1))) }
        (line("grid", at(0.0, 0.0), at(100.0, 100.0)))
        (feet(&ticks, "percent of the data accessed"))
        g class=(class(0, 1)) {
            @if let Some(path) = path(&points) { path class="curve" d=(path) {} }
        }
    }
}
