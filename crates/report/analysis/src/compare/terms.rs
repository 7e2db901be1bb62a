//! On which terms variants are compared: what decides, from which difference on, at which level.

use treering_model::{LEVEL_FACT, Trial};
use treering_stats::ALPHA;

use super::variant::{ComparedVariant, fact};

/// The smallest relative difference that matters where nothing else is said: 3 %.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.03;

/// What the user decided beforehand. The default leaves it to the metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// The smallest relative difference that matters (.03 is 3 %). When not given: 3 %, for a p99
    /// 5 %, for counts of errors any.
    pub threshold: Option<f64>,
    /// The metrics that decide, by their names in JSON; those that the workload names when empty.
    pub primary: Vec<String>,
}

impl Terms {
    /// Whether a metric decides.
    pub(super) fn is_primary(&self, name: &str, by_itself: bool) -> bool {
        if self.primary.is_empty() { by_itself } else { self.primary.iter().any(|one| one == name) }
    }
}

/// The level of the tests: the lowest that any trial was planned with.
pub(super) fn level<'s>(variants: impl Iterator<Item = &'s ComparedVariant>) -> f64 {
    let of_trial = |trial: &Trial| fact(trial, LEVEL_FACT)?.parse::<f64>().ok();
    let reported = variants.flat_map(|variant| &variant.trials).filter_map(of_trial);
    reported.filter(|level| *level > 0.0 && *level < 1.0).fold(ALPHA, f64::min)
}
