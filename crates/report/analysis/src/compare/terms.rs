//! Terms of a comparison: primary metrics, thresholds and significance level.

use treering_model::{LEVEL_FACT, Trial};
use treering_stats::ALPHA;

use super::variant::{ComparedVariant, fact};

/// Default for the smallest relative difference that matters: 3 %.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.03;

/// Terms the user fixed in advance. The default leaves them to the metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonTerms {
    /// Smallest relative difference that matters (.03 is 3 %). By default 3 %, 5 % for a p99, any
    /// difference for counts of errors.
    pub threshold: Option<f64>,
    /// Names of the primary metrics, as in JSON; empty for the workload's own choice.
    pub primary: Vec<String>,
}

impl ComparisonTerms {
    /// Reports whether a metric is primary.
    pub(super) fn is_primary(&self, name: &str, by_itself: bool) -> bool {
        if self.primary.is_empty() {
            by_itself
        } else {
            self.primary.iter().any(|comparison| comparison == name)
        }
    }
}

/// Significance level of the tests: the lowest that any trial was planned with.
pub(super) fn level<'s>(variants: impl Iterator<Item = &'s ComparedVariant>) -> f64 {
    let of_trial = |trial: &Trial| fact(trial, LEVEL_FACT)?.parse::<f64>().ok();
    let reported = variants.flat_map(|variant| &variant.trials).filter_map(of_trial);
    reported.filter(|level| *level > 0.0 && *level < 1.0).fold(ALPHA, f64::min)
}
