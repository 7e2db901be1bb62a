//! Numbers as tools print them: plain, finite, not negative.

/// A decimal number.
pub fn decimal(word: &str) -> Option<f64> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = word.parse().ok().filter(|_| is_plain && word.len() <= 30)?;
    number.is_finite().then_some(number)
}

/// A whole number.
pub fn whole(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Seconds as nanoseconds, at most thirty years.
pub fn nanoseconds(seconds: f64) -> Option<u64> {
    let ns = (seconds * 1e9).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    (0.0..1e18).contains(&ns).then_some(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::{decimal, nanoseconds, whole};

    #[test]
    fn only_plain_numbers_are_numbers() {
        assert_eq!(decimal("2.54"), Some(2.54));
        assert_eq!(whole("222"), Some(222));
        for odd in ["", "-1", "1e3", "nan", "inf", "1_0", "+1", "0x1", "1.2.3", "٣"] {
            assert_eq!((decimal(odd), whole(odd)), (None, None), "{odd}");
        }
        assert_eq!(decimal(&"9".repeat(400)), None);
        assert_eq!(nanoseconds(87.48), Some(87_480_000_000));
        assert_eq!(nanoseconds(1e30), None);
    }
}
