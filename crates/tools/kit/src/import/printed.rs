//! Numbers as they are printed on a line, for the check that each was stored. Pure: no importer is
//! asked, so that the check does not trust what it checks.

use std::borrow::Cow;

/// Longest unit directly behind a number, in letters.
const UNIT_LETTERS_MOST: usize = 8;
/// Most digits of a number that is looked for; a longer one is a name.
const DIGITS_MOST: usize = 20;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Number on a line, not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedNumber {
    /// First byte of the number in the line.
    pub start: usize,
    /// Byte behind the last digit.
    pub end: usize,
    /// Value without the unit.
    pub value: f64,
    /// Half a unit of the last digit: the largest error of a correctly rounded number.
    pub rounding: f64,
}

/// Numbers of a line, from left to right.
///
/// Digits in names (`p99`, `IOR-4.1.0`, `/mnt/2`), dates, times of day, ordinals and keys
/// (`"99" :`, `32=`) are no numbers. A unit may follow directly, as in `4k` and `12.3MiB/s`. Commas
/// between thousands are part of a number behind an equals sign, where fio prints them.
pub fn printed_numbers(line: &str) -> Vec<PrintedNumber> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let word = WordExtent::at(bytes, at);
        if word.is_number(bytes) {
            found.extend(word.number(line));
        }
        at = word.behind;
    }
    found.retain(|number| !is_of_date(line, number));
    found
}

/// Digits, and all that belongs to the same word behind them.
struct WordExtent {
    start: usize,
    /// Byte behind the digits.
    end: usize,
    /// Byte behind the word.
    behind: usize,
}

impl WordExtent {
    /// Word around the digit at this byte.
    fn at(bytes: &[u8], start: usize) -> Self {
        let digits = |from: usize| {
            let tail = bytes.get(from..).unwrap_or_default();
            from + tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let mut end = digits(start);
        if start.checked_sub(1).map(|at| bytes[at]) == Some(b'=') {
            while bytes.get(end) == Some(&b',') && digits(end + 1) == end + 4 {
                end += 4;
            }
        }
        if bytes.get(end) == Some(&b'.') && is_digit(end + 1) {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if is_digit(end + 1 + sign) {
                end = digits(end + 1 + sign);
            }
        }
        let mut behind = end;
        // A sign between digits makes a version, a date or a time of day of them.
        while let Some(byte) = bytes.get(behind) {
            let joins = matches!(byte, b'.' | b':' | b'/' | b'-') && is_digit(behind + 1);
            if !(joins || byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii()) {
                break;
            }
            behind += 1;
        }
        Self { start, end, behind }
    }

    /// True if the word is a number, with a unit or without one.
    fn is_number(&self, bytes: &[u8]) -> bool {
        let before = |back: usize| self.start.checked_sub(back).map_or(b' ', |at| bytes[at]);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let joined = match before(1) {
            b'.' | b'/' | b'#' => true,
            b'-' => is_name(before(2)),
            b':' => before(2).is_ascii_digit(),
            byte => is_name(byte),
        };
        let unit = &bytes[self.end..self.behind];
        let is_unit = unit.len() <= UNIT_LETTERS_MOST
            && unit.iter().all(u8::is_ascii_alphabetic)
            && unit != b"th";
        let tail = &bytes[self.behind..];
        let is_json_key = matches!(before(1), b'"' | b'=')
            && tail
                .strip_prefix(b"\"")
                .is_some_and(|tail| tail.trim_ascii_start().starts_with(b":"));
        let is_key = is_json_key || tail.strip_prefix(b"%").unwrap_or(tail).starts_with(b"=");
        !joined && is_unit && !is_key && self.end - self.start <= DIGITS_MOST
    }

    fn number(&self, line: &str) -> Option<PrintedNumber> {
        let text = without_commas(&line[self.start..self.end]);
        let text = text.as_ref();
        let value: f64 = text.parse().ok()?;
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let decimals = mantissa.split_once('.').map_or(0, |(_, tail)| tail.len());
        let exponent: i32 = text.split(['e', 'E']).nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
        let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
        let rounding = 0.5 * 10_f64.powi(exponent.saturating_sub(decimals));
        Some(PrintedNumber { start: self.start, end: self.end, value, rounding })
    }
}

/// Text of a number without the commas between its thousands.
fn without_commas(text: &str) -> Cow<'_, str> {
    if text.contains(',') { Cow::Owned(text.replace(',', "")) } else { Cow::Borrowed(text) }
}

/// True for the day and the year of a date such as `Tue Nov 24 06:40:34 2026`.
fn is_of_date(line: &str, number: &PrintedNumber) -> bool {
    let last_word = |text: &str| text.split_whitespace().next_back().unwrap_or("").to_owned();
    let before = &line[..number.start];
    let is_clock = |word: &str| {
        word.contains(':') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
    };
    let is_zone = |word: &str| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    let word = last_word(before);
    let has_month = MONTHS.contains(&word.as_str());
    let is_year = (1970.0..2100.0).contains(&number.value) && {
        let tail = before.trim_end();
        let earlier = last_word(tail.strip_suffix(word.as_str()).unwrap_or(tail));
        is_clock(&word)
            || is_zone(&word) && is_clock(&earlier)
            || MONTHS.contains(&earlier.as_str())
    };
    has_month || is_year
}

#[cfg(test)]
mod tests {
    use super::printed_numbers;

    fn values(line: &str) -> Vec<f64> {
        printed_numbers(line).into_iter().map(|number| number.value).collect()
    }

    #[test]
    fn numbers_are_found_with_units_and_separators() {
        for (line, wanted) in [
            ("write     96.79      4096 0", vec![96.79, 4096.0, 0.0]),
            ("bw=12.3MiB/s (12.9MB/s), iops=3148", vec![12.3, 12.9, 3148.0]),
            ("\"runtime\" : 1000,", vec![1000.0]),
            ("util=4.50%, x=1.5e-3 -7", vec![4.5, 1.5e-3, 7.0]),
            ("1,2,,3K", vec![1.0, 2.0, 3.0]),
            ("min:98 (of 2 iterations)", vec![98.0, 2.0]),
            (
                "max=55,230, 8=99.7%, 99.50th=[ 1418], 65,128",
                vec![55230.0, 99.7, 1418.0, 65.0, 128.0],
            ),
        ] {
            assert_eq!(values(line), wanted, "{line}");
        }
        let number = printed_numbers("96.79")[0];
        assert!((number.rounding - 0.005).abs() < 1e-12);
        assert!((printed_numbers("4e+6")[0].rounding - 5e5).abs() < 1e-6);
    }

    #[test]
    fn names_dates_and_keys_are_no_numbers() {
        for line in [
            "IOR-4.1.0+dev p99 fio-3.33 node-7 /mnt/2/file ext4 0x1f a1",
            "Tue Nov 24 06:40:34 2026",
            "Fri Nov 27 04:16:39 UTC 2026",
            "11/24/2026 06:00:27 2026-04-03T20:55:12",
            "\"99.000000\" : {",
            "",
        ] {
            assert_eq!(values(line), Vec::<f64>::new(), "{line}");
        }
    }
}
