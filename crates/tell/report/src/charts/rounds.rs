//! What every trial measured, round by round: a mark for each trial, the marks of a round joined.
//!
//! What a round has in common shows as lines of one slope, a drift as marks that climb, a trial
//! that went wrong as a mark far from the others.

use maud::{Markup, html};
use treering_model::{Better, Unit};

use super::axis::{Axis, Scale};
use super::mark::{Shape, line, mark, px};
use super::{Rounds, RoundsSide};
use crate::escape::visible;
use crate::{Cell, Number};

/// The sides that a chart can tell apart, the baseline included.
pub(crate) const MOST_SIDES: usize = 6;

const SHAPES: [Shape; MOST_SIDES] =
    [Shape::Circle, Shape::Square, Shape::Up, Shape::Diamond, Shape::Down, Shape::Cross];

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 236.0;

/// From where to where the marks go.
const ACROSS: (f64, f64) = (60.0, 398.0);
const DOWN: (f64, f64) = (10.0, 196.0);

/// From this ratio of the largest to the smallest value on, zero is on the axis, …
const SHOWS_ZERO: f64 = 2.0;
/// … and from this one on, the axis is logarithmic.
const IS_LOG: f64 = 20.0;

/// How many rounds are numbered one by one.
const NUMBERED: usize = 12;

/// The chart with its legend.
pub(super) fn figure(rounds: &Rounds) -> Markup {
    let axis = axis(rounds);
    let better = match rounds.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let remark = match (axis.scale, axis.low > 0.0) {
        (Scale::Log, _) => "Logarithmic axis.",
        (Scale::Linear, true) => "Axis starts above 0.",
        (Scale::Linear, false) => "",
    };
    html! {
        figure class="chart rounds" {
            figcaption {
                b { (visible(&rounds.metric)) } " by round, " (better) ". "
                span class="aside" { (remark) }
                ul class="legend" {
                    @for (place, side) in rounds.sides.iter().enumerate() {
                        (legend(side, place, rounds.unit))
                    }
                }
            }
            (drawing(rounds, &axis))
            @if rounds.left_out > 0 {
                p class="aside" {
                    "Charts left out here, their values being among the raw numbers: "
                    (rounds.left_out) "."
                }
            }
        }
    }
}

fn legend(side: &RoundsSide, place: usize, unit: Unit) -> Markup {
    let median = median(side);
    html! {
        li class=(class(place)) {
            svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 14 14" aria-hidden="true" {
                (mark(shape(place), 7.0, 7.0, 4.5))
            }
            bdi { (visible(&side.name)) }
            @if let Some(median) = median {
                span class="aside" { " median " (shown(median, unit)) }
            }
        }
    }
}

fn class(place: usize) -> String {
    format!("s{}", place % MOST_SIDES)
}

fn shape(place: usize) -> Shape {
    SHAPES[place % MOST_SIDES]
}

fn shown(value: f64, unit: Unit) -> String {
    Cell::measured(value, unit).shown("")
}

fn present(side: &RoundsSide) -> impl Iterator<Item = f64> {
    side.values.iter().flatten().copied().filter(|value| value.is_finite())
}

fn median(side: &RoundsSide) -> Option<f64> {
    let mut values: Vec<f64> = present(side).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let high = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    values.get(middle.wrapping_sub(1)).map(|low| low / 2.0 + high / 2.0)
}

/// The axis of the values: logarithmic when they differ much, with zero when that costs little.
fn axis(rounds: &Rounds) -> Axis {
    let values = || rounds.sides.iter().flat_map(present);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    let places = (DOWN.1, DOWN.0);
    if low > 0.0 && high / low >= IS_LOG {
        return Axis::new(Scale::Log, (low / 1.2, high * 1.2), places);
    }
    let room = (high / 2.0 - low / 2.0) * 0.16;
    if low >= 0.0 && (low == 0.0 || high / low >= SHOWS_ZERO) {
        return Axis::new(Scale::Linear, (0.0, high + room), places);
    }
    Axis::new(Scale::Linear, (low - room, high + room), places)
}

fn drawing(rounds: &Rounds, axis: &Axis) -> Markup {
    let count = rounds.sides.iter().map(|side| side.values.len()).max().unwrap_or(0);
    let slot = (ACROSS.1 - ACROSS.0) / count.max(1) as f64;
    let said = format!("{} of each trial, by round", visible(&rounds.metric));
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(said)
            viewBox=(format!("0 0 {} {}", px(WIDTH), px(HEIGHT))) {
            (grid(axis, rounds.unit))
            (numbers(count, slot, rounds.paired))
            @for (place, side) in rounds.sides.iter().enumerate() {
                @if let Some(median) = median(side) {
                    @let y = axis.place(median);
                    g class=(class(place)) {
                        title { (visible(&side.name)) ": median " (shown(median, rounds.unit)) }
                        (line("median", (ACROSS.0, y), (ACROSS.1, y)))
                    }
                }
            }
            @for round in 0..count {
                (of_round(rounds, axis, round, slot))
            }
        }
    }
}

fn grid(axis: &Axis, unit: Unit) -> Markup {
    html! {
        @for (value, text) in axis.ticks(5) {
            @let y = axis.place(value);
            (line("grid", (ACROSS.0, y), (ACROSS.1, y)))
            text class="tick" x=(px(ACROSS.0 - 6.0)) y=(px(y + 4.0)) text-anchor="end" {
                // What people read in ns or bytes comes with a unit of its own.
                @let number = Number::measured(value, unit);
                @if number.style.scales() { (number.text()) } @else { (text) }
            }
        }
    }
}

/// The numbers of the rounds below the plot.
fn numbers(count: usize, slot: f64, paired: bool) -> Markup {
    let stride = count.div_ceil(NUMBERED).max(1);
    let middle = f64::midpoint(ACROSS.0, ACROSS.1);
    html! {
        @for round in (0..count).filter(|round| round % stride == 0) {
            text class="tick" x=(px(ACROSS.0 + slot * (round as f64 + 0.5)))
                y=(px(DOWN.1 + 17.0)) text-anchor="middle" { (round + 1) }
        }
        text class="hint" x=(px(middle)) y=(px(HEIGHT - 5.0)) text-anchor="middle" {
            @if paired { "round" } @else { "trial of its side (not paired)" }
        }
    }
}

/// The marks of a round, side by side, joined by a line.
fn of_round(rounds: &Rounds, axis: &Axis, round: usize, slot: f64) -> Markup {
    let sides = rounds.sides.len();
    let apart = (slot * 0.8 / sides as f64).min(16.0);
    let size = (apart * 0.48).clamp(1.5, 5.0);
    let middle = ACROSS.0 + slot * (round as f64 + 0.5);
    let x = |place: usize| middle + (place as f64 - (sides as f64 - 1.0) / 2.0) * apart;
    let points: Vec<(usize, f64)> = (rounds.sides.iter().enumerate())
        .filter_map(|(place, side)| Some((place, *side.values.get(round)?.as_ref()?)))
        .collect();
    let path: Vec<String> = points
        .iter()
        .map(|&(place, value)| format!("{} {}", px(x(place)), px(axis.place(value))))
        .collect();
    let word = if rounds.paired { "round" } else { "trial" };
    html! {
        @if rounds.paired && path.len() > 1 {
            path class="join" d=(format!("M{}", path.join("L"))) {}
        }
        @for (place, value) in points {
            g class=(class(place)) {
                title {
                    (visible(&rounds.sides[place].name)) ", " (word) " " (round + 1) ": "
                    (shown(value, rounds.unit))
                }
                (mark(shape(place), x(place), axis.place(value), size))
            }
        }
    }
}
