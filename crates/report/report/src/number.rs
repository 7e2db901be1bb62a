//! Numbers formatted for people: three or four significant digits, a unit, no false precision.
//!
//! A number keeps its measured value; only its text is rounded. Machine-readable formats use the
//! value (`Number::exact`), formats for people the text.

use serde::{Deserialize, Serialize, Serializer};
use treering_model::{Unit, thousands};

/// Notation of a number for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberStyle {
    /// A count: exact below ten million, then scaled (`12.35 M`).
    Whole,
    /// Four significant digits.
    Measured,
    /// Percent with one decimal.
    Percent,
    /// A change in percent with its sign and one decimal.
    Change,
    /// A probability with three decimals.
    Probability,
    /// A ratio with three decimals.
    Ratio,
    /// A latency in nanoseconds, written in ns, µs, ms or s with three significant digits.
    Latency,
    /// Bytes, written in B, KiB, MiB, …
    Size,
    /// A duration in seconds, written as `12.34 s`, `12 min 34 s` or `3 h 25 min`.
    Span,
}

impl NumberStyle {
    /// Reports whether the formatted text includes a unit of its own.
    pub(crate) const fn scales(self) -> bool {
        matches!(self, Self::Latency | Self::Size | Self::Span)
    }
}

/// Time in seconds below which values of a series have units that suit them (`1.209 ms`).
pub(crate) const SHORT_SECONDS: f64 = 0.1;

/// A number with unit and notation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Value; finite.
    #[serde(serialize_with = "shortest")]
    pub value: f64,
    /// Unit of the value; empty for plain counts.
    pub unit: String,
    /// Notation for people.
    pub style: NumberStyle,
}

impl Number {
    /// Creates a count.
    pub fn whole(value: u64) -> Self {
        Self { value: value as f64, unit: String::new(), style: NumberStyle::Whole }
    }

    /// Creates a measured value in a unit, with that unit's usual notation.
    pub fn measured(value: f64, unit: Unit) -> Self {
        let style = match unit {
            Unit::Percent => NumberStyle::Percent,
            Unit::Bytes => NumberStyle::Size,
            Unit::Nanoseconds => NumberStyle::Latency,
            Unit::Count if value.fract() == 0.0 => NumberStyle::Whole,
            Unit::Count
            | Unit::Seconds
            | Unit::MibPerSecond
            | Unit::FilesPerSecond
            | Unit::OpsPerSecond => NumberStyle::Measured,
        };
        Self { value, unit: unit.symbol().to_owned(), style }
    }

    /// Creates a duration from seconds, shown in hours, minutes and seconds.
    pub fn span(seconds: f64) -> Self {
        Self { value: seconds, unit: Unit::Seconds.symbol().to_owned(), style: NumberStyle::Span }
    }

    /// Creates a difference of values in a unit; differences of shares are in percentage points.
    pub(crate) fn difference(value: f64, unit: Unit) -> Self {
        match unit {
            Unit::Percent => {
                Self { value, unit: "percentage points".to_owned(), style: NumberStyle::Measured }
            }
            unit => Self::measured(value, unit),
        }
    }

    /// Returns the number with another notation.
    #[must_use]
    pub(crate) fn styled(self, style: NumberStyle) -> Self {
        Self { style, ..self }
    }

    /// Formatted number for people, without its unit unless the notation includes one.
    pub fn text(&self) -> String {
        match self.style {
            NumberStyle::Whole => whole(self.value),
            NumberStyle::Measured => significant(self.value, 4),
            NumberStyle::Change if self.value >= 0.05 => format!("+{}", percent(self.value)),
            NumberStyle::Percent | NumberStyle::Change => percent(self.value),
            NumberStyle::Probability if (0.0..0.001).contains(&self.value) => "<0.001".to_owned(),
            // For a ratio far from one, three decimals would be all zeros, or need hundreds of
            // digits.
            NumberStyle::Ratio if !(1e-3..1e4).contains(&self.value.abs()) => {
                significant(self.value, 2)
            }
            NumberStyle::Probability | NumberStyle::Ratio => format!("{:.3}", self.value),
            NumberStyle::Latency => scaled(self.value, 1000.0, &["ns", "µs", "ms", "s"], 3),
            NumberStyle::Size => {
                scaled(self.value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], 4)
            }
            NumberStyle::Span => span(self.value),
        }
    }

    /// Formatted number for people, with its unit.
    pub(crate) fn text_with_unit(&self) -> String {
        if self.unit.is_empty() || self.style.scales() {
            return self.text();
        }
        format!("{} {}", self.text(), self.unit)
    }

    /// Formatted number for machines: counts in full, other values to nine significant digits.
    pub fn exact(&self) -> String {
        if self.value.fract() == 0.0 && self.value.abs() < 1e19 {
            return format!("{:.0}", self.value);
        }
        let rounded: f64 = format!("{:.8e}", self.value).parse().unwrap_or(self.value);
        if (1e-5..1e19).contains(&rounded.abs()) {
            format!("{rounded}")
        } else {
            format!("{rounded:e}")
        }
    }
}

