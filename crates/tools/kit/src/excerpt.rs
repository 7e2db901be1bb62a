//! Excerpt of a line with a caret below a position, for terminals: without control characters, not
//! wider than a page, and aligned whatever precedes the caret.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use treering_model::is_unsafe;

use crate::place::Place;

/// Maximum width of the excerpt in columns.
const COLUMNS: usize = 100;
/// Maximum number of bytes of the line that are examined before and after the position.
const NEAR_BYTES: usize = 400;

/// Line of a position, and a line with a caret. `None` for a position of the whole file, or outside
/// of the text.
pub fn excerpt(text: &[u8], place: Place) -> Option<String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let number = usize::try_from(place.line.checked_sub(1)?).ok()?;
    in_line(text.split(|byte| *byte == b'\n').nth(number)?, place)
}

/// Excerpt of a line that the caller already has; the line number of `place` is ignored.
pub fn in_line(line: &[u8], place: Place) -> Option<String> {
    let column = usize::try_from(place.column.checked_sub(1)?).ok()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return None;
    }
    let column = column.min(line.len());
    let from = boundary(line, column.saturating_sub(NEAR_BYTES));
    let to = boundary(line, (column + NEAR_BYTES).min(line.len()));
    let mut text = harmless(&line[from..column]);
    let caret = text.len();
    text += &harmless(&line[column..to]);
    let after = text[caret..].chars().next().map_or(0, char::len_utf8);
    let mark = AnnotationKind::Primary.span(caret..caret + after);
    let number = usize::try_from(place.line).unwrap_or_default();
    let snippet = Snippet::source(text.as_str()).line_start(number).annotation(mark);
    let group = [Group::with_level(Level::ERROR).element(snippet)];
    let drawn = Renderer::plain().term_width(COLUMNS).render(&group);
    // The first line of the drawing has only its frame.
    let lines: Vec<_> = drawn.lines().skip(1).map(|line| format!("  {line}")).collect();
    Some(lines.join("\n"))
}

/// Next byte offset at which a character can begin.
fn boundary(line: &[u8], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let tail = line.get(at..).unwrap_or_default();
    at + tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}

/// Text without characters that a terminal interprets; a tab stays.
fn harmless(bytes: &[u8]) -> String {
    let replaced = |character: char| match character {
        '\t' => character,
        _ if is_unsafe(character) => char::REPLACEMENT_CHARACTER,
        _ => character,
    };
    String::from_utf8_lossy(bytes).chars().map(replaced).collect()
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
