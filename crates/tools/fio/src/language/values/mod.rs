//! Values of keys: sizes, times, ranges, shares, switches.
//!
//! Values mean to fio's option parser what they mean here: `1.5k` is 1 byte and `1min` is 1 us. A
//! text that is not wholly a value is taken with a note of its meaning.

mod arithmetic;
mod leading;

use std::cell::RefCell;

use treering_kit::faults::{Fault, Faults, Place, shown};

use super::keys::{WITH_FIO, is_switch_key};
use super::units::{UnitBases, time_us};
use arithmetic::evaluate;
use leading::Leading;

/// Largest file size of Linux.
const SIZE_MAX: u64 = i64::MAX.unsigned_abs();

const BINARY: UnitBases = UnitBases { kb: 1024 };

/// Computes an expression of plain numbers; `None` if it is none, or negative.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    if text.contains(|letter: char| letter.is_alphabetic()) {
        return None;
    }
    whole(evaluate(text, BINARY, false)?)
}

/// True if the text is an expression of numbers, sizes or times.
pub(super) fn is_expression(text: &str) -> bool {
    [false, true].iter().any(|&in_time| evaluate(text, BINARY, in_time).is_some())
}

fn whole(value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    let number = (0.0..9.2e18).contains(&value).then_some(value as u64);
    number
}

/// Amount in bytes, or a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Amount in bytes.
    Bytes(u64),
    /// Percentage, from 0 to 100.
    Percent(u64),
}

/// Value text with its position and the key it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawValue<'t> {
    pub(super) key: &'t str,
    pub(super) text: &'t str,
    pub(super) place: Place,
    pub(super) bases: UnitBases,
    pub(super) to: &'t Faults<'t>,
    /// Notes about values that were read in part.
    pub(super) notes: &'t RefCell<Vec<String>>,
}

impl<'t> RawValue<'t> {
    /// Creates an error about the value, with a hint.
    pub(super) fn refuse(&self, what: &str, right: impl Into<String>) -> Fault {
        let what = format!("{}: '{}' {what}", shown(self.key), shown(self.text));
        self.to.error(self.place, what).hint(right)
    }