/// Serializes integral values without a fraction: `21280`, not `21280.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn shortest<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Largest magnitude below which every integer is exact as `f64`.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= LIMIT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return serializer.serialize_i64(*value as i64);
    }
    serializer.serialize_f64(*value)
}

fn whole(value: f64) -> String {
    if value.abs() < 1e7 {
        return grouped(&format!("{value:.0}"));
    }
    scaled(value, 1000.0, &["", "k", "M", "G", "T", "P", "E"], 4)
}

fn percent(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.05 {
        let sign = if value < 0.0 { ">-" } else { "<" };
        return format!("{sign}0.1");
    }
    if value.abs() < 1000.0 { format!("{value:.1}") } else { significant(value, 4) }
}

fn span(seconds: f64) -> String {
    let rounded = seconds.round();
    if rounded < 60.0 {
        return scaled(seconds * 1e9, 1000.0, &["ns", "µs", "ms", "s"], 4);
    }
    let (hours, remainder) = ((rounded / 3600.0).floor(), rounded % 3600.0);
    let (minutes, seconds) = ((remainder / 60.0).floor(), remainder % 60.0);
    if hours < 1.0 {
        return format!("{minutes:.0} min {seconds:.0} s");
    }
    format!("{} h {minutes:.0} min", whole(hours))
}

/// Formats a value in the largest unit in which it is at least one. Rounding does not reach the
/// next unit: 999.96 ns is 1.00 µs, not 1000 ns.
fn scaled(value: f64, step: f64, units: &[&str], digits: usize) -> String {
    let mut value = value;
    let mut place = 0;
    while place + 1 < units.len() && rounded(value, digits).abs() >= step {
        value /= step;
        place += 1;
    }
    let exact_small = place == 0 && value.fract() == 0.0;
    let number =
        if exact_small { grouped(&format!("{value:.0}")) } else { significant(value, digits) };
    match units[place] {
        "" => number,
        unit => format!("{number} {unit}"),
    }
}

fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Formats with `digits` significant digits. Integers have thousands separators,
/// and very large or small values a power of ten.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let written = format!("{value:.*e}", digits - 1);
    let exponent = written.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let Some(exponent) = exponent else { return written };
    if !(-4..7).contains(&exponent) {
        return written;
    }
    let decimals = i32::try_from(digits).unwrap_or(4) - 1 - exponent;
    let decimals = usize::try_from(decimals).unwrap_or(0);
    let number = format!("{value:.decimals$}");
    grouped(&number)
}

/// Inserts thousands separators: `1234567` becomes `1,234,567`.
pub(crate) fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |tail| ("-", tail));
    if digits.contains('.') { number.to_owned() } else { format!("{sign}{}", thousands(digits)) }
}

#[cfg(test)]
mod tests {
    use super::{Number, NumberStyle};
    use treering_model::Unit;

    fn text(value: f64, style: NumberStyle) -> String {
        Number { value, unit: String::new(), style }.text()
    }

    #[test]
    fn three_or_four_digits_whatever_the_size() {
        let cases = [
            (0.0, "0"),
            (91.224_999, "91.22"),
            (9.999_96, "10.00"),
            (134.03, "134.0"),
            (2345.678, "2,346"),
            (21_280.4, "21,280"),
            (9_999_999.0, "1.000e7"),
            (2.097e15, "2.097e15"),
            (0.000_123_456, "0.0001235"),
            (0.000_000_12, "1.200e-7"),
            (-3.271_59, "-3.272"),
        ];
        for (value, wanted) in cases {
            assert_eq!(text(value, NumberStyle::Measured), wanted, "{value}");
        }
    }

