//! Chart of amounts as horizontal bars with their figures: the time of each kind of task.
//!
//! Drawn twice: wide with the names beside the bars, and narrow with the names above them; the
//! page's style shows the one that fits.

use maud::{Markup, html};

use super::Bars;
use super::axis::{Axis, AxisScale};
use super::figure::Figure;
use super::mark::{label, line, px};
use crate::escape::visible;

/// Geometry of a layout.
struct BarsLayout {
    width: f64,
    /// Left and right edge of the bars.
    across: (f64, f64),
    /// Height of a row, and the top of the bar in it.
    row: (f64, f64),
    /// Space for a name.
    name: f64,
    /// Left edge of the figures; `None` for figures above the bar, at the right.
    figures: Option<f64>,
    /// Maximum number of ticks.
    ticks: usize,
}

const WIDE: BarsLayout = BarsLayout {
    width: 1100.0,
    across: (190.0, 800.0),
    row: (26.0, 6.0),
    name: 180.0,
    figures: Some(814.0),
    ticks: 8,
};
const NARROW: BarsLayout = BarsLayout {
    width: 380.0,
    across: (4.0, 376.0),
    row: (42.0, 24.0),
    name: 150.0,
    figures: None,
    ticks: 5,
};

/// Height of a bar.
const BAR: f64 = 14.0;
/// Height of the axis with its labels below the bars.
const FOOT: f64 = 42.0;
const TOP: f64 = 4.0;

/// Chart in its wide and its narrow layout.
pub(super) fn figure(bars: &Bars) -> Figure {
    let entry = |bar: &super::Bar| format!("{}: {}", visible(&bar.name), visible(&bar.figures));
    let entries: Vec<String> = bars.bars.iter().map(entry).collect();
    Figure {
        class: "bars",
        title: visible(&bars.title),
        subtitle: visible(&bars.subtitle),
        aside: String::new(),
        key: String::new(),
        legend: Vec::new(),
        spoken: format!("{}. {}", visible(&bars.title), entries.join("; ")),
        size: size(bars, &WIDE),
        drawing: drawing(bars, &WIDE),
        narrow: Some((size(bars, &NARROW), drawing(bars, &NARROW))),
        below: String::new(),
    }
}

fn size(bars: &Bars, layout: &BarsLayout) -> (f64, f64) {
    (layout.width, TOP + bars.bars.len() as f64 * layout.row.0 + FOOT)
}

fn drawing(bars: &Bars, layout: &BarsLayout) -> Markup {
    let most = bars.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let axis = Axis::new(AxisScale::Linear, (0.0, most), layout.across);
    let bottom = TOP + bars.bars.len() as f64 * layout.row.0 + 4.0;
    let middle = f64::midpoint(layout.across.0, layout.across.1);
    html! {
        @for (value, text) in axis.ticks(layout.ticks) {
            @let x = axis.place(value);
            (line("grid", (x, TOP), (x, bottom)))
            text class="tick" x=(px(x)) y=(px(bottom + 16.0)) text-anchor="middle" { (text) }
        }
        text class="hint" x=(px(middle)) y=(px(bottom + 33.0)) text-anchor="middle" {
            (bars.unit.symbol())
        }
        @for (place, bar) in bars.bars.iter().enumerate() {
            @let top = TOP + place as f64 * layout.row.0;
            @let (name, figures) = match layout.figures {
                Some(_) => (top + layout.row.1 + 11.5, top + layout.row.1 + 11.5),
                None => (top + 17.0, top + 17.0),
            };
            g class="s1" {
                title { (visible(&bar.name)) ": " (visible(&bar.figures)) }
                path d=(format!("M{} {}H{}v{BAR}H{}z", px(axis.place(0.0)),
                    px(top + layout.row.1), px(axis.place(bar.value)), px(axis.place(0.0)))) {}
            }
            text class="name" x="0" y=(px(name)) { (label(&bar.name, layout.name)) }
            @match layout.figures {
                Some(x) => {
                    text class="value" x=(px(x)) y=(px(figures)) {
                        (label(&bar.figures, layout.width - x))
                    }
                },
                None => {
                    text class="value aside" x=(px(layout.width)) y=(px(figures))
                        text-anchor="end" { (label(&bar.figures, layout.width - layout.name)) }
                },
            }
        }
    }
}
