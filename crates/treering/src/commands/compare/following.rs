//! How the numbers of a campaign narrow from round to round, and whether there have been enough.

use std::collections::BTreeMap;

use treering_analysis::compare::{
    COMPARED_FACTS, Factor, MetricComparison, Outcome, Side, Terms, compare,
};
use treering_campaign::PlannedCell;
use treering_campaign::plan::{Plan, Stopping};
use treering_model::{CellRole, TrialId};
use treering_stats::StoppingRule;

use crate::arguments::CompareArgs;
use crate::classic_output::say;
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
            Stopping::Sequential { looks } => StoppingRule::sequential(looks),
        };
        Self { plan, args, rule }
    }

    /// When it ends.
    pub(super) fn rule(&self) -> &StoppingRule {
        &self.rule
    }

    /// Whether there is to be another round; says how the numbers stand.
    pub(super) fn after(
        &self,
        round: u32,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Result<bool, Failure> {
        let outcome = self.outcome(done)?;
        if let Some(outcome) = outcome.as_ref().filter(|_| round > 1 && !self.args.quiet) {
            tell(round, outcome);
        }
        let goes_on = self.wants_more(outcome.as_ref(), round);
        if !goes_on && !self.args.quiet && round < self.plan.stopping.most_rounds() {
            say(&format!("enough after {round} rounds: {}", self.why()));
        }
        Ok(goes_on)
    }

    /// Whether there is to be another round, in silence.
    pub(super) fn goes_on(
        &self,
        round: u32,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Result<bool, Failure> {
        if let StoppingRule::Fixed { rounds } = self.rule {
            return Ok(round < rounds);
        }
        let so_far = done.iter().filter(|(cell, _)| cell.round <= round);
        let so_far = so_far.map(|(cell, trial)| (*cell, *trial)).collect();
        Ok(self.wants_more(self.outcome(&so_far)?.as_ref(), round))
    }

    fn wants_more(&self, outcome: Option<&Outcome>, round: u32) -> bool {
        match outcome {
            Some(outcome) => outcome.wants_more(&self.rule, round),
            // Nothing is compared: the plan's last round ends it.
            None => round < self.plan.stopping.most_rounds(),
        }
    }

    fn why(&self) -> &'static str {
        match self.rule {
            StoppingRule::Fixed { .. } => "as planned",
            StoppingRule::Precision { .. } => "every primary interval is narrow enough",
            StoppingRule::Sequential { .. } => "every primary metric is decided",
        }
    }

    /// What the rounds so far say; `None` when nothing is compared.
    fn outcome(&self, done: &BTreeMap<PlannedCell, TrialId>) -> Result<Option<Outcome>, Failure> {
        let Some(store) = open_to_read(self.args.page.store.store.as_deref())? else {
            return Ok(None);
        };
        let mut sides = Vec::new();
        for (number, variant) in self.plan.variants.iter().enumerate() {
            let of_variant = done
                .iter()
                .filter(|(cell, _)| cell.variant == number && cell.role == CellRole::Round);
            let trials: Vec<TrialId> = of_variant.map(|(_, trial)| *trial).collect();
            let trials = store.load_with_facts(&trials, &COMPARED_FACTS);
            let mut trials = trials.map_err(|error| failure(&error))?;
            trials.retain(|trial| trial.exclusion().is_none());
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