    #[test]
    fn counts_are_exact_until_they_are_huge() {
        assert_eq!(text(999.0, NumberStyle::Whole), "999");
        assert_eq!(text(1234.0, NumberStyle::Whole), "1,234");
        assert_eq!(text(783_997.0, NumberStyle::Whole), "783,997");
        assert_eq!(text(12_345_678.0, NumberStyle::Whole), "12.35 M");
        assert_eq!(text(1.844_674_407e19, NumberStyle::Whole), "18.45 E");
    }

    #[test]
    fn latencies_scale_from_ns_to_s() {
        let cases = [
            (0.0, "0 ns"),
            (850.0, "850 ns"),
            (999.6, "1.00 µs"),
            (1_500.0, "1.50 µs"),
            (12_345_678.0, "12.3 ms"),
            (2.5e9, "2.50 s"),
            (3.6e12, "3,600 s"),
        ];
        for (value, wanted) in cases {
            assert_eq!(text(value, NumberStyle::Latency), wanted, "{value}");
        }
    }

    #[test]
    fn sizes_and_spans_scale() {
        assert_eq!(text(512.0, NumberStyle::Size), "512 B");
        assert_eq!(text(1023.999, NumberStyle::Size), "1.000 KiB");
        assert_eq!(text(233_176_153.0, NumberStyle::Size), "222.4 MiB");
        assert_eq!(text(12_065_610_519.0, NumberStyle::Size), "11.24 GiB");
        assert_eq!(text(u64::MAX as f64, NumberStyle::Size), "16.00 EiB");
        assert_eq!(text(0.0, NumberStyle::Span), "0 ns");
        assert_eq!(text(0.0123, NumberStyle::Span), "12.30 ms");
        assert_eq!(text(59.6, NumberStyle::Span), "1 min 0 s");
        assert_eq!(text(754.2, NumberStyle::Span), "12 min 34 s");
        assert_eq!(text(12_345.0, NumberStyle::Span), "3 h 25 min");
        assert_eq!(text(u64::MAX as f64 / 1e9, NumberStyle::Span), "5,124,095 h 34 min");
    }

    #[test]
    fn percent_and_probability_never_pretend_to_be_zero() {
        assert_eq!(text(0.0, NumberStyle::Percent), "0.0");
        assert_eq!(text(0.004, NumberStyle::Percent), "<0.1");
        assert_eq!(text(-0.004, NumberStyle::Percent), ">-0.1");
        assert_eq!(text(99.94, NumberStyle::Percent), "99.9");
        assert_eq!(text(3.16, NumberStyle::Change), "+3.2");
        assert_eq!(text(-3.16, NumberStyle::Change), "-3.2");
        assert_eq!(text(0.0, NumberStyle::Change), "0.0");
        assert_eq!(text(0.000_02, NumberStyle::Probability), "<0.001");
        assert_eq!(text(0.0123, NumberStyle::Probability), "0.012");
        assert_eq!(text(0.923_4, NumberStyle::Ratio), "0.923");
        assert_eq!(text(0.000_012_34, NumberStyle::Ratio), "1.2e-5");
        assert_eq!(text(1.0e300, NumberStyle::Ratio), "1.0e300");
    }

    #[test]
    fn units_follow_unless_the_style_brings_its_own() {
        let rate = Number::measured(2.5, Unit::MibPerSecond);
        assert_eq!(rate.text_with_unit(), "2.500 MiB/s");
        assert_eq!(Number::measured(2048.0, Unit::Bytes).text_with_unit(), "2.000 KiB");
        assert_eq!(Number::measured(3.0, Unit::Count).text_with_unit(), "3");
    }

    #[test]
    fn raw_values_are_exact_for_machines() {
        let exact =
            |value| Number { value, unit: String::new(), style: NumberStyle::Measured }.exact();
        assert_eq!(exact(233_176_153.0), "233176153");
        assert_eq!(exact(2.433_734_939_759_036), "2.43373494");
        assert_eq!(exact(1.5e-9), "1.5e-9");
        assert_eq!(exact(-0.25), "-0.25");
    }
}
