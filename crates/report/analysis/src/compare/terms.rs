//! Terms of a comparison: primary metrics, thresholds and significance level.

use std::collections::BTreeMap;

use treering_model::{LEVEL_FACT, ROUNDS_FACT, Trial, TrialId};
use treering_stats::{ALPHA, level_of_next_look, smallest_rounds};

use super::variant::{ComparedVariant, fact};

/// Default for the smallest relative difference that matters: 3 %.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.03;

/// Terms that the user fixed in advance. By default, the metrics determine them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonTerms {
    /// Smallest relative difference that matters (.03 is 3 %). The default is 3 %, for a p99 5 %,
    /// and for counts of errors any difference.
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

/// Significance level of a family with `family` primary comparisons, and the rounds at which
/// earlier looks took place. The level is the lowest planned level of any trial, reduced for the
/// earlier looks.
pub(super) fn significance_level<'s>(
    variants: impl Iterator<Item = &'s ComparedVariant> + Clone,
    family: usize,
) -> (f64, Vec<u32>) {
    let of_trial = |trial: &Trial| fact(trial, LEVEL_FACT)?.parse::<f64>().ok();
    let reported = variants.clone().flat_map(|variant| &variant.trials).filter_map(of_trial);
    let planned = reported.filter(|level| *level > 0.0 && *level < 1.0).fold(ALPHA, f64::min);
    let family = u32::try_from(family.max(1)).unwrap_or(u32::MAX);
    // A look that could not detect any difference has used no alpha.
    let spent = |rounds: &u32| smallest_rounds(family, planned).is_ok_and(|few| *rounds >= few);
    let spent: Vec<u32> = earlier_ends(variants).into_iter().filter(spent).collect();
    (spent.iter().fold(planned, |level, _| level_of_next_look(level)), spent)
}

/// Numbers of rounds after which a campaign continued beyond its plan, ascending; with several
/// campaigns, those of the campaign that was continued most often.
fn earlier_ends<'s>(variants: impl Iterator<Item = &'s ComparedVariant>) -> Vec<u32> {
    // Last round under each number of planned rounds, by campaign.
    let mut ends: BTreeMap<TrialId, BTreeMap<u32, u32>> = BTreeMap::new();
    for trial in variants.flat_map(|variant| &variant.trials) {
        let planned = fact(trial, ROUNDS_FACT).and_then(|rounds| rounds.parse().ok());
        if let (Some(planned), Some(cell)) = (planned, &trial.beginning.cell) {
            let last = ends.entry(cell.campaign).or_default().entry(planned).or_default();
            *last = cell.round.max(*last);
        }
    }
    let of_campaign = |ends: &BTreeMap<u32, u32>| -> Vec<u32> {
        ends.values().copied().take(ends.len().saturating_sub(1)).collect()
    };
    ends.values().map(of_campaign).max_by_key(Vec::len).unwrap_or_default()
}
