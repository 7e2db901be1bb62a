//! Patterns: `buffer_pattern` and `verify_pattern`. Numbers, quoted texts, and `%o` for the offset
//! of the block, concatenated.

/// Longest pattern in bytes, as in the original.
const BYTES_MAX: usize = 512;

/// Bytes that are repeated, with the positions of block offsets in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    /// Pattern in the syntax of the option.
    text: String,
}

impl Pattern {
    /// Parses a pattern; `None` on a syntax error.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut pattern = Self { text: text.to_owned(), ..Self::default() };
        let mut remaining = text;
        while !remaining.is_empty() {
            remaining = pattern.part(remaining)?;
        }
        let fits = (1..=BYTES_MAX).contains(&pattern.bytes.len());
        fits.then_some(pattern)
    }

    fn part<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(quoted) = text.strip_prefix('"') {
            let (inner, rest) = quoted.split_once('"').filter(|(inner, _)| !inner.is_empty())?;
            self.bytes.extend(inner.bytes());
            return Some(rest);
        }
        if let Some(rest) = text.strip_prefix("%o") {
            self.offsets.push(self.bytes.len());
            self.bytes.extend([0; 8]);
            return Some(rest);
        }
        let prefix = text.get(..2).is_some_and(|two| two.eq_ignore_ascii_case("0x"));
        if prefix && text[2..].starts_with(|char: char| char.is_ascii_hexdigit()) {
            return self.hexadecimal(&text[2..]);
        }
        self.decimal(text)
    }

    /// Parses pairs of hexadecimal digits; an odd digit stands alone, first.
    fn hexadecimal<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let mut end = text.find(|char: char| !char.is_ascii_hexdigit()).unwrap_or(text.len());
        // `0xff0x14`: the zero begins the next number.
        let next = text[end..].starts_with(['x', 'X']);
        if next && text[..end].ends_with('0') {
            end -= 1;
        }
        let (mut digits, rest) = text.split_at(end);
        if digits.len() % 2 == 1 {
            self.bytes.push(u8::from_str_radix(&digits[..1], 16).ok()?);
            digits = &digits[1..];
        }
        for pair in digits.as_bytes().chunks(2) {
            let pair = std::str::from_utf8(pair).ok()?;
            self.bytes.push(u8::from_str_radix(pair, 16).ok()?);
        }
        Some(rest)
    }

    /// Parses a decimal number as little-endian bytes, without trailing zeros.
    fn decimal<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let before = text.to_ascii_lowercase().find("0x").filter(|at| *at > 0);
        let body = &text[..before.unwrap_or(text.len())];
        let sign = usize::from(body.starts_with(['-', '+']));
        let digits = body[sign..].find(|char: char| !char.is_ascii_digit());
        let end = digits.map_or(body.len(), |digits| sign + digits);
        let number = body[..end].parse::<i32>().ok()?;
        let bytes = number.to_le_bytes();
        let used = 4 - bytes.iter().rev().take_while(|byte| **byte == 0).count();
        self.bytes.extend(&bytes[..used.max(1)]);
        Some(&text[end..])
    }

    /// Fills a buffer of a block at this offset.
    pub(crate) fn fill(&self, offset: u64, into: &mut [u8]) {
        let bytes = self.at(offset);
        for part in into.chunks_mut(bytes.len().max(1)) {
            part.copy_from_slice(&bytes[..part.len()]);
        }
    }

    /// Bytes of the pattern in a block at this offset.
    pub(crate) fn at(&self, offset: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &at in &self.offsets {
            bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        }
        bytes
    }

    /// Pattern in the syntax of the option.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_concatenate_numbers_texts_and_offsets() {
        let read = |text: &str| Pattern::read(text).map(|pattern| pattern.bytes);
        for (text, bytes) in [
            ("0xdeadface", &[0xde, 0xad, 0xfa, 0xce][..]),
            ("0xaaa", &[0x0a, 0xaa]),
            ("0xff0x14", &[0xff, 0x14]),
            ("305419896", &[0x78, 0x56, 0x34, 0x12]),
            ("0", &[0]),
            ("-1", &[0xff, 0xff, 0xff, 0xff]),
            ("12\"ab\"0x0", &[12, b'a', b'b', 0]),
        ] {
            assert_eq!(read(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["", "x", "\"a", "\"\"", "4294967296", "%x"] {
            assert_eq!(read(text), None, "{text}");
        }
        let mut filled = [0; 20];
        Pattern::read("%o\"-\"").unwrap().fill(0x0102, &mut filled);
        assert_eq!(filled[..12], [2, 1, 0, 0, 0, 0, 0, 0, b'-', 2, 1, 0]);
    }
}
