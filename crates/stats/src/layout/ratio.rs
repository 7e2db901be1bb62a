//! Ratios of counts, with intervals for a sample of clusters.

use crate::distribution::t_quantile;

/// Quotient of two counts: 3 of 4 pairs are adjacent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountRatio {
    /// Numerator.
    pub part: u64,
    /// Denominator; positive.
    pub of: u64,
    /// 95 % interval, if only a sample was counted.
    pub interval: Option<ShareInterval>,
}

/// Ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl CountRatio {
    /// Value of the quotient.
    pub fn value(&self) -> f64 {
        self.part as f64 / self.of as f64
    }
}

/// Fewest clusters for an interval; with fewer it would be too wide to be useful.
const FEWEST_CLUSTERS: u64 = 6;

/// Ratio estimator over clusters, in constant memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClusterRatio {
    part: u64,
    of: u64,
    /// Both counts at the start of the current cluster.
    before: (u64, u64),
    clusters: u64,
    part_squares: f64,
    products: f64,
    of_squares: f64,
}

impl ClusterRatio {
    /// Adds to both counts.
    pub(super) fn add(&mut self, part: u64, of: u64) {
        self.part = self.part.saturating_add(part);
        self.of = self.of.saturating_add(of);
    }

    /// Ends the current cluster; a cluster with a denominator of 0 is ignored.
    pub(super) fn end_cluster(&mut self) {
        let part = (self.part - self.before.0) as f64;
        let of = (self.of - self.before.1) as f64;
        self.before = (self.part, self.of);
        if of > 0.0 {
            self.clusters += 1;
            self.part_squares += part * part;
            self.products += part * of;
            self.of_squares += of * of;
        }
    }

    /// Quotient; `None` if nothing was counted. `sampled` is the share of clusters that was
    /// counted; a complete count has no interval.
    ///
    /// Source: Cochran, "Sampling Techniques", 3rd edition, section 6.3 (the ratio estimator with
    /// its linearised variance and the finite population correction).
    pub(super) fn share(&self, sampled: f64) -> Option<CountRatio> {
        if self.of == 0 {
            return None;
        }
        let share = CountRatio { part: self.part, of: self.of, interval: None };
        Some(CountRatio { interval: self.interval(share.value(), sampled), ..share })
    }

    fn interval(&self, ratio: f64, sampled: f64) -> Option<ShareInterval> {
        if sampled >= 1.0 || self.clusters < FEWEST_CLUSTERS {
            return None;
        }
        let n = self.clusters as f64;
        let residuals =
            self.part_squares - 2.0 * ratio * self.products + ratio * ratio * self.of_squares;
        let variance = residuals.max(0.0) * n / (n - 1.0) * (1.0 - sampled);
        let half = t_quantile(0.975, n - 1.0) * variance.sqrt() / self.of as f64;
        Some(ShareInterval { low: (ratio - half).max(0.0), high: ratio + half })
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterRatio;

    fn of(clusters: &[(u64, u64)], sampled: f64) -> ClusterRatio {
        let mut ratio = ClusterRatio::default();
        for &(part, of) in clusters {
            ratio.add(part, of);
            ratio.end_cluster();
        }
        assert!(sampled > 0.0);
        ratio
    }

    #[test]
    fn the_ratio_of_empty_counts_is_none() {
        assert!(of(&[], 1.0).share(1.0).is_none());
        assert!(of(&[(0, 0)], 0.5).share(0.5).is_none());
        let pooled = of(&[(3, 4), (0, 4)], 1.0).share(1.0).unwrap();
        assert_eq!((pooled.part, pooled.of, pooled.value(), pooled.interval), (3, 8, 0.375, None));
    }

    #[test]
    fn intervals_follow_the_formula() {
        let clusters = [(1, 2), (2, 2), (0, 2), (1, 2), (2, 2), (0, 2)];
        let share = of(&clusters, 0.5).share(0.5).unwrap();
        assert_eq!(share.value(), 0.5);
        // By hand, the residuals are 0, 1, -1, 0, 1, -1, the variance 4 * 6/5 * .5, and t(.975, 5)
        // = 2.570582.
        let half = 2.570_581_835_6 * (4.0_f64 * 1.2 * 0.5).sqrt() / 12.0;
        let interval = share.interval.unwrap();
        assert!((interval.high - 0.5 - half).abs() < 1e-6, "{interval:?}");
        assert!((0.5 - interval.low - half).abs() < 1e-6);
        assert!(of(&clusters[..5], 0.5).share(0.5).unwrap().interval.is_none(), "too few");
    }

    #[test]
    fn homogeneous_clusters_have_narrow_intervals() {
        let share = of(&[(3, 4); 20], 0.1).share(0.1).unwrap();
        let interval = share.interval.unwrap();
        assert!((interval.low - 0.75).abs() < 1e-9 && (interval.high - 0.75).abs() < 1e-9);
    }
}
