//! Wraps text into lines. Nothing is truncated: a word longer than a line is broken.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Display width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Wraps text into lines of at most `room` columns (at least 2), at spaces where possible. Empty
/// text is one empty line.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(2);
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 && width(&line) + 1 + width(word) <= room {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if place > 0 {
            lines.push(std::mem::take(&mut line));
        }
        let mut pieces = pieces(word, room);
        line = pieces.pop().unwrap_or_default();
        lines.append(&mut pieces);
    }
    lines.push(line);
    lines
}

/// Breaks a word into pieces of at most `room` columns.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut used = 0;
    for c in word.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > room {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        piece.push(c);
        used += wide;
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::{width, wrap};
    use proptest::prelude::{ProptestConfig, proptest};

    #[test]
    fn breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("木木木", 4), ["木木", "木"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_line_is_too_long_and_nothing_is_lost(text in "[a-z木 ]{0,80}", room in 2usize..40) {
            let lines = wrap(&text, room);
            assert!(lines.iter().all(|line| width(line) <= room), "{lines:?}");
            let solid = |text: &str| text.replace(' ', "");
            assert_eq!(solid(&lines.concat()), solid(&text));
        }
    }
}
