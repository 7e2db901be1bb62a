//! Values of our own options that carry a unit.

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

#[cfg(test)]
mod tests {
    use super::{percentage, size};

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
