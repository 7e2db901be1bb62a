//! Histograms of the kernel's histogram triggers, with logarithmic keys.
//!
//! Source: Documentation/trace/histogram.rst of the kernel.

use treering_model::LatencyBucket;

/// Buckets of a histogram with the key `lat.log2` and the value `lat`, the shortest first, and the
/// number of entries that the kernel dropped. Lines that are no buckets are passed over.
pub(super) fn parse(text: &str) -> (Vec<LatencyBucket>, u64) {
    let mut buckets: Vec<LatencyBucket> = text.lines().filter_map(bucket).collect();
    buckets.sort_by_key(|bucket| bucket.at_most_ns);
    let dropped = text.lines().find_map(|line| line.trim().strip_prefix("Dropped:"));
    (buckets, dropped.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
}

/// Parses `{ lat: ~ 2^16 } hitcount:          1  lat:      63606`. The key is rounded up to a power
/// of two.
fn bucket(line: &str) -> Option<LatencyBucket> {
    let (key, values) = line.trim().strip_prefix("{ lat:")?.split_once('}')?;
    let power: u32 = key.trim().strip_prefix("~ 2^")?.trim().parse().ok()?;
    let (calls, total) = values.trim().strip_prefix("hitcount:")?.split_once("lat:")?;
    Some(LatencyBucket {
        at_most_ns: 1_u64.checked_shl(power)?,
        calls: calls.trim().parse().ok()?,
        total_ns: total.trim().parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use treering_model::LatencyBucket;

    use super::parse;

    #[test]
    fn buckets_are_sorted_and_dropped_entries_counted() {
        let text = "# event histogram\n#\n# trigger info: hist:keys=lat.log2:vals=hitcount,lat\n\
                    { lat: ~ 2^20 } hitcount:          1  lat:     736204\n\
                    { lat: ~ 2^16 } hitcount:         12  lat:     763606\n\
                    { lat: ~ 2^99 } hitcount:          1  lat:          1\n\n\
                    Totals:\n    Hits: 13\n    Entries: 2\n    Dropped: 3\n";
        let bucket = |at_most_ns, calls, total_ns| LatencyBucket { at_most_ns, calls, total_ns };
        let expected = vec![bucket(65_536, 12, 763_606), bucket(1_048_576, 1, 736_204)];
        assert_eq!(parse(text), (expected, 3));
        assert_eq!(parse(""), (vec![], 0));
    }
}
