//! How the numbers of a campaign narrow from round to round, and whether there have been enough.

use std::collections::{BTreeMap, BTreeSet};

use treering_analysis::compare::{
    COMPARED_FACTS, ComparedVariant, ComparisonTerms, Factor, MetricComparison, Outcome, compare,
};
use treering_campaign::PlannedCell;
use treering_campaign::plan::{Plan, Stopping, baselines};
use treering_model::{CellRole, TrialId};
use treering_stats::StoppingRule;

use crate::arguments::CompareArgs;
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, open_to_read};

/// So many primary metrics of a contender are reported after each round.
const SHOWN: usize = 4;

/// What the rounds so far say.
struct Standing {
    /// `None` when nothing is compared.
    outcome: Option<Outcome>,
    /// How many of the rounds have a trial that the user excluded: they count as not measured.
    incomplete: u32,
    /// From the beginning of the first trial to the end of the last.
    seconds: f64,
}

/// Looks at what is there after each round.
pub(super) struct Following<'a> {
    plan: &'a Plan,
    args: &'a CompareArgs,
    rule: StoppingRule,
    /// With the rule of time: the fewest rounds, and the time that the rounds may take.
    time: Option<(u32, f64)>,
}

impl<'a> Following<'a> {
    pub(super) fn new(plan: &'a Plan, args: &'a CompareArgs) -> Self {
        let rule = match &plan.stopping {
            Stopping::Fixed { rounds } | Stopping::Time { most: rounds, .. } => {
                StoppingRule::Fixed { rounds: *rounds }
            }
            Stopping::Precision { half_width, fewest, most } => StoppingRule::Precision {
                // The width is measured on the scale of the comparison: log ratios.
                half_width: half_width.ln_1p(),
                fewest: *fewest,
                cap: *most,
            },
            Stopping::Sequential { looks } => StoppingRule::sequential(looks),
        };
        let time = match plan.stopping {
            Stopping::Time { minutes, fewest, .. } => Some((fewest, minutes * 60.0)),
            _ => None,
        };
        Self { plan, args, rule, time }
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
        let standing = self.standing(done, round)?;
        if let Some(outcome) = standing.outcome.as_ref().filter(|_| round > 1 && !self.args.quiet) {
            tell(round, outcome);
        }
        let goes_on = self.wants_more(&standing, round);
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
        if let (StoppingRule::Fixed { rounds }, None) = (&self.rule, self.time) {
            return Ok(round < *rounds);
        }
        Ok(self.wants_more(&self.standing(done, round)?, round))
    }

    fn wants_more(&self, standing: &Standing, round: u32) -> bool {
        if let Some((fewest, seconds)) = self.time {
            let with_another = standing.seconds * (1.0 + 1.0 / f64::from(round.max(1)));
            let complete = round.saturating_sub(standing.incomplete);
            let fits = complete < fewest || with_another <= seconds;
            return fits && round < self.plan.stopping.most_rounds();
        }
        match &standing.outcome {
            // The plan has no more rounds than its rule: that ends it, however few are complete.
            Some(outcome) => {
                outcome.wants_more(&self.rule, round.saturating_sub(standing.incomplete))
            }
            // Nothing is compared: the plan's last round ends it.
            None => round < self.plan.stopping.most_rounds(),
        }
    }

    fn why(&self) -> &'static str {
        match self.rule {
            StoppingRule::Fixed { .. } if self.time.is_some() => {
                "another one does not fit into the time"
            }
            StoppingRule::Fixed { .. } => "as planned",
            StoppingRule::Precision { .. } => "every primary interval is narrow enough",
            StoppingRule::Sequential { .. } => "every primary metric is decided",
        }
    }

    /// How it stands after this round.
    fn standing(
        &self,
        done: &BTreeMap<PlannedCell, TrialId>,
        round: u32,
    ) -> Result<Standing, Failure> {
        let mut standing = Standing { outcome: None, incomplete: 0, seconds: 0.0 };
        let Some(store) = open_to_read(self.args.page.store.store.as_deref())? else {
            return Ok(standing);
        };
        let mut incomplete = BTreeSet::new();
        let mut variants = Vec::new();
        let (mut begin, mut end) = (f64::INFINITY, 0.0_f64);
        let baselines = baselines(&self.plan.variants);
        for (number, variant) in self.plan.variants.iter().enumerate() {
            let of_variant = done
                .iter()
                .filter(|(cell, _)| cell.variant == number && cell.role == CellRole::Round)
                .filter(|(cell, _)| cell.round <= round);
            let trials: Vec<TrialId> = of_variant.map(|(_, trial)| *trial).collect();
            let trials = store.load_with_facts(&trials, &COMPARED_FACTS);
            let mut trials = trials.map_err(|error| failure(&error))?;
            for trial in &trials {
                let began = trial.beginning.started_unix_ms as f64 / 1e3;
                begin = begin.min(began);
                end = end.max(began + trial.wall_ns as f64 / 1e9);
            }
            let excluded = trials.iter().filter(|trial| trial.exclusion().is_some());
            incomplete
                .extend(excluded.filter_map(|trial| Some(trial.beginning.cell.as_ref()?.round)));
            trials.retain(|trial| trial.exclusion().is_none());
            if !trials.is_empty() {
                let (name, factor) = (variant.name.clone(), Factor::Variant);
                let baseline = &self.plan.variants[baselines[number].unwrap_or(number)];
                let against = Some(baseline.name.clone());
                variants.push(ComparedVariant { name, factor, against, trials });
            }
        }
        standing.seconds = (end - begin).max(0.0);
        standing.incomplete = u32::try_from(incomplete.len()).unwrap_or(u32::MAX);
        let Some((baseline, contenders)) =
            variants.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return Ok(standing);
        };
        let judging = &self.plan.judging;
        let terms =
            ComparisonTerms { threshold: judging.threshold, primary: judging.primary.clone() };
        let outcome = compare(baseline, contenders, &terms);
        standing.outcome = Some(outcome.map_err(|error| Failure::of(Kind::Usage, &error))?);
        Ok(standing)
    }
}

/// A line for each contender: its primary ratios with their intervals.
fn tell(round: u32, outcome: &Outcome) {
    for (baseline, contender) in outcome.contenders() {
        let said: Vec<String> =
            outcome.primary_of(&contender.name).filter_map(in_words).take(SHOWN).collect();
        if !said.is_empty() {
            let name = &contender.name;
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
