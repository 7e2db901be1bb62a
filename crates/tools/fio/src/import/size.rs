//! Numbers with units in fio's normal output: `24,192KB/s`, `1676MiB/s`, `214k`, `30906k`.

use treering_kit::import::number::decimal;

/// Printed number, and the value of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PrintedNumber {
    pub(super) value: f64,
    pub(super) step: f64,
}

impl PrintedNumber {
    /// Takes the more exact number if it rounds to this one; else keeps this one.
    pub(super) fn refined(self, exact: f64) -> f64 {
        if self.agrees(exact) { exact } else { self.value }
    }

    /// True if `exact`, rounded or truncated, gives the printed number.
    pub(super) fn agrees(self, exact: f64) -> bool {
        exact.is_finite() && (exact - self.value).abs() <= self.step * 1.001
    }

    /// Relative precision of the printed number.
    pub(super) fn relative_step(self) -> f64 {
        self.step / self.value.max(f64::MIN_POSITIVE)
    }
}

/// Meaning of a printed `KB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitBase {
    /// Always 1024, also without an `i`: versions before 2.18 with their default of `kb_base`.
    Always1024,
    /// 1000 unless an `i` follows.
    AsWritten,
}

/// Parses a size, or a rate ending in `/s`, in bytes.
pub(super) fn bytes(word: &str, kilo: UnitBase) -> Option<PrintedNumber> {
    let word = word.strip_suffix("/s").unwrap_or(word);
    let (number, unit) = split(word);
    let (unit, part) = match (unit.strip_suffix("bit"), unit.strip_suffix('B')) {
        (Some(unit), _) => (unit, 1.0 / 8.0),
        (None, Some(unit)) => (unit, 1.0),
        // `io=65,128K` of the oldest ones.
        (None, None) => (unit, 1.0),
    };
    let (letter, is_binary) = match unit.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (unit, kilo == UnitBase::Always1024),
    };
    let base: f64 = if is_binary { 1024.0 } else { 1000.0 };
    let powers = [("", 0), ("k", 1), ("K", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5)];
    let (_, power) = powers.into_iter().find(|(known, _)| *known == letter)?;
    scaled(number, base.powi(power) * part)
}

/// Parses a count or a time: `3,023`, `214k`, `76976k`, `1,536K`.
pub(super) fn count(word: &str) -> Option<PrintedNumber> {
    let (number, unit) = split(word);
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" | "m" => 1e6,
        "G" | "g" => 1e9,
        _ => return None,
    };
    scaled(number, factor)
}

/// Nanoseconds of a unit.
pub(super) fn unit_ns(word: &str) -> Option<u64> {
    match word {
        "nsec" => Some(1),
        "usec" => Some(1_000),
        "msec" => Some(1_000_000),
        "sec" => Some(1_000_000_000),
        _ => None,
    }
}

fn split(word: &str) -> (&str, &str) {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
    word.split_at(word.bytes().take_while(is_digit).count())
}

fn scaled(number: &str, factor: f64) -> Option<PrintedNumber> {
    let plain = number.replace(',', "");
    let value = decimal(&plain)? * factor;
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let step = factor * 10_f64.powi(-i32::try_from(decimals).ok()?);
    value.is_finite().then_some(PrintedNumber { value, step })
}

#[cfg(test)]
mod tests {
    use super::{PrintedNumber, UnitBase, bytes, count};

    #[test]
    fn units_follow_the_fio_version() {
        let value = |word: &str, kilo| bytes(word, kilo).map(|printed| printed.value);
        assert_eq!(value("24,192KB/s", UnitBase::Always1024), Some(24_192.0 * 1024.0));
        assert_eq!(value("2,835MB", UnitBase::Always1024), Some(2_835.0 * 1_048_576.0));
        assert_eq!(value("2429MB/s", UnitBase::AsWritten), Some(2_429e6));
        assert_eq!(value("9870kB/s", UnitBase::AsWritten), Some(9_870e3));
        assert_eq!(value("11.8MiB/s", UnitBase::AsWritten), Some(11.8 * 1_048_576.0));
        assert_eq!(value("800B", UnitBase::AsWritten), Some(800.0));
        assert_eq!(value("8Gibit/s", UnitBase::AsWritten), Some(1_073_741_824.0));
        assert_eq!(count("35.2k"), Some(PrintedNumber { value: 35_200.0, step: 100.0 }));
        assert_eq!(count("14,617K").map(|printed| printed.value), Some(14_617_000.0));
        for odd in ["", "-1", "1XB", "K", "1e3", "nan", "1.2.3KB"] {
            assert_eq!((value(odd, UnitBase::AsWritten), count(odd)), (None, None), "{odd}");
        }
    }

    #[test]
    fn printed_numbers_are_refined_only_by_values_that_round_to_them() {
        let printed = PrintedNumber { value: 67.0, step: 1.0 };
        assert!((printed.refined(67.63) - 67.63).abs() < 1e-12);
        assert!((printed.refined(70.0) - 67.0).abs() < 1e-12);
        assert!((printed.refined(f64::NAN) - 67.0).abs() < 1e-12);
    }
}
