//! Values of our own options that carry a unit.

use std::time::Duration;

use treering_script::parse_size;

use crate::failure::{Failure, Kind};

/// A share given as a percentage, from 0 to 1000 %: `3%` is .03.
pub(crate) fn percentage(option: &str, text: &str) -> Result<f64, Failure> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|p| p / 100.0).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("{option}: '{text}' is not a percentage"))
            .hint("a percentage is a number with its sign, as 3%")
    })
}

/// Bytes given as a size: `4GiB`.
pub(crate) fn size(option: &str, text: &str) -> Result<u64, Failure> {
    parse_size(text).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("{option}: '{text}' is not a size"))
            .hint("a size is a number with K, M, G or T, as 4GiB")
    })
}

/// A half life in seconds, from a thousandth to ten thousand days.
pub(super) fn half_life(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=864e6).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "write seconds, from 0.001 to 864000000, as 60".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{half_life, percentage, size};
    use std::time::Duration;

    #[test]
    fn half_lives_are_times() {
        assert_eq!(half_life("0.5").unwrap(), Duration::from_millis(500));
        for wrong in ["0", "-1", "NaN", "inf", "1e300", "60s", ""] {
            assert!(half_life(wrong).is_err(), "{wrong}");
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