    /// Narrows the value to a part of its text.
    pub(super) fn part<'p>(&self, text: &'p str) -> RawValue<'p>
    where
        't: 'p,
    {
        let RawValue { key, place, bases, to, notes, .. } = *self;
        RawValue { key, text: text.trim(), place, bases, to, notes }
    }

    /// Parses a whole number in a range, which may be an arithmetic expression.
    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, Fault> {
        let number = match plain(self.text) {
            Some(number) => Some(number),
            None => self.evaluated(false).or_else(|| self.leading(None, "")),
        };
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            let right = format!("{} is a whole number from {least} to {most}", self.key);
            self.refuse("is not a whole number that fits", right)
        })
    }

    /// Parses a switch; a key without a value is true.
    pub(super) fn switch(&self) -> Result<bool, Fault> {
        let digits = self.text.trim_start().trim_start_matches('-');
        let is_negative = digits.len() < self.text.trim_start().len();
        match leading::integer(digits) {
            None if self.text.is_empty() => Ok(true),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(_) if is_negative || is_switch_key(self.key) => Ok(true),
            _ => Err(self.refuse("is neither 0 nor 1", format!("{} is 0 or 1", self.key))),
        }
    }

    /// Reads the number at the front, and notes its meaning unless the whole text has the same.
    fn leading(&self, whole: Option<u64>, unit: &str) -> Option<u64> {
        let arithmetic = self.text.starts_with('(');
        match leading::bytes(self.text, self.bases).filter(|_| !arithmetic) {
            Some(Leading::Value(number)) => Some(self.noted(number, whole, unit)),
            Some(Leading::Percent(_)) | None => whole,
        }
    }

    fn noted(&self, number: u64, whole: Option<u64>, unit: &str) -> u64 {
        if whole != Some(number) {
            let (key, text) = (shown(self.key), shown(self.text));
            let note = format!("{key}: '{text}' is read as {number}{unit}, as fio does");
            self.notes.borrow_mut().push(note);
        }
        number
    }

    fn evaluated(&self, in_time: bool) -> Option<u64> {
        let text = self.text;
        let is_whole = text.starts_with('(') && text.ends_with(')');
        evaluate(text, self.bases, in_time).filter(|_| is_whole).and_then(whole)
    }

    /// Parses a size in bytes.
    pub(super) fn size(&self) -> Result<u64, Fault> {
        let right = "a size is a whole number with an optional k, m, g, t or p, as 256k; \
                     arithmetic stands in parentheses";
        let bytes = self.bytes().or_else(|| self.leading(None, " bytes"));
        let bytes = bytes.filter(|bytes| *bytes <= SIZE_MAX);
        bytes.ok_or_else(|| self.refuse("is not a size that fits", right))
    }

    fn bytes(&self) -> Option<u64> {
        // As in the original, an unmatched closing parenthesis is ignored.
        let text = match self.text.strip_suffix(')') {
            Some(inner) if !inner.contains('(') => inner,
            _ => self.text,
        };
        if let Some(number) = plain(text) {
            return Some(number);
        }
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        match number.parse::<u64>() {
            Ok(number) => number.checked_mul(self.bases.size_unit(suffix)?),
            Err(_) => self.evaluated(false),
        }
    }

    /// Parses an amount in bytes or percent.
    pub(super) fn amount(&self) -> Result<Amount, Fault> {
        match leading::bytes(self.text, self.bases) {
            Some(Leading::Percent(percent @ 0..=100)) => Ok(Amount::Percent(percent)),
            Some(Leading::Percent(_)) => {
                Err(self.refuse("is not a percentage", "a percentage is from 0% to 100%"))
            }
            None if self.text.ends_with('z') => {
                Err(self.refuse("counts zones", "treering knows no zones: give bytes or percent"))
            }
            _ => self.size().map(Amount::Bytes),
        }
    }

    /// Parses a range in bytes; a single number is both ends.
    ///
    /// As in the original, text after either size behind `/` or `:` is ignored, and the smaller
    /// size comes first.
    pub(super) fn range(&self) -> Result<(u64, u64), Fault> {
        let halves = self.text.split_once('-').or_else(|| self.text.split_once(':'));
        let (low, high) = match halves {
            Some((low, high)) => (self.end_of_range(low)?, self.end_of_range(high)?),
            None => (self.size()?, self.size()?),
        };
        Ok((low.min(high), low.max(high)))
    }

    fn end_of_range(&self, text: &str) -> Result<u64, Fault> {
        let is_arithmetic = text.trim_start().starts_with('(');
        let end = text.find(['/', ':']).filter(|_| !is_arithmetic).unwrap_or(text.len());
        self.part(&text[..end]).size()
    }

    /// Parses a time in microseconds; a plain number counts in units of `alone_us`.
    pub(super) fn time_us(&self, alone_us: u64) -> Result<u64, Fault> {
        let right = "a time is a whole number with an optional us, ms, s, m, h or d, as 30s";
        let is_number = self.text.starts_with(|c: char| c.is_ascii_digit());
        let us = if is_number || self.text.starts_with('+') {
            let whole = time_us(self.text, alone_us);
            leading::time_us(self.text, alone_us).map(|us| self.noted(us, whole, " us"))
        } else {
            self.evaluated(true).and_then(|number| number.checked_mul(alone_us))
        };
        let us = us.filter(|us| *us <= SIZE_MAX / 1000);
        us.ok_or_else(|| self.refuse("is not a time that fits", right))
    }

    /// Looks the value up among `words`.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Fault> {
        let meaning = words.iter().find(|(word, _)| *word == self.text).map(|(_, meant)| *meant);
        meaning.ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let right = format!("{} is one of: {}; {WITH_FIO}", self.key, words.join(", "));
            self.refuse("is not known here", right)
        })
    }
}

