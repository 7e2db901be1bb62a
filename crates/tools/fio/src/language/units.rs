//! Unit suffixes of sizes and of times.

/// Number base of size suffixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitBases {
    /// Factor of `k`: 1024 or 1000.
    pub(super) kb: u64,
}

impl UnitBases {
    /// Factor of `kib`: the other base.
    pub(super) const fn opposite(self) -> u64 {
        2024 - self.kb
    }

    /// Factor of a size suffix: `k` and `kb` by the base, `kib` by the other one.
    pub(super) fn size_unit(self, suffix: &str) -> Option<u64> {
        let suffix = suffix.to_ascii_lowercase();
        let (letter, rest) = suffix.split_at_checked(1)?;
        let base = match rest {
            "" | "b" | "i" => self.kb,
            "ib" => self.opposite(),
            _ => return None,
        };
        let power = match letter {
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            "p" => 5,
            "b" if rest.is_empty() => 0,
            _ => return None,
        };
        base.checked_pow(power)
    }
}

/// Factor of a time suffix, in microseconds.
pub(super) fn time_unit_us(suffix: &str) -> Option<u64> {
    Some(match suffix.to_ascii_lowercase().as_str() {
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "s" | "sec" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" | "hour" => 3_600_000_000,
        "d" | "day" => 86_400_000_000,
        _ => return None,
    })
}

/// Parses a whole number with a time unit, in microseconds; a plain number counts in units of
/// `alone_us`.
pub(crate) fn time_us(text: &str, alone_us: u64) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let unit_us = if suffix.is_empty() { Some(alone_us) } else { time_unit_us(suffix.trim()) };
    number.parse::<u64>().ok()?.checked_mul(unit_us?)
}
