//! How the numbers of a campaign narrow from round to round, and whether there have been enough.

use std::collections::BTreeMap;

use treering_analysis::compare::{Factor, MetricComparison, Outcome, Side, Terms, compare};
use treering_campaign::PlannedCell;
use treering_campaign::plan::{Plan, Stopping};
use treering_model::{CellRole, TrialId};
use treering_stats::{Look, Progress, StoppingDecision, StoppingRule};
use treering_store::{Detail, Store};

use super::crew::level;
use crate::arguments::CompareArgs;
use crate::classic_voice::say;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, open_to_read};

/// So many primary metrics of a contender are told after each round.
const TOLD: usize = 4;

/// Looks at what is there after each round.
pub(super) struct Following<'a> {
    plan: &'a Plan,
    args: &'a CompareArgs,
    rule: StoppingRule,
}

impl<'a> Following<'a> {
    pub(super) fn new(plan: &'a Plan, args: &'a CompareArgs) -> Self {
        let rule = match &plan.stopping {
            Stopping::Fixed { rounds } => StoppingRule::Fixed { rounds: *rounds },
            Stopping::Precision { half_width, fewest, most } => StoppingRule::Precision {
                // The width is measured on the scale of the comparison: log ratios.
                half_width: half_width.ln_1p(),
                fewest: *fewest,
                cap: *most,
            },
            Stopping::Sequential { looks } => {
                let alpha = level(looks);
                let look = |rounds: &u32| Look { rounds: *rounds, alpha };
                StoppingRule::Sequential { looks: looks.iter().map(look).collect() }
            }
        };
        Self { plan, args, rule }
    }

    /// Whether there is to be another round.
    pub(super) fn after(
        &self,
        round: u32,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Result<bool, Failure> {
        let store = open_to_read(self.args.store.store.as_deref())?;
        let outcome = match &store {
            Some(store) => self.outcome(store, done)?,
            None => None,
        };
        if let Some(outcome) = outcome.as_ref().filter(|_| round > 1 && !self.args.quiet) {
            tell(round, outcome);
        }
        let primary: Vec<&MetricComparison> =
            outcome.iter().flat_map(|outcome| &outcome.comparisons).filter(|c| c.primary).collect();
        let decisions: Vec<StoppingDecision> =
            primary.iter().map(|one| self.rule.decide(&progress(round, one))).collect();
        let decisions = if decisions.is_empty() {
            vec![self.rule.decide(&Progress { rounds: round, half_width: None, p_value: None })]
        } else {
            decisions
        };
        // The metric that takes longest decides.
        let goes_on =
            decisions.iter().any(|decision| matches!(decision, StoppingDecision::Continue { .. }));
        if !goes_on && !self.args.quiet && round < self.plan.stopping.most_rounds() {
            say(&format!("enough after {round} rounds: {}", self.why()));
        }
        Ok(goes_on)
    }

    fn why(&self) -> &'static str {
        match self.rule {
            StoppingRule::Fixed { .. } => "as planned",
            StoppingRule::Precision { .. } => "every primary interval is narrow enough",
            StoppingRule::Sequential { .. } => "every primary metric is decided",
        }
    }

    /// What the rounds so far say; `None` when nothing is compared.
    fn outcome(
        &self,
        store: &Store,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Result<Option<Outcome>, Failure> {
        let mut sides = Vec::new();
        for (number, variant) in self.plan.variants.iter().enumerate() {
            let of_variant = done
                .iter()
                .filter(|(cell, _)| cell.variant == number && cell.role == CellRole::Round);
            let trials: Vec<TrialId> = of_variant.map(|(_, trial)| *trial).collect();
            let trials =
                store.load_many(&trials, Detail::Headlines).map_err(|error| failure(&error))?;
            if !trials.is_empty() {
                let name = variant.name.clone();
                sides.push(Side { name, factor: Factor::Variant, trials });
            }
        }
        let Some((baseline, contenders)) = sides.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return Ok(None);
        };
        let judging = &self.plan.judging;
        let terms = Terms { threshold: judging.threshold, primary: judging.primary.clone() };
        let outcome = compare(baseline, contenders, &terms);
        outcome.map(Some).map_err(|error| Failure::of(Kind::Usage, &error))
    }
}

/// What the stopping rule looks at.
fn progress(round: u32, one: &MetricComparison) -> Progress {
    let half_width = match (one.ratio, one.difference) {
        (Some(estimate), _) => estimate.interval.map(|(low, high)| (high.ln() - low.ln()) / 2.0),
        (None, Some(estimate)) => {
            let scale = one.baseline_median.abs().max(one.contender_median.abs());
            estimate.interval.map(|(low, high)| (high - low) / 2.0 / scale)
        }
        (None, None) => None,
    };
    Progress { rounds: round, half_width, p_value: one.p_adjusted }
}

/// A line for each contender: its primary ratios with their intervals.
fn tell(round: u32, outcome: &Outcome) {
    for contender in &outcome.contenders {
        let said: Vec<String> =
            outcome.primary_of(&contender.name).filter_map(in_words).take(TOLD).collect();
        if !said.is_empty() {
            let (name, baseline) = (&contender.name, &outcome.baseline.name);
            say(&format!("  after {round} rounds, {name} / {baseline}: {}", said.join(", ")));
        }
    }
}

fn in_words(one: &MetricComparison) -> Option<String> {
    let estimate = one.ratio?;
    let metric = one.metric();
    Some(match estimate.interval {
        Some((low, high)) => format!("{metric} {:.3} ({low:.3} to {high:.3})", estimate.value),
        None => format!("{metric} {:.3}", estimate.value),
    })
}