/// Parses decimal digits, or hexadecimal ones after `0x`.
fn plain(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::{Amount, Fault, Faults, Place, RawValue, RefCell, UnitBases};

    fn given<T>(
        text: &'static str,
        kb: u64,
        read: impl Fn(&RawValue<'static>) -> Result<T, Fault>,
    ) -> Option<T> {
        let to = Box::leak(Box::new(Faults::new("f", b"")));
        let place = Place::new(2, 7);
        let bases = UnitBases { kb };
        let notes = Box::leak(Box::new(RefCell::new(Vec::new())));
        match read(&RawValue { key: "key", text, place, bases, to, notes }) {
            Ok(value) => Some(value),
            Err(error) => {
                assert_eq!(error.place, place);
                assert!(error.what.starts_with("key: '") && error.hint.is_some(), "{error:?}");
                None
            }
        }
    }

    #[test]
    fn suffixes_follow_the_base_and_ib_the_other_one() {
        let size = |text, kb| given(text, kb, RawValue::size);
        for (text, bytes) in [
            ("4096", 4096),
            ("0x10", 16),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4ki", 4096),
            ("4KiB", 4000),
            ("2m", 2 << 20),
            ("1p", 1 << 50),
            ("(4*1024)", 4096),
            ("(2k * (1 + 1))", 4096),
            ("(2^12)", 4096),
        ] {
            assert_eq!(size(text, 1024), Some(bytes), "{text}");
        }
        assert_eq!((size("4k", 1000), size("4kib", 1000)), (Some(4000), Some(4096)));
    }

    #[test]
    fn values_without_a_number_are_refused() {
        for text in ["", "k", "-1", "99999999999999999999", "(4*2)k", "4z", "50%"] {
            assert_eq!(given(text, 1024, RawValue::size), None, "{text}");
        }
        for text in ["(1/0)", "(1-2)", "(((", "(1", "()", "(a)", "(1 2)"] {
            assert_eq!(given(text, 1024, RawValue::size), None, "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(given(deep.leak(), 1024, RawValue::size), None);
    }

    #[test]
    fn time_units_are_parsed() {
        let time = |text, alone| given(text, 1024, |given| given.time_us(alone));
        for (text, us) in [
            ("5", 5_000_000),
            ("5s", 5_000_000),
            ("2m", 120_000_000),
            ("7ms", 7000),
            ("9us", 9),
            ("(2*3)", 6_000_000),
        ] {
            assert_eq!(time(text, 1_000_000), Some(us), "{text}");
        }
        assert_eq!(time("8", 1), Some(8));
        assert_eq!((time("5k", 1), time("k", 1)), (Some(5), None));
    }

    #[test]
    fn text_after_a_size_range_is_ignored() {
        for (text, range) in [
            ("512/25:1k:25:2k:25:4k/25", (512, 1024)),
            ("4k:8k/40:16k", (4096, 8192)),
            ("4k/50-8k:16k", (4096, 8192)),
            ("(8/2)-(2^3)", (4, 8)),
        ] {
            assert_eq!(given(text, 1024, RawValue::range), Some(range), "{text}");
        }
    }

    #[test]
    fn amounts_ranges_and_switches_are_parsed() {
        assert_eq!(given("20%", 1024, RawValue::amount), Some(Amount::Percent(20)));
        assert_eq!(given("101%", 1024, RawValue::amount), None);
        assert_eq!(given("4z", 1024, RawValue::amount), None);
        assert_eq!(given("10:1m", 1024, RawValue::range), Some((10, 1 << 20)));
        assert_eq!(given("4k-2k", 1024, RawValue::range), Some((2048, 4096)));
        assert_eq!(given("4k-x", 1024, RawValue::range), None);
        assert_eq!(given("", 1024, RawValue::switch), Some(true));
        for (text, is_on) in
            [("1x", true), ("01", true), ("0x1", true), ("1,", true), ("0.5", false)]
        {
            assert_eq!(given(text, 1024, RawValue::switch), Some(is_on), "{text}");
        }
        for text in ["2", "true", "yes"] {
            assert_eq!(given(text, 1024, RawValue::switch), None, "{text}");
        }
        let number = |text| given(text, 1024, |given| given.number(0, 5000));
        for (text, read) in [("4x", 4), ("4k", 4096), ("1.5", 1), ("16,32", 16), ("4:8", 4)] {
            assert_eq!(number(text), Some(read), "{text}");
        }
        assert_eq!((number("50%"), number("-1"), number("")), (None, None, None));
        assert_eq!(given("(2+3)", 1024, |given| given.number(0, 9)), Some(5));
    }
}
