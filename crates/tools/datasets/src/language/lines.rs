//! Lines of a stream, one at a time and of bounded length, and decimal numbers in them. Both
//! readers of datasets use this module.

use std::io::{self, BufRead, Read as _};

use super::BYTES_END;

/// Stream split into lines.
pub(super) struct LineReader<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    bytes_max: u64,
}

/// Reason why there is no next line.
#[derive(Debug)]
pub(super) enum LineError {
    /// The stream could not be read.
    Read(io::Error),
    /// The line is longer than allowed.
    TooLong,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(reader: R, bytes_max: usize) -> Self {
        let bytes_max = bytes_max as u64;
        Self { reader, line: Vec::new(), number: 0, bytes: 0, bytes_max }
    }

    /// Reads the next line, without its line feed.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        self.line.clear();
        self.number += 1;
        // One byte more than a longest line with its line feed: enough to tell that it is too long.
        let mut tail = self.reader.by_ref().take(self.bytes_max + 1);
        let length = tail.read_until(b'\n', &mut self.line).map_err(LineError::Read)?;
        self.bytes += length as u64;
        if length == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if length as u64 > self.bytes_max {
            return Err(LineError::TooLong);
        }
        Ok(Some(&self.line))
    }

    /// Last line, or as much of it as was read.
    pub(super) fn last(&self) -> &[u8] {
        &self.line
    }

    /// Number of the last line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Number of bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Error in a number field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    /// A byte at this index is not a digit.
    NotADigit(usize),
    /// The number is 2^63 or more.
    TooBig,
}

/// Parses decimal digits as a number below 2^63.
pub(super) fn number(field: &[u8]) -> Result<u64, NumberError> {
    if let Some(place) = field.iter().position(|byte| !byte.is_ascii_digit()) {
        return Err(NumberError::NotADigit(place));
    }
    if field.is_empty() {
        return Err(NumberError::NotADigit(0));
    }
    let mut value: u64 = 0;
    for digit in field {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0')));
        value = next.filter(|v| *v < BYTES_END).ok_or(NumberError::TooBig)?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::{LineError, LineReader, NumberError, number};

    #[test]
    fn reader_returns_single_lines_and_refuses_long_ones() {
        let mut lines = LineReader::new(b"ab\n\ncd".as_slice(), 2);
        assert_eq!(lines.next().unwrap(), Some(b"ab".as_slice()));
        assert_eq!(lines.next().unwrap(), Some(b"".as_slice()));
        assert_eq!(lines.next().unwrap(), Some(b"cd".as_slice()));
        assert_eq!(lines.number(), 3);
        assert_eq!(lines.next().unwrap(), None);
        assert_eq!(lines.bytes(), 6);
        let mut lines = LineReader::new(b"abc\n".as_slice(), 2);
        assert!(matches!(lines.next(), Err(LineError::TooLong)));
        let mut lines = LineReader::new(b"abc".as_slice(), 2);
        assert!(matches!(lines.next(), Err(LineError::TooLong)));
    }

    #[test]
    fn numbers_from_2_to_the_63_are_refused() {
        assert_eq!(number(b"0"), Ok(0));
        assert_eq!(number(b"007"), Ok(7));
        assert_eq!(number(b"9223372036854775807"), Ok(i64::MAX.unsigned_abs()));
        assert_eq!(number(b"9223372036854775808"), Err(NumberError::TooBig));
        assert_eq!(number(b"99999999999999999999999999"), Err(NumberError::TooBig));
        assert_eq!(number(b""), Err(NumberError::NotADigit(0)));
        assert_eq!(number(b"1x"), Err(NumberError::NotADigit(1)));
        assert_eq!(number(b"-1"), Err(NumberError::NotADigit(0)));
        assert_eq!(number(b"+1"), Err(NumberError::NotADigit(0)));
    }
}
