//! HTML tables; wide ones scroll in their own box, with the row names fixed.

use maud::{Markup, html};
use treering_model::BetterDirection;
use unicode_width::UnicodeWidthStr;

use super::tone_class;
use crate::escape::visible;
use crate::{Align, Cell, Column, Table};

/// Maximum length of texts that are not wrapped.
const ONE_LINE: usize = 30;

pub(super) fn markup(table: &Table) -> Markup {
    match &table.folded {
        Some(title) => html! {
            details class="beside" { summary { (visible(title)) } (open(table)) }
        },
        None => open(table),
    }
}

fn open(table: &Table) -> Markup {
    html! {
        @if !table.caption.is_empty() { p class="caption" { (visible(&table.caption)) } }
        @if table.rows.is_empty() {
            p class="aside" { "(no rows)" }
        } @else {
            // A tab index allows scrolling with the keyboard.
            div class="scroll" tabindex="0" role="region" aria-label=(visible(&table.name)) {
                table {
                    thead {
                        tr {
                            @for (place, column) in table.columns.iter().enumerate() {
                                (heading(column, table.shown_unit(place)))
                            }
                        }
                    }
                    tbody {
                        @for row in 0..table.rows.len() {
                            tr {
                                @for (place, column) in table.columns.iter().enumerate() {
                                    (cell(table.cell(row, place), column, place < table.keys))
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(directions) = table.directions() {
                p class="aside" { (visible(&directions)) }
            }
        }
    }
}

fn heading(column: &Column, unit: &str) -> Markup {
    let arrow = column.better.map(|better| {
        let sign = match better {
            BetterDirection::Higher => "↑",
            BetterDirection::Lower => "↓",
        };
        (sign, better.phrase())
    });
    // A heading of several words is not set in a line for each.
    let long = (column.name.width() > LONG_WORD).then_some("long");
    let classes: Vec<&str> = variant(column).into_iter().chain(long).collect();
    let class = Some(classes.join(" ")).filter(|class| !class.is_empty());
    html! {
        th scope="col" class=[class] {
            (visible(&column.name))
            @if !unit.is_empty() { " " span class="unit" { "[" (visible(unit)) "]" } }
            @if let Some((sign, words)) = arrow { " " span title=(words) { (sign) } }
        }
    }
}

/// Number of bytes from which a word may be broken.
const LONG_WORD: usize = 14;

/// Renders a cell; cells that identify the row are row headers.
fn cell(cell: &Cell, column: &Column, names_row: bool) -> Markup {
    let text = visible(&cell.shown(&column.unit)).replace(" %", "\u{a0}%");
    let wraps = if column.wraps && text.width() > ONE_LINE { " wraps" } else { "" };
    // Most cells of a large page are left-aligned text, which needs no class.
    let class = format!("{}{wraps}", variant(column).unwrap_or_default());
    let class = Some(class.trim()).filter(|class| !class.is_empty());
    // Exact sort key, since people see rounded and scaled numbers.
    let value = match cell {
        Cell::Number(number) => Some(number.exact()),
        Cell::Range { low, .. } => Some(low.exact()),
        Cell::Missing | Cell::Text { .. } => None,
    };
    let tone = tone_class(cell.tone());
    let content = match cell {
        Cell::Text { .. } => broken(&text),
        _ => html! { (text) },
    };
    html! {
        @if names_row {
            th scope="row" class=[class] data-v=[value] { (content) }
        } @else if tone == "plain" {
            td class=[class] data-v=[value] { (content) }
        } @else {
            td class=[class] data-v=[value] { span class=(format!("tone {tone}")) { (text) } }
        }
    }
}

/// Text that may be broken after the separators of long names, rather than in their words.
pub(super) fn broken(text: &str) -> Markup {
    let words = text.split(' ');
    if !words.clone().any(|word| word.len() > LONG_WORD) {
        return html! { (text) };
    }
    html! {
        @for (place, part) in text.split_inclusive(['_', '/', '.', ',', '=']).enumerate() {
            @if place > 0 { wbr; }
            (part)
        }
    }
}

fn variant(column: &Column) -> Option<&'static str> {
    match column.align {
        Align::Left => None,
        Align::Right => Some("r"),
    }
}

#[cfg(test)]
mod tests {
    use super::{broken, cell};
    use crate::{Cell, Column};
    use treering_model::Unit;

    #[test]
    fn names_are_broken_after_their_separators_and_numbers_never() {
        let name = broken("memory.dirty_background_limit_bytes").0;
        assert!(name.starts_with("memory.<wbr>dirty_<wbr>background_"), "{name}");
        let column = Column::number("min–max", Unit::Seconds);
        let range = cell(&Cell::range(0.008_467, 0.054_72, Unit::Seconds), &column, false).0;
        assert!(range.contains("0.008467–0.05472"), "{range}");
    }
}
