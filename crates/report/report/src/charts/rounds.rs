//! Chart of the values of each trial, round by round: a mark for each trial, with the marks of a
//! round joined.
//!
//! Effects common to a round show as lines of equal slope, a drift as rising marks, a failed trial
//! as an outlying mark.

use maud::{Markup, html};
use treering_model::Unit;

use super::axis::{Axis, AxisScale, date_ticks};
use super::figure::{Figure, LegendEntry};
use super::mark::{line, mark, px, shortened, trimmed};
use super::plot::{
    ACROSS, DOWN, HEIGHT, WIDTH, axis_remark, class, dots, feet, path, shape, spread, value_axis,
    value_grid,
};
use super::{Rounds, RoundsVariant};
use crate::escape::visible;
use crate::number::SHORT_SECONDS;
use crate::{Cell, Number};

/// Ratio of the largest to the smallest value from which the axis is logarithmic.
const LOG_FROM: f64 = 20.0;

/// Number of trials above which marks are dots without tooltips, drawn variant by variant.
const SINGLE_MARKS: usize = 1500;

/// Width per round from which intervals are drawn as single lines; with less width they form a
/// band.
const WHISKERS_FROM: f64 = 7.0;

/// Maximum number of rounds that are all numbered.
const ROUNDS_NUMBERED_MAX: usize = 12;

pub(super) fn figure(rounds: &Rounds) -> Figure {
    let mut values: Vec<f64> = rounds.variants.iter().flat_map(present).collect();
    let intervals = rounds.variants.iter().flat_map(|variant| variant.intervals.iter().flatten());
    values.extend(intervals.flat_map(|(low, high)| [*low, *high]).filter(|end| end.is_finite()));
    let axis = value_axis(values.iter().copied(), LOG_FROM);
    let better = rounds.better.phrase();
    let below = match rounds.left_out {
        0 if rounds.events.is_empty() => String::new(),
        0 => "Dotted lines: the environment changed; point at one to see how.".to_owned(),
        more => format!("Charts omitted here (their values are among the raw numbers): {more}."),
    };
    Figure {
        class: "rounds",
        title: visible(&rounds.metric),
        subtitle: format!(" by {}, {better}.", by(rounds)),
        aside: axis_remark(&axis).to_owned(),
        key: String::new(),
        legend: legend(rounds),
        spoken: format!("{} of each trial, by {}", visible(&rounds.metric), by(rounds)),
        size: (WIDTH, HEIGHT),
        drawing: drawing(rounds, &axis),
        narrow: None,
        below,
    }
}

/// Horizontal positions of the rounds.
struct RoundPlaces {
    middles: Vec<f64>,
    /// Width of a round, or the typical one on an axis of dates.
    slot: f64,
    /// Axis of dates.
    dates: Option<Axis>,
}

impl RoundPlaces {
    fn new(rounds: &Rounds) -> Self {
        let variants = rounds.variants.iter();
        let count = variants.map(|variant| variant.values.len()).max().unwrap_or(0);
        let slot = (ACROSS.1 - ACROSS.0) / count.max(1) as f64;
        if let (Some(first), Some(last)) = (rounds.times.first(), rounds.times.last())
            && rounds.times.len() == count
        {
            let room = slot.min(END_SPACE_MAX) / 2.0;
            let ends = (ACROSS.0 + room, ACROSS.1 - room);
            let axis = Axis::new(AxisScale::Linear, (*first as f64, *last as f64), ends);
            let middles = rounds.times.iter().map(|time| axis.place(*time as f64)).collect();
            return Self { middles, slot, dates: Some(axis) };
        }
        let middles = (0..count).map(|place| ACROSS.0 + slot * (place as f64 + 0.5)).collect();
        Self { middles, slot, dates: None }
    }

    fn middle(&self, place: usize) -> f64 {
        self.middles.get(place).copied().unwrap_or(ACROSS.0)
    }

