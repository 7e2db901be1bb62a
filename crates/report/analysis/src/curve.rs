//! Latency curves: the latency that each share of the calls does not exceed.
//!
//! The axis of the shares is logarithmic in the remainder (0, 90 %, 99 %, 99.9 % are equally
//! spaced), so that the few slow calls, for which people wait, take as much space as the many fast
//! ones.

use treering_model::Latency;

use crate::P999_MIN_TIMED;

/// Number of curve points for each nine.
const POINTS: u32 = 24;

/// Minimum number of timed calls for a curve to be drawn.
pub const CURVE_MIN_TIMED: u64 = 10;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Position on the axis of the shares, as a number of nines: 0 is the fastest call, 1 is 90 %,
    /// 2 is 99 %.
    pub nines: f64,
    /// Latency in nanoseconds that this share of the calls does not exceed.
    pub ns: u64,
}

/// Converts a number of nines to a share of the calls (0 to 1).
pub(crate) fn share_of(nines: f64) -> f64 {
    1.0 - 10f64.powf(-nines)
}

/// Converts a share of the calls (0 to below 1) to a number of nines.
pub fn nines_of(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// Largest number of nines that `timed` samples support. p99.9 needs [`P999_MIN_TIMED`] samples and
/// each further nine ten times as many; at least one call lies beyond the last percentile.
pub(crate) fn most_nines(timed: u64) -> f64 {
    let mut nines = 2.0;
    let mut wanted = P999_MIN_TIMED;
    while timed >= wanted && nines < 6.0 {
        nines += 1.0;
        wanted = wanted.saturating_mul(10);
    }
    f64::min(nines, (timed.max(1) as f64).log10())
}

/// Latency curve of a histogram as far as its samples support; empty below [`CURVE_MIN_TIMED`].
pub fn curve(latency: &Latency) -> Vec<CurvePoint> {
    if latency.samples() < CURVE_MIN_TIMED {
        return Vec::new();
    }
    let most = most_nines(latency.samples());
    let steps = (0..).map(|step| f64::from(step) / f64::from(POINTS));
    let mut nines: Vec<f64> = steps.take_while(|nines| *nines < most - 1e-9).collect();
    // The points include the percentiles that tables name, and the median.
    nines.extend([nines_of(0.5), most]);
    nines.sort_by(f64::total_cmp);
    let point = |nines: f64| CurvePoint { nines, ns: latency.quantile_ns(share_of(nines)) };
    nines.into_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::{curve, most_nines, nines_of, share_of};
    use treering_model::Latency;

    fn latency_of(samples: u64) -> Latency {
        let mut latency = Latency::new();
        (1..=samples).for_each(|sample| latency.record(sample * 1000));
        latency
    }

    #[test]
    fn curve_ends_at_the_last_supported_percentile() {
        assert_eq!(most_nines(10), 1.0);
        assert_eq!(most_nines(100), 2.0);
        assert_eq!(most_nines(999_999), 2.0);
        assert_eq!(most_nines(1_000_000), 3.0);
        assert_eq!(most_nines(10_000_000), 4.0);
        assert!(curve(&latency_of(9)).is_empty());
        let short = curve(&latency_of(50));
        assert!((share_of(short.last().unwrap().nines) - 0.98).abs() < 1e-9);
    }

    #[test]
    fn a_curve_climbs_through_the_percentiles() {
        let latency = latency_of(1000);
        let points = curve(&latency);
        assert!(points.is_sorted_by(|a, b| a.nines < b.nines && a.ns <= b.ns), "{points:?}");
        assert_eq!((points[0].nines, points[0].ns), (0.0, latency.quantile_ns(0.0)));
        let last = points.last().unwrap();
        assert_eq!((last.nines, last.ns), (2.0, latency.quantile_ns(0.99)));
        let half = points.iter().find(|point| (share_of(point.nines) - 0.5).abs() < 1e-9).unwrap();
        assert_eq!(half.ns, latency.quantile_ns(0.5));
    }

    #[test]
    fn nines_convert_to_shares() {
        for (share, nines) in [(0.0, 0.0), (0.9, 1.0), (0.99, 2.0), (0.999, 3.0)] {
            assert!((nines_of(share) - nines).abs() < 1e-9);
            assert!((share_of(nines) - share).abs() < 1e-9);
        }
    }
}
