//! Values of our own options that carry a unit, and the names of devices.

use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use treering_script::{parse_count, parse_size};

use crate::failure::{Failure, Kind};

/// A share given as a percentage, from 0 to 1000 %: `3%` is .03.
pub(crate) fn percentage(option: &str, text: &str) -> Result<f64, Failure> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|p| p / 100.0).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("{option}: '{text}' is not a percentage"))
            .hint("a percentage is a number with a percent sign, such as 3%")
    })
}

/// Bytes given as a size: `4GiB`.
pub(crate) fn size(option: &str, text: &str) -> Result<u64, Failure> {
    parse_size(text).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("{option}: '{text}' is not a size"))
            .hint("a size is a number with K, M, G or T, such as 4GiB")
    })
}

/// A whole number, with a suffix if need be: `10k`.
pub(super) fn count(text: &str) -> Result<usize, String> {
    parse_count(text)
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| "give a whole number, such as 500 or 10k".to_owned())
}

/// A block device by its path or its name alone, or another path: `loop0` is `/dev/loop0` where
/// nothing else is called so here.
pub(super) fn device() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|typed: OsString| {
        let named = Path::new("/dev").join(&typed);
        let is_name = !typed.as_encoded_bytes().contains(&b'/') && !Path::new(&typed).exists();
        let is_device =
            || named.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        if is_name && is_device() { named } else { typed.into() }
    })
}

/// A time in seconds, from a thousandth to ten thousand days.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=864e6).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "give seconds from 0.001 to 864000000, such as 60".to_owned())
}

/// A page narrower than this cannot be laid out.
pub(crate) fn width() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(40..=1000)
}

#[cfg(test)]
mod tests {
    use super::{percentage, period, size};
    use std::time::Duration;

    #[test]
    fn half_lives_are_times() {
        assert_eq!(period("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e300", "60s", ""] {
            assert!(period(wrong).is_err(), "{wrong}");
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
