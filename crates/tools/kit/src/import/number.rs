//! Numbers and times as tools print them: plain, finite and not negative.

/// Parses a decimal number.
pub fn decimal(word: &str) -> Option<f64> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = word.parse().ok().filter(|_| is_plain && word.len() <= 30)?;
    number.is_finite().then_some(number)
}

/// Parses an integer.
pub fn whole(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Converts seconds to nanoseconds, up to thirty years.
pub fn nanoseconds(seconds: f64) -> Option<u64> {
    let ns = (seconds * 1e9).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    (0.0..1e18).contains(&ns).then_some(ns as u64)
}

/// Parses a time printed by `ctime`, `Wed Dec  5 03:20:58 2012`, taken as UTC, to milliseconds
/// since 1970.
pub fn ctime_unix_ms(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_weekday, month, day, time, year] = words.as_slice() else { return None };
    let text = format!("{month} {day} {time} {year}");
    let when = jiff::civil::DateTime::strptime("%b %d %H:%M:%S %Y", text).ok()?;
    let zoned = when.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::{ctime_unix_ms, decimal, nanoseconds, whole};

    #[test]
    fn ctime_dates_are_parsed() {
        assert_eq!(ctime_unix_ms("Wed Dec  5 03:20:58 2012"), Some(1_354_677_658_000));
        assert_eq!(ctime_unix_ms("Thu Jan 1 00:00:00 1970"), Some(0));
        assert_eq!(ctime_unix_ms("Wed Foo  5 03:20:58 2012"), None);
        assert_eq!(ctime_unix_ms("now"), None);
    }

    #[test]
    fn only_plain_numbers_are_parsed() {
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
