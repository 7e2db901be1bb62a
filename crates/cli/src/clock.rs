//! The wall clock, which only the command line reads.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, Zoned};

/// Milliseconds since 1970 (UTC).
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970 (UTC) as the signed integer of trial records.
pub(crate) fn trial_unix_ms() -> i64 {
    i64::try_from(unix_ms()).unwrap_or(i64::MAX)
}

/// Local time as `ctime` writes it, without newline.
pub(crate) fn local_time() -> String {
    Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// Today's date (UTC), as histories name it.
pub(crate) fn day() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}
