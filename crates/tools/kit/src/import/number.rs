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

/// Largest time in seconds since 1970: a larger number has milliseconds.
const SECONDS_MOST: u64 = 99_999_999_999;

/// Parses a date, a date with a time, or seconds or milliseconds since 1970, to milliseconds since
/// 1970. Times without a zone are taken as UTC.
pub fn moment_unix_ms(text: &str) -> Option<i64> {
    if let Some(number) = whole(text) {
        let ms = if number > SECONDS_MOST { number } else { number.checked_mul(1000)? };
        let stamp = jiff::Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
        return Some(stamp.as_millisecond());
    }
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    // A word in brackets would name a zone, which needs a database.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:. T/".contains(&byte));
    let text = if is_plain { text.replace('/', "-") } else { return None };
    let when: jiff::civil::DateTime = match text.parse::<jiff::civil::DateTime>() {
        Ok(when) => when,
        Err(_) => text.parse::<jiff::civil::Date>().ok()?.into(),
    };
    Some(when.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::{ctime_unix_ms, decimal, moment_unix_ms, nanoseconds, whole};

    #[test]
    fn moments_are_parsed_in_usual_forms() {
        let day = 1_775_174_400_000;
        for (text, ms) in [
            ("2026-04-03", day),
            ("2026/04/03", day),
            ("2026-04-03 00:00", day),
            ("2026-04-03 00:00:01", day + 1000),
            ("2026-04-03T00:00:01Z", day + 1000),
            ("2026-04-03T02:00:00+02:00", day),
            ("2026-04-03 02:00:00.5+02:00", day + 500),
            ("1775174400", day),
            ("1775174400123", day + 123),
        ] {
            assert_eq!(moment_unix_ms(text), Some(ms), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01", "-1", "1e9", "9".repeat(30).as_str(), "NaN"] {
            assert_eq!(moment_unix_ms(text), None, "{text}");
        }
    }

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
