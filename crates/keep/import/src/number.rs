//! Numbers and times as tools print them.

pub(crate) use treering_formats::number::{decimal, nanoseconds, whole};

/// The time that tools print as `ctime` does, `Wed Dec  5 03:20:58 2012`, taken as UTC, in
/// milliseconds since 1970.
pub(crate) fn ctime_unix_ms(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_weekday, month, day, time, year] = words.as_slice() else { return None };
    let text = format!("{month} {day} {time} {year}");
    let when = jiff::civil::DateTime::strptime("%b %d %H:%M:%S %Y", text).ok()?;
    let zoned = when.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::ctime_unix_ms;

    #[test]
    fn dates_are_those_of_ctime() {
        assert_eq!(ctime_unix_ms("Wed Dec  5 03:20:58 2012"), Some(1_354_677_658_000));
        assert_eq!(ctime_unix_ms("Thu Jan 1 00:00:00 1970"), Some(0));
        assert_eq!(ctime_unix_ms("Wed Foo  5 03:20:58 2012"), None);
        assert_eq!(ctime_unix_ms("now"), None);
    }
}
