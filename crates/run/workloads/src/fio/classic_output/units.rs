//! Numbers with suffixes, as the original cuts them.

/// A number in at most so many characters, in steps of 1000 or of 1024, and its power of them.
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

/// Bytes as `64.0KiB`.
pub(super) fn binary_bytes(bytes: u64) -> String {
    let (number, power) = short(bytes, 4, 1024);
    format!("{number}{}B", BINARY[power.min(6)])
}

/// Bytes as `27.4MB`.
pub(super) fn decimal_bytes(bytes: u64) -> String {
    let (number, power) = short(bytes, 4, 1000);
    format!("{number}{}B", DECIMAL[power.min(6)])
}

/// A count as `12.8k`, in at most so many characters.
pub(super) fn count(number: u64, characters: usize) -> String {
    let (number, power) = short(number, characters, 1000);
    format!("{number}{}", DECIMAL[power.min(6)])
}

/// A float as a whole number, as C makes one of it.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = number as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::{binary_bytes, count, decimal_bytes};

    #[test]
    fn numbers_are_cut_as_the_original_cuts_them() {
        assert_eq!(binary_bytes(65536), "64.0KiB");
        assert_eq!(binary_bytes(4096), "4096B");
        assert_eq!(binary_bytes(4_022_272), "3928KiB");
        assert_eq!(binary_bytes(838_860_800), "800MiB");
        assert_eq!(binary_bytes(27_360_000), "26.1MiB");
        assert_eq!(decimal_bytes(27_360_000), "27.4MB");
        assert_eq!(decimal_bytes(4_022_272), "4022kB");
        assert_eq!(count(12_800, 4), "12.8k");
        assert_eq!(count(6680, 4), "6680");
        assert_eq!(count(2_412_400, 6), "2412.4k");
        assert_eq!((count(0, 4), binary_bytes(0)), ("0".to_owned(), "0B".to_owned()));
        assert!(binary_bytes(u64::MAX).ends_with("EiB"));
    }
}