    /// Position between a round and the previous one.
    fn before(&self, place: usize) -> f64 {
        match place.checked_sub(1) {
            Some(previous) => f64::midpoint(self.middle(previous), self.middle(place)),
            None => ACROSS.0,
        }
    }
}

/// Maximum space at both ends of an axis of dates.
const END_SPACE_MAX: f64 = 12.0;

/// Maximum number of dates or names below the plot.
const DATES_MAX: usize = 3;

/// Maximum length of a name below the plot.
const NAME_WIDTH_MAX: f64 = 76.0;

fn by(rounds: &Rounds) -> String {
    rounds.by.as_deref().map_or_else(|| "round".to_owned(), visible)
}

fn legend(rounds: &Rounds) -> Vec<LegendEntry> {
    let entry = |(place, variant): (usize, &RoundsVariant)| {
        let word = middle_word(rounds);
        let median = median(variant).map(|median| format!("{word} {}", shown(median, rounds.unit)));
        LegendEntry {
            class: class(place, rounds.variants.len()),
            shape: shape(place),
            name: visible(&variant.name),
            text: median.unwrap_or_default(),
        }
    };
    rounds.variants.iter().enumerate().map(entry).collect()
}

/// Word for the line in the middle of a variant's marks: the points of a series are estimates
/// themselves, and what stays the same between two changes is their level.
fn middle_word(rounds: &Rounds) -> &'static str {
    let is_series = rounds.by.is_some() && !rounds.paired && rounds.numbers.is_empty();
    if is_series { "level" } else { "median" }
}

impl Rounds {
    /// True for a series of seconds that are all shorter than a tenth: its axis has the units that
    /// suit them.
    pub(crate) fn has_short_times(&self) -> bool {
        let is_series = self.by.is_some() && !self.paired;
        let mut values = self.variants.iter().flat_map(present);
        is_series && self.unit == Unit::Seconds && values.all(|value| value.abs() < SHORT_SECONDS)
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value.abs() < 1.0 => Number::span(value).text(),
        unit => Cell::measured(value, unit).shown(""),
    }
}

fn present(variant: &RoundsVariant) -> impl Iterator<Item = f64> {
    variant.values.iter().flatten().copied().filter(|value| value.is_finite())
}

fn median(variant: &RoundsVariant) -> Option<f64> {
    let mut values: Vec<f64> = present(variant).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let high = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    values.get(middle.wrapping_sub(1)).map(|low| low / 2.0 + high / 2.0)
}

fn drawing(rounds: &Rounds, axis: &Axis) -> Markup {
    let places = RoundPlaces::new(rounds);
    let (count, slot) = (places.middles.len(), places.slot);
    let variants = rounds.variants.len();
    // Values in ns or bytes are formatted with a unit that suits their size.
    let text = |value: f64| {
        let number = if rounds.has_short_times() {
            Number::span(value)
        } else {
            Number::measured(value, rounds.unit)
        };
        number.style.scales().then(|| trimmed(&number.text()))
    };
    html! {
        (value_grid(axis, text))
        (feet_of(rounds, &places))
        (events(rounds, &places))
        @for (place, variant) in rounds.variants.iter().enumerate() {
            @if let Some(median) = median(variant) {
                @let y = axis.place(median);
                g class=(class(place, variants)) {
                    title {
                        (visible(&variant.name)) ": " (middle_word(rounds)) " "
                        (shown(median, rounds.unit))
                    }
                    @let (from, to) = extent(rounds, variant, &places);
                    (line("median", (from, y), (to, y)))
                }
            }
        }
        @if slot < WHISKERS_FROM { (bands(rounds, axis, &places)) }
        @if count * variants > SINGLE_MARKS {
            (crowd(rounds, axis, &places))
        } @else {
            @for round in 0..count { (of_round(rounds, axis, round, &places)) }
        }
    }
}

