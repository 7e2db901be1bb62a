//! Numbers as fio's option parser takes them from the front of a text.
//!
//! The rules are those of `str_to_decimal`, `get_mult_bytes`, `get_mult_time` and `check_int` in
//! fio's parse.c: the number ends at the first byte that is no digit, `0x` anywhere makes it
//! hexadecimal, and a unit counts only directly behind the digits.

use super::super::units::UnitBases;

/// Number at the front of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// Number with its unit applied.
    Value(u64),
    /// Number directly before a percent sign.
    Percent(u64),
}

/// Parses a number with a unit of sizes. `None` where fio refuses the text, and for numbers below
/// zero or above 64 bits.
pub(super) fn bytes(text: &str, bases: UnitBases) -> Option<Leading> {
    if text.ends_with('z') {
        return None;
    }
    let text = text.split(',').next()?;
    let number = integer(text)?;
    let unit = behind_digits(text);
    let end = unit.find([':', '-', '/']).unwrap_or(unit.len());
    let unit = unit[..end].to_ascii_lowercase();
    if unit.starts_with('%') {
        return Some(Leading::Percent(number));
    }
    let power = match unit.bytes().next() {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        _ => 0,
    };
    let is_opposite = unit.get(1..3) == Some("ib");
    let base = if is_opposite { bases.opposite() } else { bases.kb };
    number.checked_mul(base.checked_pow(power)?).map(Leading::Value)
}

/// Parses a number with a unit of times, in microseconds; a number without a letter behind it
/// counts in units of `alone_us`, one with an unknown unit in microseconds.
pub(super) fn time_us(text: &str, alone_us: u64) -> Option<u64> {
    if text.ends_with('z') {
        return None;
    }
    let text = text.split(',').next()?;
    let number = integer(text)?;
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    let unit = unit.to_ascii_lowercase();
    let unit_us = match unit.as_str() {
        _ if !unit.starts_with(|c: char| c.is_ascii_alphabetic()) => alone_us,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ if unit.starts_with("ms") => 1000,
        _ => 1,
    };
    number.checked_mul(unit_us)
}

/// Parses the digits at the front; what follows them is ignored.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let is_hex = text.contains("0x") || text.contains("0X");
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !is_hex {
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        return digits[..end].parse().ok();
    }
    let digits = match digits.get(..2) {
        Some("0x" | "0X") => &digits[2..],
        _ => digits,
    };
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    // Without a digit behind it, the zero of the prefix is the number.
    let is_bare = end == 0 && (text.contains("0x") || text.contains("0X"));
    if is_bare {
        text.starts_with(['0', '+']).then_some(0)
    } else {
        u64::from_str_radix(&digits[..end], 16).ok()
    }
}

/// Text behind the digits if it begins with a letter or a percent sign.
fn behind_digits(text: &str) -> &str {
    let rest = text.strip_prefix('+').unwrap_or(text);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_unit = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%');
    if is_unit { rest } else { "" }
}

#[cfg(test)]
mod tests {
    use super::{Leading, UnitBases, bytes, time_us};

    /// Values of `fio --debug=parse --parse-only --bs=...`, fio 3.33.
    #[test]
    fn sizes_are_read_as_the_original_reads_them() {
        let read = |text| match bytes(text, UnitBases { kb: 1024 }) {
            Some(Leading::Value(value)) => Some(value),
            _ => None,
        };
        for (text, value) in [
            ("4x", 4),
            ("4kx", 4096),
            ("4kbx", 4096),
            ("4kibx", 4000),
            ("4kfoo", 4096),
            ("4s", 4),
            ("64k,", 65536),
            ("1.5", 1),
            ("1.5k", 1),
            ("1.5%", 1),
            ("4 k", 4),
            ("4k/50", 4096),
            ("4k:8k", 4096),
            ("4k-8k", 4096),
            ("4:8k", 4),
            ("16,32", 16),
            ("+4k", 4096),
            ("0", 0),
            ("0x10", 16),
            ("0x", 0),
            ("0xfg", 15),
            ("0x10k", 16),
            ("10x0x", 16),
            ("50x", 80),
            ("1e3", 1),
            ("1B", 1),
            ("4e", 4),
            ("4_000", 4),
            ("4*1024", 4),
            ("4KiB", 4000),
            ("4Ki", 4096),
            ("4kI", 4096),
            ("9223372036854775807", i64::MAX.unsigned_abs()),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in ["", "k", "x", "4z", "20z", "99999999999999999999", ",64k", "-4", "%"] {
            assert_eq!(bytes(text, UnitBases { kb: 1024 }), None, "{text}");
        }
        for (text, percent) in [("50%", 50), ("50%x", 50), ("0%", 0), ("150%", 150)] {
            let read = bytes(text, UnitBases { kb: 1024 });
            assert_eq!(read, Some(Leading::Percent(percent)), "{text}");
        }
        assert_eq!(bytes("4kibx", UnitBases { kb: 1000 }), Some(Leading::Value(4096)));
    }

    /// Values of `fio --debug=parse --parse-only --runtime=...`, fio 3.33.
    #[test]
    fn times_are_read_as_the_original_reads_them() {
        for (text, us) in [
            ("1.5", 1_000_000),
            ("1.5m", 1_000_000),
            ("1 m", 1_000_000),
            ("1x", 1),
            ("1k", 1),
            ("1min", 1),
            ("1sec", 1),
            ("1hour", 1),
            ("1day", 1),
            ("1msec", 1000),
            ("10mss", 10_000),
            ("1usec", 1),
            ("1us,", 1),
            ("1m", 60_000_000),
            ("1M", 60_000_000),
            ("10S", 10_000_000),
            ("1h", 3_600_000_000),
            ("1d", 86_400_000_000),
            ("+5", 5_000_000),
            ("0x10", 16),
            ("0x5s", 5),
            ("2,3", 2_000_000),
            ("5-9", 5_000_000),
            ("5:9", 5_000_000),
        ] {
            assert_eq!(time_us(text, 1_000_000), Some(us), "{text}");
        }
        assert_eq!((time_us("8", 1), time_us("1.5", 1)), (Some(8), Some(1)));
        for text in ["", "s", "-1", "5z", "99999999999999999999"] {
            assert_eq!(time_us(text, 1_000_000), None, "{text}");
        }
    }
}
