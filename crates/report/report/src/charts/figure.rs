//! A chart with its texts: part of a page, or a file of its own.
//!
//! On a page the texts are HTML, which wraps at the page's width; in a file they are lines of the
//! drawing.

use maud::{Markup, PreEscaped, html};

use super::mark::{MarkShape, label, mark, px, wrapped};

/// Colours of the light and dark themes.
pub(crate) const PALETTE: &str = include_str!("palette.css");

/// Style sheet of charts.
pub(crate) const STYLE: &str = include_str!("chart.css");

/// Marker of generated files, by which a later run knows that it may overwrite them.
pub(crate) const MARK: &str = "<!-- Made by treering. -->";

/// Margin around a drawing in a file of its own.
const MARGIN: f64 = 16.0;

/// Parts of a chart. All texts are escaped.
pub(super) struct Figure {
    /// CSS class of the kind of chart.
    pub(super) class: &'static str,
    /// Short title.
    pub(super) title: String,
    /// Continuation of the title, on a page.
    pub(super) says: String,
    /// Additional remark.
    pub(super) aside: String,
    /// Explanation that a page gives once for all charts of the kind, and a file repeats.
    pub(super) key: String,
    pub(super) legend: Vec<LegendEntry>,
    /// Text alternative of the whole chart, for screen readers.
    pub(super) spoken: String,
    /// Width and height of the drawing in its own units.
    pub(super) size: (f64, f64),
    pub(super) drawing: Markup,
    /// Remark below the drawing.
    pub(super) below: String,
}

/// Entry of a legend.
pub(super) struct LegendEntry {
    /// CSS class of the entry's colour.
    pub(super) class: String,
    pub(super) shape: MarkShape,
    pub(super) name: String,
    /// Name and figures of the entry.
    pub(super) text: String,
}

impl Figure {
    /// Renders the chart as part of a page.
    pub(super) fn on_page(&self) -> Markup {
        html! {
            figure class=(format!("chart {}", self.class)) {
                figcaption {
                    (self.words())
                    @if !self.legend.is_empty() {
                        ul class="legend" { @for entry in &self.legend { (entry.on_page()) } }
                    }
                }
                (self.svg("", self.size, &self.drawing))
                @if !self.below.is_empty() { p class="aside" { (self.below) } }
            }
        }
    }

    /// Texts above the drawing.
    pub(super) fn words(&self) -> Markup {
        html! {
            b { (self.title) } (self.says)
            @if !self.aside.is_empty() { " " span class="aside" { (self.aside) } }
        }
    }

    /// Wraps a drawing of this chart in an `svg` element.
    pub(super) fn svg(&self, class: &str, (width, height): (f64, f64), drawing: &Markup) -> Markup {
        let class = (!class.is_empty()).then_some(class);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class=[class] role="img"
                aria-label=(self.spoken) viewBox=(format!("0 0 {} {}", px(width), px(height))) {
                (drawing)
            }
        }
    }

    /// Renders the chart as a self-contained SVG element.
    pub(super) fn alone(&self) -> String {
        let (width, height) = self.size;
        let mut y = MARGIN;
        let mut head: Vec<Markup> = Vec::new();
        let mut add = |class: &str, text: &str, y: &mut f64| {
            for line in wrapped(text, width) {
                *y += 17.0;
                head.push(html! { text class=(class) x="0" y=(px(*y)) { (line) } });
            }
        };
        add("title", &format!("{}{}", self.title, self.says), &mut y);
        add("aside", &self.aside, &mut y);
        add("aside", &self.key, &mut y);
        for entry in &self.legend {
            y += 19.0;
            head.push(entry.alone(y, width));
        }
        y += 12.0;
        let mut foot: Vec<Markup> = Vec::new();
        let mut end = y + height;
        for line in wrapped(&self.below, width) {
            end += 17.0;
            foot.push(html! { text class="aside" x="0" y=(px(end)) { (line) } });
        }
        let (whole_width, whole_height) = (width + 2.0 * MARGIN, end + MARGIN);
        let class = format!("chart {}", self.class);
        let root = html! {
            svg xmlns="http://www.w3.org/2000/svg" class=(class) role="img"
                aria-label=(self.spoken) width=(px(whole_width)) height=(px(whole_height))
                viewBox=(format!("0 0 {} {}", px(whole_width), px(whole_height))) {
                title { (self.title) }
                style { (PreEscaped(PALETTE)) (PreEscaped(STYLE)) (PreEscaped(ALONE)) }
                rect class="clear" x="0" y="0" width="100%" height="100%" {}
                g transform=(format!("translate({} 0)", px(MARGIN))) {
                    @for line in &head { (line) }
                    g transform=(format!("translate(0 {})", px(y))) { (self.drawing) }
                    @for line in &foot { (line) }
                }
            }
        };
        root.into_string()
    }
}

/// Style that a page provides and a file of its own needs.
const ALONE: &str = "text { font-family: system-ui, -apple-system, \"Segoe UI\", Roboto, \
    \"Noto Sans\", \"DejaVu Sans\", sans-serif; } .chart text.title { font-weight: 600; }\n";

impl LegendEntry {
    pub(super) fn on_page(&self) -> Markup {
        html! {
            li class=(self.class) {
                svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 14 14" aria-hidden="true" {
                    (mark(self.shape, 7.0, 7.0, 4.5))
                }
                bdi { (self.name) }
                @if !self.text.is_empty() { span class="aside" { " " (self.text) } }
            }
        }
    }

    fn alone(&self, y: f64, width: f64) -> Markup {
        // The name gets 40 % of the width, the figures the rest.
        html! {
            g class=(self.class) {
                (mark(self.shape, 6.0, y - 4.5, 4.5))
                text x="18" y=(px(y)) {
                    (label(&self.name, width * 0.4))
                    @if !self.text.is_empty() { tspan class="aside" { " " (self.text) } }
                }
            }
        }
    }
}