/// Left and right end of the line of a median: the whole axis, or in a series the points of the
/// level.
fn extent(rounds: &Rounds, variant: &RoundsVariant, places: &RoundPlaces) -> (f64, f64) {
    let is_series = rounds.by.is_some() && !rounds.paired && rounds.variants.len() > 1;
    let has_value = |value: &Option<f64>| value.is_some();
    let first = variant.values.iter().position(has_value);
    let last = variant.values.iter().rposition(has_value);
    match (first, last) {
        (Some(first), Some(last)) if is_series => {
            let half = places.slot.min(END_SPACE_MAX) / 2.0;
            let clamped = |x: f64| x.clamp(ACROSS.0, ACROSS.1);
            (clamped(places.middle(first) - half), clamped(places.middle(last) + half))
        }
        _ => ACROSS,
    }
}

/// Number of the round at an index.
fn number(rounds: &Rounds, place: usize) -> u64 {
    rounds.numbers.get(place).map_or(place as u64 + 1, |number| u64::from(*number))
}

/// Draws dates, names or round numbers below the plot.
fn feet_of(rounds: &Rounds, places: &RoundPlaces) -> Markup {
    if let Some(axis) = &places.dates {
        let (first, last) = (rounds.times[0], rounds.times[rounds.times.len() - 1]);
        let ticks = date_ticks(first, last, DATES_MAX).into_iter();
        let ticks: Vec<(f64, String)> =
            ticks.map(|(time, text)| (axis.place(time as f64), text)).collect();
        return feet(&ticks, &by(rounds));
    }
    if !rounds.keys.is_empty() {
        let shown = spread(places.middles.len().min(rounds.keys.len()), DATES_MAX).into_iter();
        let ticks: Vec<(f64, String)> = shown
            .map(|place| {
                (places.middle(place), shortened(&visible(&rounds.keys[place]), NAME_WIDTH_MAX))
            })
            .collect();
        return feet(&ticks, &format!("{}, in the order of time", by(rounds)));
    }
    numbers(rounds, places)
}

/// Draws round numbers below the plot; with many rounds only multiples of a step.
fn numbers(rounds: &Rounds, places: &RoundPlaces) -> Markup {
    let count = places.middles.len();
    let digits = (0..count).map(|place| number(rounds, place)).max().unwrap_or(1).to_string().len();
    let most = usize::min(ROUNDS_NUMBERED_MAX, 64 / (digits + 3)).max(2) as u64;
    let least = (count as u64).div_ceil(most);
    let powers = (0..18).map(|power| 10u64.pow(power));
    let mut nice = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    let step = nice.find(|step| *step >= least).unwrap_or(least);
    // Swept values are few and unevenly spaced, so all of them are labelled.
    let is_sweep = rounds.by.is_some() && !rounds.numbers.is_empty();
    let shown = (0..count).filter(|place| is_sweep || number(rounds, *place).is_multiple_of(step));
    let tick = |place: usize| (places.middle(place), number(rounds, place).to_string());
    let ticks: Vec<(f64, String)> = shown.map(tick).collect();
    let named = by(rounds);
    let foot = match &rounds.by {
        Some(_) if is_sweep => &*named,
        Some(_) => "point, in the order of time",
        None if rounds.paired => "round",
        None => "trial of its variant (not paired)",
    };
    feet(&ticks, foot)
}

/// Draws each event as a vertical line, with its description as a tooltip.
fn events(rounds: &Rounds, places: &RoundPlaces) -> Markup {
    html! {
        @for event in &rounds.events {
            @let x = places.before(event.place);
            g {
                title { (visible(&event.what)) }
                (line("event", (x, DOWN.0), (x, DOWN.1)))
            }
        }
    }
}

