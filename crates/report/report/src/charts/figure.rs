//! A chart with its texts, as part of a page or as a file of its own.
//!
//! On a page the texts are HTML, which wraps at the page's width; in a file they are lines of the
//! drawing.

use maud::{Markup, PreEscaped, html};

use super::mark::{MarkShape, label, mark, px, wrapped};

/// Colours of the light and dark themes.
pub(crate) const PALETTE: &str = include_str!("palette.css");

/// Style sheet of charts.
pub(crate) const STYLE: &str = include_str!("chart.css");

/// Marker of generated files, which allows a later run to overwrite them.
pub(crate) const MARK: &str = "<!-- Made by treering. -->";

/// Margin around a drawing in a file of its own, and in a figure of a paper.
const MARGIN: f64 = 16.0;
const PAPER_MARGIN: f64 = 4.0;

/// Width of a figure of a paper, which is one column of a two-column page. Letters of 13 units have
/// 8 points in a column of about 400 units.
const PAPER_INCHES: f64 = 3.5;
/// Width of a drawing, in its own units, from which it spans both columns of a paper.
const TWO_COLUMNS_FROM: f64 = 600.0;

/// Kind of file for which a chart is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrawingPreset {
    /// Screens and slides: with explanations, in the theme of the viewer.
    #[default]
    Screen,
    /// Papers: 3.5 inches wide, light, with title and legend only.
    Paper,
}

/// Parts of a chart. All texts are escaped.
pub(super) struct Figure {
    /// CSS class of the kind of chart.
    pub(super) class: &'static str,
    /// Short title.
    pub(super) title: String,
    /// Continuation of the title on a page.
    pub(super) subtitle: String,
    /// Additional remark.
    pub(super) aside: String,
    /// Explanation that a page shows once for all charts of the kind, and a file repeats.
    pub(super) key: String,
    pub(super) legend: Vec<LegendEntry>,
    /// Text alternative of the whole chart, for screen readers.
    pub(super) spoken: String,
    /// Width and height of the drawing in its own units.
    pub(super) size: (f64, f64),
    pub(super) drawing: Markup,
    /// Size and drawing of a narrow layout, where the chart has one.
    pub(super) narrow: Option<((f64, f64), Markup)>,
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
                @match &self.narrow {
                    // The style of the page shows the layout that fits.
                    Some((size, drawing)) => {
                        (self.svg("wide", self.size, &self.drawing))
                        (self.svg("narrow", *size, drawing))
                    },
                    None => (self.svg("", self.size, &self.drawing)),
                }
                @if !self.below.is_empty() { p class="aside" { (self.below) } }
            }
        }
    }

    /// Texts above the drawing.
    pub(super) fn words(&self) -> Markup {
        html! {
            b { (self.title) } (self.subtitle)
            // A percent sign stays with its number.
            @if !self.aside.is_empty() {
                " " span class="aside" { (self.aside.replace(" %", "\u{a0}%")) }
            }
        }
    }

    /// Text alternative with the figures of the legend, which a page shows beside the drawing:
    /// `Latency of create calls. xfs p50 12 µs`.
    fn alternative(&self) -> String {
        let entry = |entry: &LegendEntry| match entry.text.as_str() {
            "" => entry.name.clone(),
            text => format!("{} {text}", entry.name).trim_start().to_owned(),
        };
        let entries: Vec<String> = self.legend.iter().map(entry).collect();
        let parts = [self.spoken.as_str(), &entries.join("; "), &self.below];
        let parts = parts.iter().map(|part| part.trim_end_matches('.'));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ") + "."
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
    pub(super) fn as_file(&self, preset: DrawingPreset) -> String {
        let is_paper = preset == DrawingPreset::Paper;
        let ((width, height), drawing) = match &self.narrow {
            Some((size, drawing)) if is_paper => (*size, drawing),
            _ => (self.size, &self.drawing),
        };
        let margin = if is_paper { PAPER_MARGIN } else { MARGIN };
        let mut y = margin;
        let (head, foot) = self.texts(is_paper, width, &mut y);
        let mut end = y + height;
        let foot: Vec<Markup> = foot
            .iter()
            .map(|line| {
                end += 17.0;
                html! { text class="aside" x="0" y=(px(end)) { (line) } }
            })
            .collect();
        let (whole_width, whole_height) = (width + 2.0 * margin, end + margin);
        let class = format!("chart {}", self.class);
        let (shown_width, shown_height) = if is_paper {
            let inches = if width > TWO_COLUMNS_FROM { 2.0 * PAPER_INCHES } else { PAPER_INCHES };
            let height = inches * whole_height / whole_width;
            (format!("{inches}in"), format!("{height:.3}in"))
        } else {
            (px(whole_width), px(whole_height))
        };
        // A figure of a paper is light even if the reader's screen is dark.
        let palette = if is_paper { light(PALETTE) } else { PALETTE };
        let root = html! {
            svg xmlns="http://www.w3.org/2000/svg" class=(class) role="img"
                aria-label=(self.alternative()) width=(shown_width) height=(shown_height)
                viewBox=(format!("0 0 {} {}", px(whole_width), px(whole_height))) {
                title { (self.title) }
                style { (PreEscaped(palette)) (PreEscaped(STYLE)) (PreEscaped(FILE_STYLE)) }
                rect class="clear" x="0" y="0" width="100%" height="100%" {}
                g transform=(format!("translate({} 0)", px(margin))) {
                    @for line in &head { (line) }
                    g transform=(format!("translate(0 {})", px(y))) { (drawing) }
                    @for line in &foot { (line) }
                }
            }
        };
        root.into_string()
    }

    /// Lines above the drawing, and texts of the lines below it; moves `y` below the lines above.
    /// Papers have their own caption and only need the title and the legend.
    fn texts(&self, is_paper: bool, width: f64, y: &mut f64) -> (Vec<Markup>, Vec<String>) {
        let mut head: Vec<Markup> = Vec::new();
        let mut add = |class: &str, text: &str, y: &mut f64| {
            for line in wrapped(text, width) {
                *y += 17.0;
                head.push(html! { text class=(class) x="0" y=(px(*y)) { (line) } });
            }
        };
        if is_paper {
            add("title", &self.title, y);
        } else {
            add("title", &format!("{}{}", self.title, self.subtitle), y);
            add("aside", &self.aside, y);
            add("aside", &self.key, y);
        }
        for entry in &self.legend {
            *y += 19.0;
            head.push(entry.as_file(*y, width));
        }
        *y += 12.0;
        (head, if is_paper { Vec::new() } else { wrapped(&self.below, width) })
    }
}

/// Palette without the theme for dark screens.
fn light(palette: &'static str) -> &'static str {
    palette.split_once("@media").map_or(palette, |(light, _)| light)
}

/// Text style that a page provides and a separate file needs.
const FILE_STYLE: &str = "text { font-family: system-ui, -apple-system, \"Segoe UI\", Roboto, \
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

    fn as_file(&self, y: f64, width: f64) -> Markup {
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
