//! Timeline of a phase's rate: for each variant the median over the rounds as a line, over a shaded
//! area from the slowest to the fastest round.

use maud::{Markup, html};

use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{mark, px, trimmed};
use super::plot::{
    ACROSS, DOWN, HEIGHT, WIDTH, axis_remark, class, feet, path, shape, spread, value_grid,
};
use super::{Timeline, TimelineVariant};
use crate::escape::visible;
use crate::{Number, NumberStyle};

/// Number of marks on a line, whose shapes distinguish variants without colour.
const MARKS: usize = 7;

/// Number of positions with a tooltip, each listing the values of all variants.
const SPOTS: usize = 24;

/// Durations in seconds above which the axis is in minutes, and in hours.
const MINUTES_FROM: f64 = 600.0;
const HOURS_FROM: f64 = 5.0 * 3600.0;

pub(super) fn figure(timeline: &Timeline) -> Figure {
    let (phase, unit) = (visible(&timeline.phase), visible(&timeline.unit));
    let up = axis(timeline);
    let slices = match timeline.slice_seconds {
        1 => String::new(),
        seconds => format!("Means of {} s. ", Number::whole(seconds).text()),
    };
    Figure {
        class: "timeline",
        title: format!("{phase}: {unit}"),
        subtitle: " over time, higher is better.".to_owned(),
        aside: format!("{slices}{}", axis_remark(&up)).trim_end().to_owned(),
        key: if timeline.variants.iter().any(|variant| variant.rounds > 1) {
            "Line: median over the rounds; upright: from the slowest to the fastest.".to_owned()
        } else {
            String::new()
        },
        legend: legend(timeline),
        spoken: format!("{unit} over time in {phase}"),
        size: (WIDTH, HEIGHT),
        drawing: drawing(timeline, &up),
        narrow: None,
        below: String::new(),
    }
}

fn legend(timeline: &Timeline) -> Vec<LegendEntry> {
    let entry = |(place, variant): (usize, &TimelineVariant)| {
        let rounds = match variant.rounds {
            1 => String::new(),
            rounds => format!("median of {rounds} rounds"),
        };
        LegendEntry {
            class: class(place, timeline.variants.len()),
            shape: shape(place),
            name: visible(&variant.name),
            text: if variant.slices.is_empty() { "too short".to_owned() } else { rounds },
        }
    };
    timeline.variants.iter().enumerate().map(entry).collect()
}

/// Rate axis, always including zero so that stalls are visible.
fn axis(timeline: &Timeline) -> Axis {
    let highs = timeline.variants.iter().flat_map(|variant| &variant.slices).map(|slice| slice.2);
    let high = highs.fold(0.0, f64::max);
    let high = if high > 0.0 { high * 1.06 } else { 1.0 };
    Axis::new(AxisScale::Linear, (0.0, high), (DOWN.1, DOWN.0))
}

/// Time axis, with the name of its unit and the number of seconds in the unit.
fn across(timeline: &Timeline) -> (Axis, &'static str, f64) {
    let most =
        timeline.variants.iter().map(|variant| variant.slices.len()).max().unwrap_or(0).max(1);
    let seconds = most as f64 * timeline.slice_seconds as f64;
    let (word, unit) = if seconds >= HOURS_FROM {
        ("hours", 3600.0)
    } else if seconds >= MINUTES_FROM {
        ("minutes", 60.0)
    } else {
        ("seconds", 1.0)
    };
    (Axis::new(AxisScale::Linear, (0.0, seconds / unit), ACROSS), word, unit)
}

