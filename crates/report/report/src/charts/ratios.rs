//! Chart of the ratio of each round on a logarithmic axis, inverted where necessary so that more
//! than 1 is better. It has a mark for each round and a broken line for the estimate; the intervals
//! of the contenders are side by side at the right edge, since overlapping areas would blend.
//!
//! The chart is drawn twice, wide and narrow; the page's style shows the layout that fits. Unpaired
//! rounds are drawn in `rounds`.

use maud::{Markup, html};
use treering_model::BetterDirection;

use super::axis::{Axis, AxisScale};
use super::figure::{Figure, LegendEntry};
use super::mark::{change_text, line, mark, px, ratio_text};
use super::plot::{class, dots, shape};
use super::{RatioVariant, Ratios};
use crate::escape::visible;

/// Number of marks above which they are drawn as dots without tooltips.
const SINGLE_MARKS: usize = 1500;

/// Maximum of the axis as a natural logarithm: a ratio of a thousand in either direction.
const FARTHEST: f64 = 6.9;

/// Geometry of a layout.
struct RatiosLayout {
    size: (f64, f64),
    across: (f64, f64),
    down: (f64, f64),
    /// Maximum number of round labels.
    numbered: usize,
    /// True for tooltips at the marks; narrow screens have no pointer to hover with.
    has_tooltips: bool,
}

const WIDE: RatiosLayout = RatiosLayout {
    size: (1100.0, 216.0),
    across: (60.0, 1096.0),
    down: (10.0, 176.0),
    numbered: 30,
    has_tooltips: true,
};
const NARROW: RatiosLayout = RatiosLayout {
    size: (400.0, 226.0),
    across: (60.0, 396.0),
    down: (10.0, 186.0),
    numbered: 8,
    has_tooltips: false,
};

/// Width at the right edge for the interval of one contender.
const ASIDE: f64 = 20.0;

impl RatiosLayout {
    /// Left and right edge of the rounds, leaving space for the intervals of the contenders.
    fn rounds(&self, variants: usize) -> (f64, f64) {
        (self.across.0, self.across.1 - ASIDE * variants as f64)
    }
}

/// Chart in its wide and its narrow layout.
pub(super) fn figure(ratios: &Ratios) -> Figure {
    let ratios = &turned(ratios);
    let below = match ratios.left_out {
        0 => String::new(),
        more => format!("Charts omitted here (their values are among the raw numbers): {more}."),
    };
    let (metric, baseline) = (visible(&ratios.metric), visible(&ratios.baseline));
    Figure {
        class: "ratios",
        title: format!("{metric}, times as good as {baseline}"),
        subtitle: " by round; more is better.".to_owned(),
        aside: String::new(),
        key: "A mark is the ratio of one round, the line is the estimate; at the right edge its \
              interval."
            .to_owned(),
        legend: legend(ratios),
        spoken: format!("{metric}: times as good as {baseline} in each round"),
        size: WIDE.size,
        drawing: drawing(ratios, &WIDE),
        narrow: Some((NARROW.size, drawing(ratios, &NARROW))),
        below,
    }
}

/// Inverts the ratios if necessary, so that more is better.
fn turned(ratios: &Ratios) -> Ratios {
    if ratios.better == BetterDirection::Higher {
        return ratios.clone();
    }
    let variant = |variant: &RatioVariant| RatioVariant {
        ratios: variant.ratios.iter().map(|ratio| ratio.map(|ratio| 1.0 / ratio)).collect(),
        ratio: 1.0 / variant.ratio,
        interval: variant.interval.map(|(low, high)| (1.0 / high, 1.0 / low)),
        ..variant.clone()
    };
    Ratios {
        better: BetterDirection::Higher,
        variants: ratios.variants.iter().map(variant).collect(),
        ..ratios.clone()
    }
}

fn legend(ratios: &Ratios) -> Vec<LegendEntry> {
    let entry = |(place, variant): (usize, &RatioVariant)| LegendEntry {
        class: class(place + 1, ratios.variants.len() + 1),
        shape: shape(place + 1),
        name: visible(&variant.name),
        text: figures(variant),
    };
    ratios.variants.iter().enumerate().map(entry).collect()
}

/// Formats an estimate with its interval.
fn figures(variant: &RatioVariant) -> String {
    let interval = match variant.interval {
        Some((low, high)) => format!(" ({}–{})", ratio_text(low), ratio_text(high)),
        None if variant.unbounded => " (unbounded)".to_owned(),
        None => String::new(),
    };
    format!("{}{interval}", ratio_text(variant.ratio))
}

/// Logarithms of the lowest and highest ratio on the axis, which covers every round and the band
/// around 1.
fn ends(ratios: &Ratios) -> (f64, f64) {
    let margin = ratios.threshold.max(0.01).ln_1p() * 1.3;
    let mut ends = (-margin, margin);
    let values = ratios.variants.iter().flat_map(|variant| {
        variant.ratios.iter().flatten().copied().chain(std::iter::once(variant.ratio))
    });
    for ratio in values.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        let log = ratio.ln().clamp(-FARTHEST, FARTHEST);
        ends = (ends.0.min(log), ends.1.max(log));
    }
    let room = (ends.1 - ends.0) * 0.06;
    ((ends.0 - room).exp(), (ends.1 + room).exp())
}

