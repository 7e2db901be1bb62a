//! Building blocks of charts: coordinates, shapes, fitted texts.
//!
//! Every element is closed, so that a drawing is also well-formed XML.

use maud::{Markup, html};
use unicode_width::UnicodeWidthChar;

use crate::escape::visible;
use crate::{Number, NumberStyle};

/// Mark shapes, which distinguish variants and findings without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkShape {
    Circle,
    Square,
    Up,
    Down,
    Diamond,
    Cross,
}

/// Formats a coordinate; NaN and infinities become zero.
pub(super) fn px(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Draws a mark centred at a point.
pub(super) fn mark(shape: MarkShape, x: f64, y: f64, size: f64) -> Markup {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx * size), px(y + dy * size));
    let path = match shape {
        MarkShape::Circle => {
            return html! { circle cx=(px(x)) cy=(px(y)) r=(px(size)) {} };
        }
        MarkShape::Square => [at(-0.9, -0.9), at(0.9, -0.9), at(0.9, 0.9), at(-0.9, 0.9)].join("L"),
        MarkShape::Up => [at(0.0, -1.2), at(1.1, 0.8), at(-1.1, 0.8)].join("L"),
        MarkShape::Down => [at(0.0, 1.2), at(1.1, -0.8), at(-1.1, -0.8)].join("L"),
        MarkShape::Diamond => [at(0.0, -1.3), at(1.3, 0.0), at(0.0, 1.3), at(-1.3, 0.0)].join("L"),
        MarkShape::Cross => {
            let (a, b) = ([at(-1.0, -1.0), at(1.0, 1.0)], [at(-1.0, 1.0), at(1.0, -1.0)]);
            let path = format!("M{}M{}", a.join("L"), b.join("L"));
            return html! { path class="open" d=(path) {} };
        }
    };
    html! { path d=(format!("M{path}Z")) {} }
}

/// Draws a straight line.
pub(super) fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) {} }
}

/// Renders text that fits into `room` units; otherwise its beginning, with the full text as a
/// tooltip.
pub(super) fn label(text: &str, room: f64) -> Markup {
    let whole = visible(text);
    let short = shortened(&whole, room);
    html! {
        @if short != whole { title { (whole) } }
        (short)
    }
}

/// Shortens text to `room` units, with an ellipsis where it was cut.
pub(super) fn shortened(text: &str, room: f64) -> String {
    if text.chars().map(breadth).sum::<f64>() <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = breadth('…');
    for c in text.chars() {
        used += breadth(c);
        if used > room {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// Estimated width of a character in a wide font, at the size of labels.
fn breadth(c: char) -> f64 {
    let share = match c {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|'
        | '/' | '\\' | '-' | '(' | ')' | '[' | ']' | '!' => 0.55,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '<' | '>' | '=' | '+' | '~' | '…' => 1.4,
        c if c.is_ascii_uppercase() => 1.15,
        _ => 1.0,
    };
    8.0 * share * c.width().unwrap_or(0) as f64
}

/// Wraps text into lines of at most `room` units; longer words are cut.
pub(super) fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let long = |line: &str| line.chars().map(breadth).sum::<f64>();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if long(line) + long(" ") + long(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shortened(word, room)),
        }
    }
    lines
}

/// Formats a time in nanoseconds in a suitable unit.
pub(super) fn latency_text(ns: f64) -> String {
    Number { value: ns, unit: String::new(), style: NumberStyle::Latency }.text()
}

/// Formats a tick in nanoseconds without trailing zeros: `20 µs`.
pub(super) fn time_tick(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { trimmed(&latency_text(ns)) }
}

/// Removes trailing zeros from a number, with or without a unit.
pub(super) fn trimmed(text: &str) -> String {
    let (number, unit) = text.split_once(' ').map_or((text, None), |(n, unit)| (n, Some(unit)));
    let plain = number.contains('.') && !number.contains('e');
    let number = if plain { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    unit.map_or_else(|| number.to_owned(), |unit| format!("{number} {unit}"))
}

/// Formats a ratio as tables do, but with three digits far from 1, where space is short.
pub(super) fn ratio_text(value: f64) -> String {
    if (9.9995..1e4).contains(&value) {
        let decimals = usize::from(value < 99.95);
        return format!("{value:.decimals$}");
    }
    Number { value, unit: String::new(), style: NumberStyle::Ratio }.text()
}

/// Formats a ratio as a change in percent: `-7.7 %`.
pub(super) fn change_text(ratio: f64) -> String {
    let value = (ratio - 1.0) * 100.0;
    format!("{} %", Number { value, unit: String::new(), style: NumberStyle::Change }.text())
}

#[cfg(test)]
mod tests {
    use super::{px, shortened, trimmed, wrapped};

    #[test]
    fn trailing_zeros_are_dropped() {
        assert_eq!(trimmed("20.0 µs"), "20 µs");
        assert_eq!(trimmed("1.50 ms"), "1.5 ms");
        assert_eq!(trimmed("100 ns"), "100 ns");
        assert_eq!(trimmed("1.000 KiB"), "1 KiB");
        assert_eq!(trimmed("2.00"), "2");
        assert_eq!(trimmed("1.500e7"), "1.500e7");
    }

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("create MiB/s by round", 100.0), ["create MiB/s", "by round"]);
        assert_eq!(wrapped("", 100.0), Vec::<String>::new());
        assert_eq!(wrapped("create", 40.0), ["crea…"]);
    }

    #[test]
    fn coordinates_are_short_and_numbers() {
        assert_eq!(px(12.04), "12");
        assert_eq!(px(12.06), "12.1");
        assert_eq!(px(f64::NAN), "0");
        assert_eq!(px(f64::INFINITY), "0");
    }

    #[test]
    fn long_names_end_with_an_ellipsis() {
        assert_eq!(shortened("create MiB/s", 100.0), "create MiB/s");
        assert_eq!(shortened("create MiB/s", 60.0), "create …");
        assert_eq!(shortened("木木木木", 50.0), "木木…");
        assert_eq!(shortened("illicit", 40.0), "illicit");
    }
}
