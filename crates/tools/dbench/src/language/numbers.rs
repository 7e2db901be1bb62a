//! Numbers of operations: literals as in C, random ones, and increments of the previous line's
//! number.

/// Qualifiers behind a `*`.
const QUALIFIERS_MAX: usize = 8;

/// Post-processing of a drawn number, in the order of notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberTransform {
    /// `%y`: remainder of a division by y.
    Below(u64),
    /// `/y`: rounds down to a multiple of y.
    Multiple(u64),
    /// `+y`: adds y.
    Plus(u64),
}

/// Number as written in a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadNumber {
    /// A literal.
    Fixed(u64),
    /// `*…`: 64 random bits with transformations.
    Drawn(Vec<NumberTransform>),
    /// `+n`: the same number of the previous line plus n.
    More(u64),
    /// `+child`: the previous line's number plus the client's number.
    MoreByClient,
    /// `+num_children`: the previous line's number plus the number of clients.
    MoreByClients,
}

/// Hint that shows the valid forms of a number.
pub(super) const RIGHT: &str = "a number is 4096, 0x1000 or 010000 as in C; *, *%100, */4096 or \
                                *+7 draw one, +1, +child or +num_children count on";

/// A number from 0 as in C: decimal, hexadecimal, octal.
pub(super) fn plain(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// Parses a number.
pub(super) fn number(text: &[u8]) -> Option<LoadNumber> {
    match text.split_first()? {
        (b'*', tail) => shapes(tail).map(LoadNumber::Drawn),
        (b'+', tail) => Some(match tail.to_ascii_lowercase().as_slice() {
            b"child" => LoadNumber::MoreByClient,
            b"num_children" => LoadNumber::MoreByClients,
            digits => LoadNumber::More(plain(digits)?),
        }),
        _ => plain(text).map(LoadNumber::Fixed),
    }
}

fn shapes(mut tail: &[u8]) -> Option<Vec<NumberTransform>> {
    let mut shapes = Vec::new();
    while let Some((&sign, after)) = tail.split_first() {
        let end = after.iter().position(|byte| b"%/+".contains(byte)).unwrap_or(after.len());
        let value = plain(&after[..end])?;
        shapes.push(match sign {
            b'%' if value > 0 => NumberTransform::Below(value),
            b'/' if value > 0 => NumberTransform::Multiple(value),
            b'+' => NumberTransform::Plus(value),
            _ => return None,
        });
        tail = &after[end..];
        if shapes.len() > QUALIFIERS_MAX {
            return None;
        }
    }
    Some(shapes)
}

impl LoadNumber {
    /// Current value: `bits` are random, `before` is the same number in the previous line.
    pub(crate) fn now(
        &self,
        bits: impl FnOnce() -> u64,
        before: u64,
        client: u64,
        clients: u64,
    ) -> u64 {
        match self {
            Self::Fixed(number) => *number,
            Self::More(more) => before.wrapping_add(*more),
            Self::MoreByClient => before.wrapping_add(client),
            Self::MoreByClients => before.wrapping_add(clients),
            Self::Drawn(shapes) => shapes.iter().fold(bits(), |number, shape| match *shape {
                NumberTransform::Below(bound) => number % bound.max(1),
                NumberTransform::Multiple(of) => number / of.max(1) * of,
                NumberTransform::Plus(more) => number.wrapping_add(more),
            }),
        }
    }

    /// Value of a literal; `None` if it is computed at run time.
    pub(super) const fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(number) => Some(*number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadNumber, NumberTransform, number, plain};

    #[test]
    fn numbers_are_parsed_as_by_strtol() {
        assert_eq!(plain(b"4096"), Some(4096));
        assert_eq!(plain(b"0x1000"), Some(4096));
        assert_eq!(plain(b"010"), Some(8));
        assert_eq!(plain(b"0"), Some(0));
        for wrong in [&b"-1"[..], b"", b"0x", b"4k", b"09", b"+1", b"99999999999999999999", b"\xff"]
        {
            assert_eq!(plain(wrong), None);
        }
    }

    #[test]
    fn drawn_numbers_are_shaped_in_order() {
        let drawn = number(b"*/0x1000%100+25").unwrap();
        let shapes = vec![
            NumberTransform::Multiple(4096),
            NumberTransform::Below(100),
            NumberTransform::Plus(25),
        ];
        assert_eq!(drawn, LoadNumber::Drawn(shapes));
        assert_eq!(drawn.now(|| 8195, 0, 0, 0), 8192 % 100 + 25);
        assert_eq!(number(b"*").unwrap().now(|| 7, 0, 0, 0), 7);
        for wrong in [&b"*%0"[..], b"*/0", b"*x", b"*%", b"**", b"*+1+1+1+1+1+1+1+1+1"] {
            assert_eq!(number(wrong), None);
        }
    }

    #[test]
    fn counting_numbers_continue_from_the_previous_line() {
        assert_eq!(number(b"+16").unwrap().now(|| 0, 100, 3, 8), 116);
        assert_eq!(number(b"+child").unwrap().now(|| 0, 100, 3, 8), 103);
        assert_eq!(number(b"+NUM_CHILDREN").unwrap().now(|| 0, 100, 3, 8), 108);
        assert_eq!(number(b"+1").unwrap().now(|| 0, u64::MAX, 0, 0), 0);
        assert_eq!(number(b"+"), None);
    }
}
