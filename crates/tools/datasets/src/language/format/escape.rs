//! Escapes for unprintable bytes: a path may have any byte but NUL, a line only printable ASCII.

/// Appends bytes to a line; a backslash and unprintable bytes become `\xHH`.
pub(super) fn escape(bytes: &[u8], line: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        if matches!(byte, b' '..=b'~') && byte != b'\\' {
            line.push(byte);
        } else {
            let digit = |value: u8| DIGITS[usize::from(value)];
            line.extend([b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

/// Appends the bytes that a part of a line encodes.
///
/// # Errors
/// The place of a backslash without `x` and two digits, or of a byte that should be escaped.
pub(super) fn unescape(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), usize> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    let mut tail = text;
    loop {
        let plain = tail.iter().position(|byte| !is_plain(byte)).unwrap_or(tail.len());
        bytes.extend_from_slice(&tail[..plain]);
        tail = &tail[plain..];
        if tail.is_empty() {
            return Ok(());
        }
        let (byte, after) = escaped(tail).ok_or(text.len() - tail.len())?;
        bytes.push(byte);
        tail = after;
    }
}

/// Length in an escaped line of the first `bytes` bytes of a path.
pub(super) fn escaped_bytes(text: &[u8], bytes: usize) -> usize {
    let mut tail = text;
    for _ in 0..bytes {
        tail = match escaped(tail) {
            Some((_, after)) => after,
            None => tail.get(1..).unwrap_or_default(),
        };
    }
    text.len() - tail.len()
}

/// Byte of a leading `\xHH`, and the rest of the text.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'\\', b'x', high, low, after @ ..] = text else { return None };
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    Some((digit(*high)? << 4 | digit(*low)?, after))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{escape, unescape};

    #[test]
    fn unprintable_bytes_are_escaped() {
        let mut line = Vec::new();
        escape(b"a b\\\n\xc3\xa4", &mut line);
        assert_eq!(line, b"a b\\x5c\\x0a\\xc3\\xa4");
    }

    #[test]
    fn broken_escapes_are_refused() {
        for (text, place) in [
            (b"ab\\".as_slice(), 2),
            (b"\\n", 0),
            (b"\\x4", 0),
            (b"a\\x4g", 1),
            (b"\\xAB", 0),
            (b"abc\xff", 3),
            (b"\t", 0),
        ] {
            assert_eq!(unescape(text, &mut Vec::new()), Err(place), "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn escaped_bytes_round_trip(bytes in vec(any::<u8>(), 0..50)) {
            let (mut line, mut back) = (Vec::new(), Vec::new());
            escape(&bytes, &mut line);
            prop_assert!(line.iter().all(|byte| matches!(byte, b' '..=b'~')));
            prop_assert_eq!(unescape(&line, &mut back), Ok(()));
            prop_assert_eq!(back, bytes);
        }
    }
}