/// Draws the intervals of each variant as a band.
fn bands(rounds: &Rounds, axis: &Axis, places: &RoundPlaces) -> Markup {
    let x = |place: usize| places.middle(place);
    let band = |variant: &RoundsVariant| {
        let known = variant.intervals.iter().enumerate();
        let known: Vec<(usize, (f64, f64))> =
            known.filter_map(|(place, ends)| Some((place, (*ends)?))).collect();
        let highs = known.iter().map(|(place, ends)| (x(*place), axis.place(ends.1)));
        let lows = known.iter().rev().map(|(place, ends)| (x(*place), axis.place(ends.0)));
        let (highs, lows) = (path(&highs.collect::<Vec<_>>())?, path(&lows.collect::<Vec<_>>())?);
        Some(format!("{highs}L{}Z", lows.strip_prefix('M')?))
    };
    html! {
        @for (place, variant) in rounds.variants.iter().enumerate() {
            @if let Some(path) = band(variant) {
                g class=(class(place, rounds.variants.len())) { path class="swath" d=(path) {} }
            }
        }
    }
}

/// Draws all trials of each variant as dots.
fn crowd(rounds: &Rounds, axis: &Axis, places: &RoundPlaces) -> Markup {
    let variants = rounds.variants.len();
    let x = |place: usize| places.middle(place);
    let points = |variant: &RoundsVariant| -> Vec<(f64, f64)> {
        let values = variant.values.iter().enumerate();
        values.filter_map(|(round, value)| Some((x(round), axis.place((*value)?)))).collect()
    };
    html! {
        @for (place, variant) in rounds.variants.iter().enumerate() {
            g class=(class(place, variants)) { (dots(points(variant).into_iter())) }
        }
    }
}

fn interval(variant: &RoundsVariant, round: usize) -> Option<(f64, f64)> {
    variant.intervals.get(round).copied().flatten()
}

/// Draws the marks of a round side by side, joined by a line.
fn of_round(rounds: &Rounds, axis: &Axis, round: usize, places: &RoundPlaces) -> Markup {
    let (variants, slot) = (rounds.variants.len(), places.slot);
    // In a series each index has one value, in the level it belongs to, so marks need no offset.
    let beside = if rounds.by.is_some() && !rounds.paired { 1 } else { variants };
    let apart = (slot * 0.8 / beside as f64).min(16.0);
    let size = (apart * 0.48).clamp(if beside == 1 { 2.4 } else { 1.5 }, 5.0);
    let apart = if beside == 1 { 0.0 } else { apart };
    let middle = places.middle(round);
    let x = |place: usize| middle + (place as f64 - (variants as f64 - 1.0) / 2.0) * apart;
    let points: Vec<(usize, f64)> = (rounds.variants.iter().enumerate())
        .filter_map(|(place, variant)| Some((place, *variant.values.get(round)?.as_ref()?)))
        .collect();
    let joined: Vec<String> = points
        .iter()
        .map(|&(place, value)| format!("{} {}", px(x(place)), px(axis.place(value))))
        .collect();
    let word = match &rounds.by {
        Some(_) => "point",
        None if rounds.paired => "round",
        None => "trial",
    };
    html! {
        @if rounds.paired && joined.len() > 1 {
            path class="join" d=(format!("M{}", joined.join("L"))) {}
        }
        @for (place, value) in points {
            g class=(class(place, variants)) {
                title {
                    @match rounds.keys.get(round) {
                        Some(key) => (visible(key)),
                        None => {
                            (visible(&rounds.variants[place].name)) ", " (word) " "
                            (number(rounds, round))
                        },
                    }
                    ": " (shown(value, rounds.unit))
                    @if let Some((low, high)) = interval(&rounds.variants[place], round) {
                        " (" (shown(low, rounds.unit)) " to " (shown(high, rounds.unit)) ")"
                    }
                }
                @if let Some((low, high)) = interval(&rounds.variants[place], round)
                    .filter(|_| slot >= WHISKERS_FROM) {
                    @let (top, foot) = (axis.place(high), axis.place(low));
                    (line("whisker", (x(place), top), (x(place), foot)))
                }
                (mark(shape(place), x(place), axis.place(value), size))
            }
        }
    }
}
