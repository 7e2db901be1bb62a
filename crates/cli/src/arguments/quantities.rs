//! Values of treering's own options that have a unit, and names of devices.

use std::ffi::OsString;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use treering_model::split_metric_names;
use treering_script::{parse_count, parse_size};

use crate::failure::Failure;
pub(crate) use treering_results::percentage;

/// Names of metrics in the values of `--primary`.
pub(crate) fn metric_names(lists: &[String]) -> Vec<String> {
    lists.iter().flat_map(|list| split_metric_names(list)).collect()
}

/// Parses a size in bytes: `4GiB`.
pub(crate) fn size(option: &str, text: &str) -> Result<u64, Failure> {
    parse_size(text).ok_or_else(|| {
        Failure::usage(format!("{option}: '{text}' is not a size"))
            .hint("a size is a number with K, M, G or T, such as 4GiB")
    })
}

/// Parses a whole number with an optional suffix: `10k`.
pub(super) fn count(text: &str) -> Result<usize, String> {
    parse_count(text)
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| "give a whole number, such as 500 or 10k".to_owned())
}

/// Parser of a block device, given by its path or only by its name, or of another path: `loop0` is
/// `/dev/loop0` unless the current directory has a file of that name.
pub(super) fn device() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|typed: OsString| {
        let named = Path::new("/dev").join(&typed);
        let is_name = !typed.as_encoded_bytes().contains(&b'/') && !Path::new(&typed).exists();
        let is_device =
            || named.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        if is_name && is_device() { named } else { typed.into() }
    })
}

/// Parses a time in seconds, from a thousandth to ten thousand days.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=864e6).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "give seconds from 0.001 to 864000000, such as 60".to_owned())
}

/// Parses a time with its unit: `300us`, `5ms`, `1.5s`.
pub(super) fn latency(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 0.0,
    };
    let ns = number.parse::<f64>().ok().map(|number| number * unit_ns);
    ns.filter(|ns| (1e3..=3.6e12).contains(ns))
        .map(|ns| Duration::from_secs_f64((ns / 1e3).round() / 1e6))
        .ok_or_else(|| "give a time from 1us to 3600s with its unit, such as 5ms".to_owned())
}

/// Parses a number of requests per second: `500`, `20k`.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    parse_count(text)
        .filter(|rate| (1..=100_000_000).contains(rate))
        .ok_or_else(|| "give requests a second from 1 to 100M, such as 500 or 20k".to_owned())
}

/// Parser of a page width; narrower pages cannot be laid out.
pub(crate) fn width() -> impl Fn(&str) -> Result<u16, String> + Clone {
    whole(40..=1000)
}

/// Parser of a whole number of a range; a refusal says the range.
pub(super) fn whole<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: Display + FromStr + PartialOrd + Clone,
{
    move |text| {
        let number = text.parse::<N>().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("write a whole number from {} to {}", range.start(), range.end())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{latency, percentage, period, rate, size, whole};
    use std::time::Duration;

    #[test]
    fn half_lives_are_times() {
        assert_eq!(period("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e300", "60s", ""] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn latencies_have_their_unit_and_rates_their_suffix() {
        assert_eq!(latency("5ms").unwrap(), Duration::from_millis(5));
        assert_eq!(latency("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(latency("300us").unwrap(), Duration::from_micros(300));
        for wrong in ["5", "ms", "5 ms", "-1ms", "1ns", "1e9s", "2h", "1..5ms"] {
            assert!(latency(wrong).is_err(), "{wrong}");
        }
        assert_eq!((rate("20k").unwrap(), rate("1").unwrap()), (20_000, 1));
        assert!(rate("0").is_err() && rate("200M").is_err() && rate("fast").is_err());
    }

    #[test]
    fn a_refused_whole_number_tells_the_range() {
        let rounds = whole::<u16>(1..=1000);
        assert_eq!((rounds("1"), rounds("1000")), (Ok(1), Ok(1000)));
        for wrong in ["ten", "0", "1001", "0.5", "-1", "", "99999999999"] {
            assert_eq!(
                rounds(wrong).unwrap_err(),
                "write a whole number from 1 to 1000",
                "{wrong}"
            );
        }
    }

    #[test]
    fn percentages_have_their_sign() {
        assert!((percentage("--threshold", "3%").unwrap() - 0.03).abs() < 1e-15);
        assert!(percentage("--threshold", "0%").unwrap().abs() < 1e-15);
        for wrong in ["3", "-1%", "x%", "", "NaN%"] {
            assert!(percentage("--threshold", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_their_unit() {
        assert_eq!(size("--size", "4GiB").unwrap(), 4 << 30);
        assert!(size("--size", "4 apples").is_err());
    }
}
