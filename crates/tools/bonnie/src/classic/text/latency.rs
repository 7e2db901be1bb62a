//! Latencies in few characters.

/// Latency in microseconds, milliseconds or seconds, truncated; empty below 1 us.
pub(super) fn latency(ns: u64) -> String {
    match ns / 1000 {
        0 => String::new(),
        us if us > 99_999_999 => format!("{}s", us / 1_000_000),
        us if us > 99_999 => format!("{}ms", us / 1000),
        us => format!("{us}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::latency;

    #[test]
    fn units_change_at_a_hundred_thousand() {
        for (ns, text) in [
            (0, ""),
            (999, ""),
            (1_000, "1us"),
            (99_999_999, "99999us"),
            (100_000_000, "100ms"),
            (99_999_999_999, "99999ms"),
            (100_000_000_000, "100s"),
        ] {
            assert_eq!(latency(ns), text, "{ns}");
        }
    }
}
