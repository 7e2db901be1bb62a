//! What is done of a campaign already: its finished cells, from the store.

use std::collections::BTreeMap;

use treering_campaign::PlannedCell;
use treering_campaign::plan::Plan;
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
    /// Cells with the trials that are their results.
    pub(super) done: BTreeMap<PlannedCell, TrialId>,
}

impl Ledger {
    /// An empty one, or with `--resume` that of the newest campaign of this plan.
    pub(super) fn open(plan: &Plan, args: &CompareArgs) -> Result<Self, Failure> {
        let digest = plan.digest();
        let mut ledger = Self { digest, campaign: None, done: BTreeMap::new() };
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
        let Some(campaign) = newest.map(|cell| cell.campaign) else {
            if args.resume {
                say("there is nothing of this plan in the store yet: it begins");
            }
            return Ok(ledger);
        };
        let mut done = finished(plan, campaign, &of_plan);
        if let Ok(Some(store)) = open_to_read(args.page.store.store.as_deref()) {
            forget_others(plan, &store, &mut done)?;
        }
        let all = super::runner::planned_cells(plan);
        if args.resume {
            say(&format!("resuming campaign {campaign}: {} of {all} cells are done", done.len()));
            let is_out = |one: &&&TrialSummary| {
                one.excluded.is_some() && done.values().any(|trial| *trial == one.trial)
            };
            let out = of_plan.iter().filter(is_out).count();
            if out > 0 {
                say(&format!(
                    "{out} of them are excluded: they are not repeated, and not compared"
                ));
            }
            ledger.campaign = Some(campaign);
            ledger.done = done;
        } else if done.len() < all {
            say(&format!(
                "an earlier run of this plan has {} of {all} cells; --resume would go on with it",
                done.len()
            ));
        }
        Ok(ledger)
    }
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
