//! Arithmetic in values: `(4k*2+1m)`, in floating point as in fio.

use super::super::units::{UnitBases, time_unit_us};

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 32;

/// Evaluates an arithmetic expression; `None` on a syntax error. Numbers may have size suffixes, or
/// time suffixes.
pub(super) fn evaluate(text: &str, bases: UnitBases, in_time: bool) -> Option<f64> {
    let mut cursor = Cursor { rest: text.trim_start(), bases, in_time, depth: 0 };
    let value = cursor.sum()?;
    (cursor.rest.is_empty() && value.is_finite()).then_some(value)
}

struct Cursor<'t> {
    rest: &'t str,
    bases: UnitBases,
    in_time: bool,
    depth: usize,
}

impl Cursor<'_> {
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let first = self.rest.chars().next().filter(|first| wanted.contains(first))?;
        self.rest = self.rest[first.len_utf8()..].trim_start();
        Some(first)
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let more = self.product()?;
            value = if sign == '+' { value + more } else { value - more };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let by = self.power()?;
            value = match sign {
                '*' => value * by,
                '/' => value / by,
                _ => (value.trunc()) % (by.trunc()),
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.factor()?;
        match self.take(&['^']) {
            Some(_) => Some(base.powf(self.factor()?)),
            None => Some(base),
        }
    }

    fn factor(&mut self) -> Option<f64> {
        if self.take(&['-']).is_some() {
            return self.deeper(Self::factor).map(|value| -value);
        }
        if self.take(&['(']).is_some() {
            let value = self.deeper(Self::sum)?;
            self.take(&[')'])?;
            return Some(value);
        }
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '.';
        let end = self.rest.find(end).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        self.number(number)
    }

    fn deeper(&mut self, part: fn(&mut Self) -> Option<f64>) -> Option<f64> {
        self.depth += 1;
        let value = if self.depth > DEPTH_MAX { None } else { part(self) };
        self.depth -= 1;
        value
    }

    fn number(&self, text: &str) -> Option<f64> {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        if text.starts_with("0x") || text.starts_with("0X") {
            return u64::from_str_radix(&text[2..], 16).ok().map(|number| number as f64);
        }
        let unit = if suffix.is_empty() {
            1.0
        } else if self.in_time {
            // Time suffixes count in microseconds, plain numbers in seconds: fio's own units of an
            // expression.
            time_unit_us(suffix)? as f64 / 1e6
        } else {
            self.bases.size_unit(suffix)? as f64
        };
        Some(number.parse::<f64>().ok()? * unit)
    }
}
