//! Text scanning shared by all language parsers: the lines of a text, and a cursor over its bytes.

use crate::faults::{Fault, Faults, Place};

/// Text without a leading byte order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Lines of a file, each with its position and without its line feed.
pub fn lines(text: &[u8], file: u32) -> impl Iterator<Item = (Place, &[u8])> {
    let lines = without_mark(text).split(|byte| *byte == b'\n');
    lines
        .zip(1..=u32::MAX)
        .map(move |(line, number)| (Place { file, line: number, column: 1 }, line))
}

/// Part of a line before the first of these signs.
pub fn before<'t>(line: &'t [u8], signs: &[u8]) -> &'t [u8] {
    let end = line.iter().position(|byte| signs.contains(byte));
    &line[..end.unwrap_or(line.len())]
}

/// Line as UTF-8 text, or a fault with the hint `right`.
pub fn text<'t>(
    line: &'t [u8],
    place: Place,
    right: &str,
    faults: &Faults,
) -> Result<&'t str, Fault> {
    std::str::from_utf8(line).map_err(|error| {
        let byte = error.valid_up_to();
        let message = format!("the byte {:#04x} is no UTF-8", line[byte]);
        faults.error(place.after(byte), message).hint(right)
    })
}

/// Splits `KEY = VALUE` into key and value with their positions, blanks trimmed. The value is
/// `None` if the line has no `=`.
pub fn setting(
    line: &str,
    place: Place,
    is_blank: fn(char) -> bool,
) -> (&str, Place, Option<(&str, Place)>) {
    let body = line.trim_start_matches(is_blank);
    let key_place = place.after(line.len() - body.len());
    let body = body.trim_end_matches(is_blank);
    let Some((key, value)) = body.split_once('=') else { return (body, key_place, None) };
    let trimmed = value.trim_start_matches(is_blank);
    let value_place = key_place.after(body.len() - trimmed.len());
    (key.trim_end_matches(is_blank), key_place, Some((trimmed, value_place)))
}

/// Cursor over the bytes of a text.
#[derive(Clone, Debug)]
pub struct TextCursor<'t> {
    text: &'t [u8],
    at: usize,
    /// Position of the line's first byte.
    line: Place,
    line_start: usize,
}

impl<'t> TextCursor<'t> {
    /// Creates a cursor at the start of a text whose first byte is at `line`.
    pub fn new(text: &'t [u8], line: Place) -> Self {
        Self { text, at: 0, line, line_start: 0 }
    }

    /// Position of the next byte.
    pub fn place(&self) -> Place {
        self.line.after(self.at - self.line_start)
    }

    /// Next byte.
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Remaining bytes.
    pub fn rest(&self) -> &'t [u8] {
        &self.text[self.at..]
    }

    /// Skips the next byte.
    pub fn bump(&mut self) {
        if self.peek() == Some(b'\n') {
            self.line.line = self.line.line.saturating_add(1);
            self.line_start = self.at + 1;
        }
        self.at = (self.at + 1).min(self.text.len());
    }

    /// Skips the next byte if it equals this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.bump();
        }
        is_next
    }

    /// Skips all following bytes that satisfy the predicate, and returns them.
    pub fn take_while(&mut self, is: impl Fn(u8) -> bool) -> &'t [u8] {
        let from = self.at;
        while self.peek().is_some_and(&is) {
            self.bump();
        }
        &self.text[from..self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, TextCursor, lines, setting};

    #[test]
    fn cursor_tracks_line_and_column() {
        let mut cursor = TextCursor::new(b"ab \n c", Place::new(1, 1));
        assert_eq!(cursor.take_while(|byte| byte.is_ascii_alphabetic()), b"ab");
        assert_eq!(cursor.place(), Place::new(1, 3));
        assert!(!cursor.take(b'c'));
        cursor.take_while(|byte| byte.is_ascii_whitespace());
        assert_eq!((cursor.place(), cursor.rest()), (Place::new(2, 2), &b"c"[..]));
        assert!(cursor.take(b'c'));
        cursor.bump();
        assert_eq!((cursor.peek(), cursor.place()), (None, Place::new(2, 3)));
    }

    #[test]
    fn lines_and_settings_have_positions() {
        let text = b"\xef\xbb\xbfa\n b = c=d \n";
        let parsed: Vec<_> = lines(text, 0).collect();
        assert_eq!(parsed[0], (Place::new(1, 1), &b"a"[..]));
        assert_eq!(parsed.len(), 3);
        let line = std::str::from_utf8(parsed[1].1).unwrap();
        let value = Some(("c=d", Place::new(2, 6)));
        assert_eq!(setting(line, parsed[1].0, char::is_whitespace), ("b", Place::new(2, 2), value));
        assert_eq!(setting("a", parsed[0].0, char::is_whitespace), ("a", Place::new(1, 1), None));
    }
}
