//! Bytes and load lines of each second, computed from the running means that dbench prints.

use treering_model::IntervalTotals;

use super::lines::ProgressLine;

/// Bytes of a megabyte, as dbench counts.
pub(super) const MB: f64 = 1e6;
/// Half of the last digit of a mean.
const ROUNDING_MB: f64 = 0.005;
/// Largest relative error of a reconstructed rate, as a share of the mean; less exact rates are
/// left out.
const ERROR_SHARE_MOST: f64 = 0.2;

/// Reconstructs the totals of each second, with their possible error in bytes. `None` if ticks are
/// missing or have too few digits.
pub(super) fn intervals(
    ticks: &[ProgressLine],
    lines_before: Option<u64>,
) -> Option<(Vec<IntervalTotals>, f64)> {
    let last = ticks.last()?;
    let error_mb = 2.0 * ROUNDING_MB * last.seconds as f64;
    if error_mb > ERROR_SHARE_MOST * last.mb_per_second {
        return None;
    }
    let mut intervals = Vec::with_capacity(ticks.len());
    let (mut bytes, mut lines) = (0.0_f64, lines_before);
    for (tick, number) in ticks.iter().zip(1_u64..) {
        if tick.seconds != number {
            return None;
        }
        let until = tick.mb_per_second * MB * tick.seconds as f64;
        let moved = (until - bytes).max(0.0).round();
        // A load that starts again counts on; should it not, nothing can be determined.
        if let Some(before) = lines {
            let calls = tick.lines.saturating_sub(before).saturating_mul(tick.clients);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let bytes = moved as u64;
            let second = u32::try_from(number - 1).ok()?;
            intervals.push(IntervalTotals { second, calls, bytes });
        }
        (bytes, lines) = (until, Some(tick.lines));
    }
    Some((intervals, error_mb * MB))
}

#[cfg(test)]
mod tests {
    use super::intervals;
    use crate::import::lines::ProgressLine;

    fn tick(seconds: u64, mb_per_second: f64, lines: u64) -> ProgressLine {
        ProgressLine {
            is_warm_up: false,
            clients: 2,
            lines,
            mb_per_second,
            seconds,
            latency_ms: None,
        }
    }

    #[test]
    fn running_means_are_converted_to_rates_per_second() {
        let ticks = [tick(1, 100.0, 30), tick(2, 60.0, 40), tick(3, 80.0, 70)];
        let (seconds, error) = intervals(&ticks, Some(10)).unwrap();
        let rates: Vec<(u32, u64, u64)> =
            seconds.iter().map(|row| (row.second, row.calls, row.bytes)).collect();
        assert_eq!(rates, [(0, 40, 100_000_000), (1, 20, 20_000_000), (2, 60, 120_000_000)]);
        assert!((error - 30_000.0).abs() < 1e-6);
        let (seconds, _) = intervals(&ticks, None).unwrap();
        assert_eq!(seconds[0].second, 1, "the amount before the first is unknown");
    }

    #[test]
    fn ambiguous_rates_give_no_intervals() {
        assert_eq!(intervals(&[], None), None);
        assert_eq!(intervals(&[tick(1, 100.0, 1), tick(3, 100.0, 2)], None), None);
        assert_eq!(intervals(&[tick(1, 0.04, 1)], None), None, "two digits are not enough");
        let huge = tick(1, 1e30, u64::MAX);
        assert_eq!(intervals(&[huge], Some(0)).unwrap().0[0].bytes, u64::MAX);
    }
}