fn drawing(timeline: &Timeline, up: &Axis) -> Markup {
    let (across, word, unit) = across(timeline);
    let slice = timeline.slice_seconds as f64 / unit;
    let x = |place: usize| across.place((place as f64 + 0.5) * slice);
    let ticks = across.ticks(5).into_iter();
    let ticks: Vec<(f64, String)> =
        ticks.map(|(value, text)| (across.place(value), trimmed(&text))).collect();
    let variants = timeline.variants.len();
    html! {
        (value_grid(up, |_| None))
        (feet(&ticks, &format!("{word} from the start of the phase")))
        @for (place, variant) in timeline.variants.iter().enumerate() {
            g class=(class(place, variants)) {
                @if variants > 1 {
                    (whiskers(timeline, place, up, x))
                } @else if let Some(path) = swath(variant, up, x) {
                    path class="swath" d=(path) {}
                }
            }
        }
        @for (place, variant) in timeline.variants.iter().enumerate() {
            @let line: Vec<(f64, f64)> = (variant.slices.iter().enumerate())
                .map(|(slice, (median, ..))| (x(slice), up.place(*median)))
                .collect();
            g class=(class(place, variants)) {
                @if let Some(path) = path(&line) { path class="curve" d=(path) {} }
                // Variants have their marks at different slices, so that marks do not overlap.
                @for (number, at) in spread(line.len(), MARKS * variants).into_iter().enumerate() {
                    @if variants > 1 && number % variants == place {
                        (mark(shape(place), line[at].0, line[at].1, 3.4))
                    }
                }
            }
        }
        (spots(timeline, &across, slice, word))
    }
}

/// Draws lines from the slowest to the fastest round at some slices, with those of the variants
/// side by side, since areas would blend.
fn whiskers(timeline: &Timeline, place: usize, up: &Axis, x: impl Fn(usize) -> f64) -> Markup {
    let variants = timeline.variants.len();
    let slices = &timeline.variants[place].slices;
    let aside = (place as f64 - (variants as f64 - 1.0) / 2.0) * 2.6;
    let parts = spread(slices.len(), WHISKERS).into_iter().filter_map(|at| {
        let (_, low, high) = slices[at];
        let (top, foot) = (px(up.place(high)), px(up.place(low)));
        (low < high).then(|| format!("M{} {top}V{foot}", px(x(at) + aside)))
    });
    let path: String = parts.collect();
    html! { @if !path.is_empty() { path class="whisker" d=(path) {} } }
}

/// Maximum number of slices of a variant with a line from the slowest to the fastest round.
const WHISKERS: usize = 24;

/// Area from the slowest to the fastest round; `None` where it has no height.
fn swath(variant: &TimelineVariant, up: &Axis, x: impl Fn(usize) -> f64) -> Option<String> {
    if variant.slices.iter().all(|(_, low, high)| low == high) {
        return None;
    }
    let slices = || variant.slices.iter().enumerate();
    let highs: Vec<(f64, f64)> = slices().map(|(at, slice)| (x(at), up.place(slice.2))).collect();
    let lows: Vec<(f64, f64)> =
        slices().rev().map(|(at, slice)| (x(at), up.place(slice.1))).collect();
    Some(format!("{}L{}Z", path(&highs)?, path(&lows)?.strip_prefix('M')?))
}

/// Draws invisible tooltip areas over the plot, which list the values of every variant.
fn spots(timeline: &Timeline, across: &Axis, slice: f64, word: &str) -> Markup {
    let most = timeline.variants.iter().map(|variant| variant.slices.len()).max().unwrap_or(0);
    let stride = most.div_ceil(SPOTS).max(1);
    html! {
        @for first in (0..most).step_by(stride) {
            @let at = first + stride / 2;
            @let (from, to) = (first as f64 * slice, (first + stride).min(most) as f64 * slice);
            rect class="spot" x=(px(across.place(from))) y=(px(DOWN.0))
                width=(px(across.place(to) - across.place(from))) height=(px(DOWN.1 - DOWN.0)) {
                title {
                    (short(at as f64 * slice)) " " (word)
                    @for variant in &timeline.variants {
                        @if let Some(slice) = variant.slices.get(at) {
                            (reported(variant, slice, timeline))
                        }
                    }
                }
            }
        }
    }
}

/// Formats the values of a variant: `; ext4: 210.5 MiB/s (190.0–230.1)`.
fn reported(
    variant: &TimelineVariant,
    &(median, low, high): &(f64, f64, f64),
    timeline: &Timeline,
) -> String {
    let text =
        |value: f64| Number { value, unit: String::new(), style: NumberStyle::Measured }.text();
    let range =
        if low < high { format!(" ({}–{})", text(low), text(high)) } else { String::new() };
    format!("; {}: {} {}{range}", visible(&variant.name), text(median), visible(&timeline.unit))
}

fn short(value: f64) -> String {
    trimmed(&format!("{value:.2}"))
}