fn drawing(ratios: &Ratios, layout: &RatiosLayout) -> Markup {
    let axis = Axis::new(AxisScale::Log, ends(ratios), (layout.down.1, layout.down.0));
    let count = ratios.numbers.len().max(1);
    let (left, inner) = layout.rounds(ratios.variants.len());
    let slot = (inner - left) / count as f64;
    let factor = 1.0 + ratios.threshold.max(0.0);
    let (top, bottom) = (axis.place(factor), axis.place(1.0 / factor));
    let unity = axis.place(1.0);
    let right = layout.across.1;
    html! {
        rect class="band" x=(px(left)) y=(px(top)) width=(px(right - left))
            height=(px(bottom - top)) {}
        @for (value, text) in axis.ticks(5) {
            @let y = axis.place(value);
            (line("grid", (left, y), (right, y)))
            text class="tick" x=(px(left - 6.0)) y=(px(y + 4.0)) text-anchor="end" { (text) }
        }
        (line("one", (left, unity), (right, unity)))
        (numbers(ratios, layout, slot))
        @for (place, variant) in ratios.variants.iter().enumerate() {
            g class=(class(place + 1, ratios.variants.len() + 1)) {
                title { (visible(&variant.name)) ": " (figures(variant)) }
                (line("median", (left, axis.place(variant.ratio)),
                    (inner, axis.place(variant.ratio))))
                (interval(variant, place, inner + ASIDE * (place as f64 + 0.5), &axis))
            }
        }
        @for (place, variant) in ratios.variants.iter().enumerate() {
            (marks(ratios, variant, place, layout, &axis))
        }
    }
}

/// Draws the interval of a contender as a vertical line with its estimate.
fn interval(variant: &RatioVariant, place: usize, x: f64, axis: &Axis) -> Markup {
    let bounds = if variant.unbounded { Some((0.0, f64::INFINITY)) } else { variant.interval };
    html! {
        @if let Some((low, high)) = bounds {
            @let (top, bottom) = (px(axis.place(high)), px(axis.place(low)));
            @let (left, x) = (px(x - 4.0), px(x));
            // An end without a cap lies beyond the axis.
            @let cap = |is_inside: bool, y: &str| {
                if is_inside { format!("M{left} {y}h8") } else { String::new() }
            };
            path class="whisker" d=(format!("M{x} {top}V{bottom}{}{}",
                cap(high <= axis.high, &top), cap(low >= axis.low, &bottom))) {}
        }
        (mark(shape(place + 1), x, axis.place(variant.ratio), 4.5))
    }
}

/// Draws the marks of a contender, offset so that marks of the same round are side by side.
fn marks(
    ratios: &Ratios,
    variant: &RatioVariant,
    place: usize,
    layout: &RatiosLayout,
    axis: &Axis,
) -> Markup {
    let variants = ratios.variants.len() as f64;
    let (left, inner) = layout.rounds(ratios.variants.len());
    let slot = (inner - left) / ratios.numbers.len().max(1) as f64;
    let apart = (slot * 0.8 / variants).min(16.0);
    let size = (apart * 0.48).clamp(1.5, 5.0);
    let x = |round: usize| {
        let middle = left + slot * (round as f64 + 0.5);
        middle + (place as f64 - (variants - 1.0) / 2.0) * apart
    };
    let points =
        variant.ratios.iter().enumerate().filter_map(|(round, ratio)| Some((round, (*ratio)?)));
    let class = class(place + 1, ratios.variants.len() + 1);
    html! {
        @if ratios.numbers.len() * ratios.variants.len() > SINGLE_MARKS {
            g class=(class) { (dots(points.map(|(round, ratio)| (x(round), axis.place(ratio))))) }
        } @else {
            @for (round, ratio) in points {
                g class=(class) {
                    @if layout.has_tooltips {
                        title {
                            (visible(&variant.name)) ", round "
                            (ratios.numbers.get(round).copied().unwrap_or_default()) ": "
                            (ratio_text(ratio)) " = " (change_text(ratio))
                        }
                    }
                    (mark(shape(place + 1), x(round), axis.place(ratio), size))
                }
            }
        }
    }
}

/// Draws round numbers below the plot; with many rounds only every second, fifth, tenth …
fn numbers(ratios: &Ratios, layout: &RatiosLayout, slot: f64) -> Markup {
    let count = ratios.numbers.len();
    let least = count.div_ceil(layout.numbered).max(1);
    let powers = (0..7).map(|power| 10usize.pow(power));
    let mut nice = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    let step = nice.find(|step| *step >= least).unwrap_or(least);
    let (left, inner) = layout.rounds(ratios.variants.len());
    let middle = f64::midpoint(left, inner);
    html! {
        @for (place, number) in ratios.numbers.iter().enumerate().step_by(step) {
            text class="tick" x=(px(layout.across.0 + slot * (place as f64 + 0.5)))
                y=(px(layout.down.1 + 17.0)) text-anchor="middle" { (number) }
        }
        text class="hint" x=(px(middle)) y=(px(layout.size.1 - 4.0)) text-anchor="middle" {
            "round"
        }
    }
}
