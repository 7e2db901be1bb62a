//! The two words every estimate is reported with: an interval, and how a p-value was found.
//!
//! What does not live here: how intervals are computed; each method's file does that.

/// How an interval was constructed. A report names it, since the methods differ in what they
/// promise.
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
    /// Slopes cut at quantiles of Kendall's S.
    Kendall,
    /// Where the likelihood, all else at its best, is not much below its maximum.
    ProfileLikelihood,
}

/// An interval estimate, both ends in the unit of the estimate it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; never below `low`.
    pub high: f64,
    /// The nominal confidence asked for, as a fraction (0.95).
    pub confidence: f64,
    /// The exact confidence under the method's own assumption, where a formula gives it (0.951 for
    /// ten rounds); `None` for approximate methods.
    pub achieved: Option<f64>,
    /// How it was constructed.
    pub method: IntervalMethod,
}

impl Interval {
    /// Half the distance between the ends, in the unit of the estimate.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether `value` lies between the ends, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether the whole interval lies between `low` and `high`, both included.
    pub fn lies_within(&self, low: f64, high: f64) -> bool {
        low <= self.low && self.high <= high
    }

    /// The interval with an increasing function applied to both ends.
    pub(crate) fn mapped(&self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { low: increasing(self.low), high: increasing(self.high), ..*self }
    }

    /// The interval widened, if need be, to contain `estimate`: a t interval is centred on the
    /// mean, which at a very low confidence need not reach the pseudomedian.
    pub(crate) fn widened_to(&self, estimate: f64) -> Self {
        Self { low: self.low.min(estimate), high: self.high.max(estimate), ..*self }
    }
}

/// How a p-value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TestMethod {
    /// The exact null distribution, conditional on the ties where there are any.
    Exact,
    /// A normal approximation with corrections for ties and continuity.
    Normal,
}
