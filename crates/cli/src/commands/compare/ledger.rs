//! What is done of a campaign already: its finished cells, from the store.

use std::collections::{BTreeMap, BTreeSet};

use treering_campaign::PlannedCell;
use treering_campaign::plan::{Plan, Stopping};
use treering_lab::PlanIdentity;
use treering_model::{Cell, CellRole, Ending, TrialId};
use treering_store::{Filter, Store, TrialState, TrialSummary};

use crate::arguments::CompareArgs;
use crate::classic_output::say;
use crate::failure::Failure;
use crate::storage::{failure, open_to_read};

/// The finished cells of a campaign.
pub(super) struct Ledger {
    pub(super) digest: String,
    /// The campaign; none before its first trial.
    pub(super) campaign: Option<TrialId>,
    /// The identity that its first trial is to have, where it was given beforehand.
    pub(super) reserved: Option<TrialId>,
    /// Cells with the trials that are their results.
    pub(super) done: BTreeMap<PlannedCell, TrialId>,
}

impl Ledger {
    /// An empty one, or with `--resume` that of this campaign, else of the newest of this plan.
    pub(super) fn open(
        plan: &Plan,
        args: &CompareArgs,
        wanted: Option<TrialId>,
    ) -> Result<Self, Failure> {
        let digest = plan.digest();
        let mut ledger = Self { digest, campaign: None, reserved: None, done: BTreeMap::new() };
        let filter = Filter { plan: Some(plan.name.clone()), ..Filter::default() };
        let trials = match open_to_read(args.page.store.store.as_deref()) {
            Ok(Some(store)) => store.trials(&filter).map_err(|error| failure(&error))?,
            Ok(None) => Vec::new(),
            // A store that is not there yet will be made.
            Err(_) if !args.resume => Vec::new(),
            Err(error) => return Err(error),
        };
        let of_plan = |trial: &&TrialSummary| {
            trial.cell.as_ref().is_some_and(|cell| cell.digest == ledger.digest)
        };
        let of_plan: Vec<&TrialSummary> = trials.iter().filter(of_plan).collect();
        let newest = of_plan.first().and_then(|trial| trial.cell.as_ref());
        if let Some(wanted) = wanted
            && !of_plan
                .iter()
                .any(|trial| trial.cell.as_ref().is_some_and(|cell| cell.campaign == wanted))
        {
            ledger.reserve(wanted);
            return Ok(ledger);
        }
        let Some(campaign) = wanted.or_else(|| newest.map(|cell| cell.campaign)) else {
            if args.resume {
                say("nothing of this plan is in the store yet: starting from the beginning");
            }
            return Ok(ledger);
        };
        let mut done = finished(plan, campaign, &of_plan);
        if let Ok(Some(store)) = open_to_read(args.page.store.store.as_deref()) {
            forget_others(plan, &store, &mut done)?;
        }
        let all = super::forecast::planned_cells(plan);
        if args.resume {
            say(&format!("resuming campaign {campaign}: {} of {all} trials are done", done.len()));
            if let Some(note) = of_excluded(plan, &of_plan, &done) {
                say(&note);
            }
            ledger.campaign = Some(campaign);
            ledger.done = done;
        } else if done.len() < all && args.point.is_none() {
            say(&format!(
                "an earlier run of this plan has {} of {all} trials; --resume would continue it",
                done.len()
            ));
        }
        Ok(ledger)
    }

    /// Begins a campaign whose first trial has this identity.
    pub(super) fn reserve(&mut self, first: TrialId) {
        self.campaign = Some(first);
        self.reserved = Some(first);
    }

    /// What the records of a run of this plan name it by.
    pub(super) fn identity(&self, plan: &Plan) -> PlanIdentity {
        PlanIdentity { name: plan.name.clone(), digest: self.digest.clone() }
    }
}

/// What becomes of cells whose trials are excluded; `None` where there are none. They are not run
/// again, since they would not take turns with the rest of their round.
fn of_excluded(
    plan: &Plan,
    trials: &[&TrialSummary],
    done: &BTreeMap<PlannedCell, TrialId>,
) -> Option<String> {
    let excluded: BTreeSet<TrialId> =
        trials.iter().filter(|one| one.excluded.is_some()).map(|one| one.trial).collect();
    let cells = || done.iter().filter(|(_, trial)| excluded.contains(trial)).map(|(cell, _)| cell);
    let what = match cells().count() {
        0 => return None,
        1 => "1 of them is excluded: it is not run again and not compared".to_owned(),
        count => format!("{count} of them are excluded: they are not run again and not compared"),
    };
    let measured = cells().filter(|cell| cell.role == CellRole::Round);
    let incomplete: BTreeSet<u32> = measured.map(|cell| cell.round).collect();
    Some(match plan.stopping {
        Stopping::Fixed { rounds } if !incomplete.is_empty() => {
            let enough = u64::from(rounds) + incomplete.len() as u64;
            format!("{what}; --rounds {enough} makes up for their rounds")
        }
        _ => what,
    })
}

/// The cells that have a result. A trial that was interrupted, or still runs, is none.
fn finished(
    plan: &Plan,
    campaign: TrialId,
    trials: &[&TrialSummary],
) -> BTreeMap<PlannedCell, TrialId> {
    let is_result = |trial: &TrialSummary| match &trial.state {
        TrialState::Running => false,
        TrialState::Ended(ending) => *ending != Ending::Interrupted,
    };
    let of_campaign = trials.iter().filter(|trial| is_result(trial)).filter_map(|trial| {
        let cell = trial.cell.as_ref().filter(|cell| cell.campaign == campaign)?;
        Some((planned(plan, cell)?, trial.trial))
    });
    of_campaign.collect()
}

/// Forgets observing trials in which something else was watched than the plan wants now.
fn forget_others(
    plan: &Plan,
    store: &Store,
    done: &mut BTreeMap<PlannedCell, TrialId>,
) -> Result<(), Failure> {
    let of_observing = done.iter().filter(|(cell, _)| cell.role == CellRole::Observed);
    let (cells, ids): (Vec<PlannedCell>, Vec<TrialId>) =
        of_observing.map(|(cell, trial)| (*cell, *trial)).unzip();
    let trials = store.load_with_facts(&ids, &[]).map_err(|error| failure(&error))?;
    for (cell, trial) in cells.iter().zip(&trials) {
        if !plan.observing.is_said_by(&trial.beginning.parameters) {
            done.remove(cell);
        }
    }
    Ok(())
}

/// The cell of a plan that a stored one is.
fn planned(plan: &Plan, cell: &Cell) -> Option<PlannedCell> {
    let variant = plan.variants.iter().position(|variant| variant.name == cell.variant)?;
    let job = plan.jobs.iter().position(|job| job.name == cell.job)?;
    Some(PlannedCell { round: cell.round, role: cell.role, variant, job })
}
