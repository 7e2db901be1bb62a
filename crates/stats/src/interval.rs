//! Types common to all estimates: interval, and method of a p-value.
//!
//! Not here: the computation of intervals, which is in the file of each method.

/// Construction method of an interval. Reports name it, since methods differ in their guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalMethod {
    /// Walsh averages cut at exact quantiles of the signed-rank distribution.
    SignedRank,
    /// All pairwise differences cut at exact quantiles of the rank-sum distribution.
    RankSum,
    /// Student's t; used in place of the exact methods below six rounds.
    StudentT,
    /// Quantiles of the bootstrap replicates.
    BootstrapPercentile,
    /// Pairwise slopes cut at quantiles of Kendall's S.
    Kendall,
    /// Parameter values whose profile likelihood is close to its maximum.
    ProfileLikelihood,
}

/// An interval estimate, both ends in the unit of the estimate it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; never below `low`.
    pub high: f64,
    /// Nominal confidence as requested, a fraction (0.95).
    pub confidence: f64,
    /// Exact confidence under the method's assumptions, where a formula gives it (0.951 for ten
    /// rounds); `None` for approximate methods.
    pub achieved: Option<f64>,
    /// Construction method.
    pub method: IntervalMethod,
}

impl Interval {
    /// Half the distance between the ends, in the unit of the estimate.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Reports whether `value` lies between the ends, inclusive.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Reports whether the whole interval lies between `low` and `high`, inclusive.
    pub fn lies_within(&self, low: f64, high: f64) -> bool {
        low <= self.low && self.high <= high
    }

    /// The interval with an increasing function applied to both ends.
    pub(crate) fn mapped(&self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { low: increasing(self.low), high: increasing(self.high), ..*self }
    }

    /// The interval, extended if necessary to contain `estimate`. A t interval is centred on the
    /// mean, and at a very low confidence may not reach the pseudomedian.
    pub(crate) fn widened_to(&self, estimate: f64) -> Self {
        Self { low: self.low.min(estimate), high: self.high.max(estimate), ..*self }
    }
}

/// Method of a p-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TestMethod {
    /// The exact null distribution, conditional on the ties where there are any.
    Exact,
    /// A normal approximation with corrections for ties and continuity.
    Normal,
}
