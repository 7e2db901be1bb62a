//! Escaping of names and values in records, so that they contain no blanks and no control
//! characters.

use std::fmt::Write;

/// Escapes all but printable ASCII characters as a percent sign and two hexadecimal digits.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'%' {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _never = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// Unescapes text; `None` if it is not UTF-8.
pub(crate) fn text(escaped: &str) -> Option<String> {
    String::from_utf8(unescape(escaped)?).ok()
}

/// Unescapes bytes; `None` for text that is not escaped in this way.
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut unread = text.as_bytes();
    while let Some((&byte, after)) = unread.split_first() {
        unread = after;
        if byte == b'%' {
            let digits = str::from_utf8(unread.get(..2)?).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            unread = &unread[2..];
        } else if byte.is_ascii_graphic() {
            bytes.push(byte);
        } else {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn escapes_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&bytes)), Some(bytes));
        assert_eq!(unescape("%"), None);
        assert_eq!(unescape("%+1"), None);
        assert_eq!(unescape("é"), None);
    }
}
