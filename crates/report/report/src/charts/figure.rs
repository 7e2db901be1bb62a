//! A chart with its words: as a part of a page, or alone in a file.
//!
//! On a page the words are HTML, so that they break as the page is wide; alone they are lines of
//! the drawing.

use maud::{Markup, PreEscaped, html};

use super::mark::{Shape, label, mark, px, wrapped};

/// The colours, for light and dark.
pub(crate) const PALETTE: &str = include_str!("palette.css");

/// What charts look like.
pub(crate) const STYLE: &str = include_str!("chart.css");

/// The mark of our own files, by which a later run knows that it may write them anew.
pub(crate) const MARK: &str = "<!-- Made by treering. -->";

/// The room around a drawing that stands alone.
const MARGIN: f64 = 16.0;

/// A chart in its parts. All texts are safe to show.
pub(super) struct Figure {
    /// The word for its kind, by which it is styled.
    pub(super) class: &'static str,
    /// What it shows, in a few words.
    pub(super) title: String,
    /// How the title goes on, on a page.
    pub(super) says: String,
    /// What is to be known beside.
    pub(super) aside: String,
    /// What a page says once for all charts of the sort, and a file has to say itself.
    pub(super) key: String,
    pub(super) legend: Vec<Entry>,
    /// The whole in words, for those who cannot see it.
    pub(super) spoken: String,
    /// The drawing's width and height in its own units.
    pub(super) size: (f64, f64),
    pub(super) drawing: Markup,
    /// A remark below it.
    pub(super) below: String,
}

/// A line of a legend.
pub(super) struct Entry {
    /// The class that gives it its colour.
    pub(super) class: String,
    pub(super) shape: Shape,
    pub(super) name: String,
    /// Its figures.
    pub(super) text: String,
}

impl Figure {
    /// The chart as a part of a page.
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

    /// The words above the drawing.
    pub(super) fn words(&self) -> Markup {
        html! {
            b { (self.title) } (self.says)
            @if !self.aside.is_empty() { " " span class="aside" { (self.aside) } }
        }
    }

    /// A drawing of this chart in an element of its own.
    pub(super) fn svg(&self, class: &str, (width, height): (f64, f64), drawing: &Markup) -> Markup {
        let class = (!class.is_empty()).then_some(class);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class=[class] role="img"
                aria-label=(self.spoken) viewBox=(format!("0 0 {} {}", px(width), px(height))) {
                (drawing)
            }
        }
    }

    /// The chart as an element that needs no page around it.
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

/// What a page says to a whole document, for a drawing alone.
const ALONE: &str = "text { font-family: system-ui, -apple-system, \"Segoe UI\", Roboto, \
    \"Noto Sans\", \"DejaVu Sans\", sans-serif; } .chart text.title { font-weight: 600; }\n";

impl Entry {
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
        // Half the line is the name's, the rest the figures'.
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
