//! Histograms of completion latencies over time: `write_hist_log`.

use std::fmt::Write as _;

use crate::classic::histogram::{BUCKETS, Histogram};
use crate::language::LogOptions;

/// Completion latencies of one direction since its last line.
#[derive(Clone, Debug, Default)]
struct HistogramWindow {
    histogram: Histogram,
    /// Beginning of the window; `None` before the first request.
    began_ms: Option<u64>,
}

/// Completion latencies of each direction since its last line.
#[derive(Clone, Debug, Default)]
pub(super) struct HistogramWindows {
    windows: [HistogramWindow; 3],
}

impl HistogramWindows {
    /// Counts a completed request; appends a line to `text` if that ends a window. As in the
    /// original, windows begin at multiples of their length, and the last one has no line.
    pub(super) fn ended(
        &mut self,
        text: &mut String,
        options: &LogOptions,
        [at_ms, direction, bytes, ns]: [u64; 4],
    ) {
        let number = usize::try_from(direction).unwrap_or(usize::MAX);
        let Some(window) = self.windows.get_mut(number) else { return };
        window.histogram.record(ns);
        let began_ms = *window.began_ms.get_or_insert(at_ms);
        if at_ms.saturating_sub(began_ms) < options.histogram_ms {
            return;
        }
        window.began_ms = Some(at_ms - at_ms % options.histogram_ms.max(1));
        let stride = 1 << options.histogram_coarseness;
        let mut counts = vec![0; BUCKETS / stride];
        for (bucket, count) in window.histogram.buckets() {
            counts[bucket / stride] += count;
        }
        window.histogram.clear();
        // Writing into a string cannot fail.
        let _ = write!(text, "{at_ms}, {direction}, {bytes}");
        counts.iter().for_each(|count| _ = write!(text, ", {count}"));
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, HistogramWindows, LogOptions};

    #[test]
    fn a_line_has_the_requests_since_the_last_one() {
        let options =
            LogOptions { histogram_ms: 20, histogram_coarseness: 6, ..LogOptions::default() };
        let (mut windows, mut text) = (HistogramWindows::default(), String::new());
        for (at_ms, direction, ns) in [(2, 0, 5), (21, 0, 9), (23, 0, 70), (24, 1, 1), (39, 0, 5)] {
            windows.ended(&mut text, &options, [at_ms, direction, 4096, ns]);
        }
        assert!(text.starts_with("23, 0, 4096, 2, 1, 0, 0,"), "{text}");
        assert_eq!(text.trim_end().split(", ").count(), 3 + BUCKETS / 64);
        windows.ended(&mut text, &options, [40, 0, 512, 5]);
        assert_eq!(text.lines().count(), 2, "the second window began at 20");
        assert!(text.lines().last().unwrap().starts_with("40, 0, 512, 2, 0,"), "{text}");
    }
}
