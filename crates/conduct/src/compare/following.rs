//! Stopping rule of a campaign: interim comparison after each round, and the decision about another
//! round.

use std::collections::BTreeMap;

use crate::cells::PlannedCell;
use crate::plan::{ComparedTrialSet, Plan, Stopping};
use treering_model::{CellRole, TrialId};
use treering_stats::StoppingRule;

use crate::failure::Failure;
use crate::host::{Host, MeasuredVariant, ResultStore, Standing};

/// Evaluates the stopping rule after each round.
pub(crate) struct StoppingMonitor<'a> {
    plan: &'a Plan,
    store: &'a dyn ResultStore,
    host: &'a dyn Host,
    is_quiet: bool,
    rule: StoppingRule,
    /// Time rule: the minimum number of rounds, and the time limit of all rounds in seconds.
    time: Option<(u32, f64)>,
}

impl<'a> StoppingMonitor<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        is_quiet: bool,
        (store, host): (&'a dyn ResultStore, &'a dyn Host),
    ) -> Self {
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
        Self { plan, store, host, is_quiet, rule, time }
    }

    /// Stopping rule of the plan.
    pub(crate) fn rule(&self) -> &StoppingRule {
        &self.rule
    }

    /// True if another round is needed; prints the interim comparison.
    pub(crate) fn after_round(
        &self,
        round: u32,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Result<bool, Failure> {
        let standing = self.standing(done, round)?;
        if let Some(comparison) = &standing.comparison
            && round > 1
            && !self.is_quiet
        {
            for line in comparison.lines() {
                self.host.say(&format!("  after {round} rounds, {line}"));
            }
        }
        let goes_on = self.wants_more(&standing, round);
        if !goes_on && !self.is_quiet && round < self.plan.stopping.most_rounds() {
            self.host.say(&format!("enough after {round} rounds: {}", self.why()));
        }
        Ok(goes_on)
    }

    /// True if another round is needed; prints nothing.
    pub(crate) fn goes_on(
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
        match &standing.comparison {
            // The rule's maximum is the plan's last round, so excluded rounds are not replaced.
            Some(comparison) => {
                comparison.wants_more(&self.rule, round.saturating_sub(standing.incomplete))
            }
            // Without a comparison the plan runs all of its rounds.
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

    /// Interim result after this round.
    fn standing(
        &self,
        done: &BTreeMap<PlannedCell, TrialId>,
        round: u32,
    ) -> Result<Standing, Failure> {
        let sets = self.plan.compared_sets();
        let measured = |set: &ComparedTrialSet| {
            let is_in = |cell: &PlannedCell| {
                let is_its_job = match set.job {
                    Some(job) => cell.job == job,
                    None => self.plan.is_between_variants(cell.job),
                };
                cell.variant == set.variant
                    && is_its_job
                    && cell.role == CellRole::Round
                    && cell.round <= round
            };
            let trials = done.iter().filter(|(cell, _)| is_in(cell)).map(|(_, trial)| *trial);
            MeasuredVariant {
                name: set.name.clone(),
                baseline: set.baseline.map_or(&set.name, |place| &sets[place].name).clone(),
                is_job: set.job.is_some(),
                trials: trials.collect(),
            }
        };
        let variants: Vec<MeasuredVariant> = sets.iter().map(measured).collect();
        self.store.standing(&variants, &self.plan.judging)
    }
}
