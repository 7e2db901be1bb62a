//! Numbers with suffixes, shortened as the original does.

use crate::language::{NumberFormat, Section};

/// Shortens a number to a width in steps of 1000 or 1024; returns the digits and the power.
fn short(number: u64, characters: usize, step: u64) -> (String, usize) {
    let (mut number, mut rest, mut power) = (number, None, 0);
    while number.to_string().len() > characters {
        rest = Some(number % step);
        number /= step;
        power += 1;
    }
    let Some(rest) = rest else { return (number.to_string(), power) };
    let carried = number + u64::from(rest >= step / 2);
    let left = characters.saturating_sub(carried.to_string().len());
    if left <= 1 {
        return (carried.to_string(), power);
    }
    let places = left - 1;
    let share = format!("{:.places$}", rest as f64 / step as f64);
    let decimals = share.get(2..).unwrap_or_default();
    (format!("{number}.{decimals}"), power)
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// Number format of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// Width of a number in characters.
    pub(super) figures: usize,
    /// True if rates are in bits.
    pub(super) bits: bool,
    /// True if powers of 1000 come first, and powers of 1024 in parentheses.
    pub(super) decimal: bool,
}

impl Units {
    pub(super) fn from_job(job: &Section) -> Self {
        let NumberFormat { figures, bits } = job.extras.numbers;
        Self { figures, bits, decimal: job.is_decimal() }
    }

    /// Amount of bytes as `64.0KiB`.
    pub(super) fn bytes(self, bytes: u64) -> String {
        format!("{}B", self.scaled(bytes, self.decimal))
    }

    /// Amount in the other base: `65.5kB`.
    pub(super) fn other_bytes(self, bytes: u64) -> String {
        format!("{}B", self.scaled(bytes, !self.decimal))
    }

    /// Rate as `64.0KiB/s`, or in bits.
    pub(super) fn rate(self, bytes: u64) -> String {
        self.rate_in(bytes, self.decimal)
    }

    /// Rate in the other base.
    pub(super) fn other_rate(self, bytes: u64) -> String {
        self.rate_in(bytes, !self.decimal)
    }

    fn rate_in(self, bytes: u64, decimal: bool) -> String {
        let (amount, unit) =
            if self.bits { (bytes.saturating_mul(8), "bit/s") } else { (bytes, "B/s") };
        format!("{}{unit}", self.scaled(amount, decimal))
    }

    fn scaled(self, amount: u64, decimal: bool) -> String {
        let (step, prefixes) = if decimal { (1000, DECIMAL) } else { (1024, BINARY) };
        let (number, power) = short(amount, self.figures, step);
        format!("{number}{}", prefixes[power.min(6)])
    }
}

/// Count as `12.8k`, of a maximum width.
pub(super) fn count(number: u64, characters: usize) -> String {
    let (number, power) = short(number, characters, 1000);
    format!("{number}{}", DECIMAL[power.min(6)])
}

/// Converts a float to an integer as C does.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = number as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::{Units, count};

    const USUAL: Units = Units { figures: 4, bits: false, decimal: false };

    #[test]
    fn numbers_are_shortened_as_in_the_original() {
        for (bytes, text) in [
            (65_536, "64.0KiB"),
            (4096, "4096B"),
            (4_022_272, "3928KiB"),
            (838_860_800, "800MiB"),
            (27_360_000, "26.1MiB"),
        ] {
            assert_eq!(USUAL.bytes(bytes), text);
        }
        assert_eq!(USUAL.other_bytes(27_360_000), "27.4MB");
        assert_eq!(USUAL.other_rate(4_022_272), "4022kB/s");
        assert_eq!(count(12_800, 4), "12.8k");
        assert_eq!(count(6680, 4), "6680");
        assert_eq!(count(2_412_400, 6), "2412.4k");
        assert_eq!((count(0, 4), USUAL.bytes(0)), ("0".to_owned(), "0B".to_owned()));
        assert!(USUAL.bytes(u64::MAX).ends_with("EiB"));
    }

    #[test]
    fn rates_follow_unit_base_and_significant_figures() {
        let units = Units { figures: 6, bits: true, decimal: true };
        assert_eq!(units.rate(27_360_123), "218881kbit/s");
        assert_eq!(units.bytes(27_360_123), "27360kB");
    }
}
