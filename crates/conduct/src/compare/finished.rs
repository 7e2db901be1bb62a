//! Progress of a campaign: its finished cells, from the store.

use std::collections::{BTreeMap, BTreeSet};

use crate::cells::PlannedCell;
use crate::plan::{Machine, Plan, Stopping};
use treering_lab::PlanIdentity;
use treering_model::{Cell, CellRole, TrialId};

use super::forecast::planned_cells;
use crate::failure::Failure;
use crate::host::{Host, PlanOptions, ResultStore, StoredCell};

/// The finished cells of a campaign.
pub(crate) struct FinishedCells {
    pub(crate) digest: String,
    /// Identity of the campaign; `None` before the first trial.
    pub(crate) campaign: Option<TrialId>,
    /// Identity reserved for the first trial, if any.
    pub(crate) reserved: Option<TrialId>,
    /// Finished cells and their trials.
    pub(crate) done: BTreeMap<PlannedCell, TrialId>,
    /// All trials of the campaign so far, oldest first, with the index of their variant.
    pub(crate) trials: Vec<(TrialId, usize)>,
}

impl FinishedCells {
    /// Opens the campaign `wanted`, or with `--resume` the newest campaign of this plan; otherwise
    /// a new one without finished cells.
    pub(crate) fn open(
        plan: &Plan,
        options: &PlanOptions<'_>,
        (store, host): (&dyn ResultStore, &dyn Host),
        wanted: Option<TrialId>,
    ) -> Result<Self, Failure> {
        let digest = plan.digest();
        let (done, trials) = (BTreeMap::new(), Vec::new());
        let mut ledger = Self { digest, campaign: None, reserved: None, done, trials };
        let mut cells = store.cells(&plan.name, options.resume)?;
        cells.retain(|stored| stored.cell.digest == ledger.digest);
        if let Some(wanted) = wanted
            && !cells.iter().any(|stored| stored.cell.campaign == wanted)
        {
            ledger.reserve(wanted);
            return Ok(ledger);
        }
        let Some(campaign) = wanted.or_else(|| cells.first().map(|newest| newest.cell.campaign))
        else {
            if options.resume {
                host.say("nothing of this plan is in the store yet: starting from the beginning");
            }
            return Ok(ledger);
        };
        let (mut done, failed) = finished_cells(plan, campaign, &cells);
        drop_other_observations(plan, store, &mut done)?;
        let total = planned_cells(plan);
        if options.resume {
            let again = match failed {
                0 => "",
                1 => ", and 1 that failed is run again",
                _ => ", and those that failed are run again",
            };
            host.say(&format!(
                "resuming campaign {campaign}: {} of {total} trials are done{again}",
                done.len()
            ));
            if let Some(note) = excluded_cells_note(plan, &cells, &done) {
                host.say(&note);
            }
            ledger.campaign = Some(campaign);
            ledger.done = done;
            ledger.trials = trials_of(plan, campaign, &cells);
        } else if done.len() < total && options.point.is_none() {
            host.say(&format!(
                "an earlier run of this plan has {} of {total} trials; --resume would continue it",
                done.len()
            ));
        }
        Ok(ledger)
    }

    /// Begins a campaign whose first trial has this identity.
    pub(crate) fn reserve(&mut self, first: TrialId) {
        self.campaign = Some(first);
        self.reserved = Some(first);
    }

    /// Name and digest of the plan, as recorded in its trials.
    pub(crate) fn identity(&self, plan: &Plan) -> PlanIdentity {
        PlanIdentity { name: plan.name.clone(), digest: self.digest.clone() }
    }
}

/// Message about cells with excluded trials; `None` if there are none. Such cells are not run
/// again, since they would not alternate with the other cells of their round.
fn excluded_cells_note(
    plan: &Plan,
    trials: &[StoredCell],
    done: &BTreeMap<PlannedCell, TrialId>,
) -> Option<String> {
    let excluded: BTreeSet<TrialId> =
        trials.iter().filter(|one| one.is_excluded).map(|one| one.trial).collect();
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

/// Cells with a result, and the number of cells that failed and are run again. Trials that were
/// interrupted or still run do not count.
fn finished_cells(
    plan: &Plan,
    campaign: TrialId,
    trials: &[StoredCell],
) -> (BTreeMap<PlannedCell, TrialId>, usize) {
    let of_campaign =
        trials.iter().filter(|trial| trial.is_result && trial.cell.campaign == campaign);
    // A machine that reboots continues by itself: a kernel that never comes up would keep it
    // rebooting.
    let is_kept = |trial: &StoredCell| {
        !trial.has_failed || trial.is_excluded || plan.conditions.machine == Machine::Reboot
    };
    let mut kept = BTreeMap::new();
    let mut failed = BTreeSet::new();
    for trial in of_campaign {
        let Some(cell) = planned_cell(plan, &trial.cell) else { continue };
        if is_kept(trial) {
            // The newest trial comes first.
            kept.entry(cell).or_insert(trial.trial);
        } else {
            failed.insert(cell);
        }
    }
    failed.retain(|cell| !kept.contains_key(cell));
    (kept, failed.len())
}

/// All trials of a campaign, oldest first, with the index of their variant.
fn trials_of(plan: &Plan, campaign: TrialId, cells: &[StoredCell]) -> Vec<(TrialId, usize)> {
    let of_campaign = cells.iter().rev().filter(|stored| stored.cell.campaign == campaign);
    let trials = of_campaign
        .filter_map(|stored| Some((stored.trial, planned_cell(plan, &stored.cell)?.variant)));
    trials.collect()
}

/// Drops observing trials whose recording options differ from those of the plan.
fn drop_other_observations(
    plan: &Plan,
    store: &dyn ResultStore,
    done: &mut BTreeMap<PlannedCell, TrialId>,
) -> Result<(), Failure> {
    let of_observing = done.iter().filter(|(cell, _)| cell.role == CellRole::Observed);
    let (cells, ids): (Vec<PlannedCell>, Vec<TrialId>) =
        of_observing.map(|(cell, trial)| (*cell, *trial)).unzip();
    for (cell, parameters) in cells.iter().zip(&store.parameters(&ids)?) {
        if !plan.observing.matches_parameters(parameters) {
            done.remove(cell);
        }
    }
    Ok(())
}

/// Cell of the plan that corresponds to a stored one.
fn planned_cell(plan: &Plan, cell: &Cell) -> Option<PlannedCell> {
    let variant = plan.variants.iter().position(|variant| variant.name == cell.variant)?;
    let job = plan.jobs.iter().position(|job| job.name == cell.job)?;
    Some(PlannedCell { round: cell.round, role: cell.role, variant, job })
}
