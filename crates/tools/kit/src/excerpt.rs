//! Excerpt of a line with a caret below a position, for terminals: without control characters, not
//! wider than a page, and aligned whatever precedes the caret.

use treering_model::is_unsafe;
use unicode_width::UnicodeWidthChar as _;

use crate::place::Place;

/// Width of the line in columns.
const WIDTH: usize = 90;
/// Most columns before the caret.
const BEFORE: usize = 60;
/// Most bytes of the line that are examined before and after the position.
const NEAR_BYTES: usize = 400;
/// Replacement of a tab.
const TAB: &str = "    ";

/// Line of a position, and a line with a caret. `None` for a position of the whole file, or outside
/// of the text.
pub fn excerpt(text: &[u8], place: Place) -> Option<String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let number = usize::try_from(place.line.checked_sub(1)?).ok()?;
    in_line(text.split(|byte| *byte == b'\n').nth(number)?, place)
}

/// Excerpt of a known line, whatever its number.
pub fn in_line(line: &[u8], place: Place) -> Option<String> {
    let column = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    let column = column.min(line.len());
    let from = match column.checked_sub(NEAR_BYTES) {
        Some(from) => boundary(line, from),
        None => 0,
    };
    let to = boundary(line, (column + NEAR_BYTES).min(line.len()));
    let (before, width) = last_columns(&line[from..column], from > 0);
    let behind = first_columns(&line[column..to], WIDTH - width, to < line.len());
    let number = place.line.to_string();
    let empty = " ".repeat(number.len());
    Some(format!("  {number} | {before}{behind}\n  {empty} | {}^", " ".repeat(width)))
}

/// Next byte offset at which a character can begin.
fn boundary(line: &[u8], at: usize) -> usize {
    let tail = line.get(at..).unwrap_or_default();
    at + tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}

/// Displayed form of a character, and its columns.
fn cell(character: char) -> (String, usize) {
    match character {
        '\t' => (TAB.to_owned(), TAB.len()),
        _ => match character.width().filter(|_| !is_unsafe(character)) {
            Some(width) => (character.to_string(), width),
            None => (char::REPLACEMENT_CHARACTER.to_string(), 1),
        },
    }
}

fn cells(bytes: &[u8]) -> Vec<(String, usize)> {
    String::from_utf8_lossy(bytes).chars().map(cell).collect()
}

/// End of a text in at most `BEFORE` columns, and their number.
fn last_columns(bytes: &[u8], cut: bool) -> (String, usize) {
    let cells = cells(bytes);
    let mut first = cells.len();
    let mut width = 0;
    while first > 0 && width + cells[first - 1].1 <= BEFORE {
        first -= 1;
        width += cells[first].1;
    }
    let dots = if cut || first > 0 { "..." } else { "" };
    let text: String = cells[first..].iter().map(|(text, _)| text.as_str()).collect();
    (format!("{dots}{text}"), width + dots.len())
}

/// Start of a text in at most `most` columns.
fn first_columns(bytes: &[u8], most: usize, cut: bool) -> String {
    let mut text = String::new();
    let mut width = 0;
    for (cell, columns) in cells(bytes) {
        if width + columns > most {
            return text + "...";
        }
        text += &cell;
        width += columns;
    }
    if cut { text + "..." } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use unicode_width::UnicodeWidthStr as _;

    use super::excerpt;
    use crate::place::Place;

    fn shown(text: &str, line: usize, column: usize) -> String {
        excerpt(text.as_bytes(), Place::new(line, column)).unwrap()
    }

    #[test]
    fn caret_is_below_its_byte() {
        assert_eq!(shown("a\nbs=4k\n", 2, 4), "  2 | bs=4k\n    |    ^");
        assert_eq!(shown("\tbs=4k", 1, 2), "  1 |     bs=4k\n    |     ^");
        assert_eq!(shown("\u{feff}bs", 1, 1), "  1 | bs\n    | ^");
        assert_eq!(shown("日本=x\r\n", 1, 8), "  1 | 日本=x\n    |      ^");
        assert_eq!(shown("e\u{301}=x", 1, 5), "  1 | e\u{301}=x\n    |   ^");
        assert_eq!(shown("ab", 1, 3), "  1 | ab\n    |   ^");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(shown("\u{1b}[2J\u{202e}x", 1, 8), "  1 | \u{fffd}[2J\u{fffd}x\n    |      ^");
        let text = excerpt(b"\xff\xfea", Place::new(1, 3)).unwrap();
        assert_eq!(text, "  1 | \u{fffd}\u{fffd}a\n    |   ^");
    }

    #[test]
    fn long_lines_are_shortened_on_both_ends() {
        let text = format!("{}X{}", "a".repeat(1 << 20), "b".repeat(1 << 20));
        let text = shown(&text, 1, (1 << 20) + 1);
        let [line, caret] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(line.find('X'), caret.find('^'));
        assert!(line.starts_with("  1 | ...a") && line.ends_with("b..."), "{text}");
        assert!(line.len() <= 110, "{text}");
    }

    #[test]
    fn a_position_outside_the_text_has_no_excerpt() {
        assert_eq!(excerpt(b"a", Place::new(7, 1)), None);
        assert_eq!(excerpt(b"a", Place::START), None);
    }

    proptest! {
        #[test]
        fn excerpt_of_arbitrary_bytes_has_two_lines(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            line in 0u32..5,
            column in 0u32..2100,
        ) {
            if let Some(text) = excerpt(&bytes, Place { file: 0, line, column }) {
                assert_eq!(text.lines().count(), 2);
                assert!(text.lines().all(|line| line.width() <= 110), "{text}");
            }
        }
    }
}
