//! Variants of a campaign, from the trials of a store.

use std::collections::BTreeSet;

use treering_conduct::Failure;
use treering_conduct::plan::Plan;
use treering_model::{Cell, CellRole, Ending, Trial, TrialId};
use treering_store::{Filter, LoadDetail, Store, TrialState};

use crate::store_error::failure;

/// Names of the variants of a campaign that have trials of measured rounds.
///
/// # Errors
/// When the store cannot be read.
pub fn measured_variants(store: &Store, campaign: TrialId) -> Result<BTreeSet<String>, Failure> {
    let summaries = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let cells = summaries.into_iter().filter_map(|one| one.cell);
    let measured = cells.filter(|cell| cell.campaign == campaign && cell.role == CellRole::Round);
    Ok(measured.map(|cell| cell.variant).collect())
}

/// Variants of a campaign that have only failed trials, each with its first error.
///
/// # Errors
/// When the store cannot be read.
pub fn failed_variants(store: &Store, campaign: TrialId) -> Result<Vec<(String, String)>, Failure> {
    let summaries = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let mut variants: Vec<(String, Option<String>)> = Vec::new();
    // Trials are listed newest first.
    for trial in summaries.iter().rev() {
        let cell = trial.cell.as_ref();
        let of_campaign = |cell: &&Cell| cell.campaign == campaign && cell.role == CellRole::Round;
        let Some(cell) = cell.filter(of_campaign) else { continue };
        let error = match &trial.state {
            TrialState::Ended(Ending::Failed { why } | Ending::Invalid { why }) => {
                Some(why.clone())
            }
            _ => None,
        };
        match variants.iter_mut().find(|(name, _)| *name == cell.variant) {
            Some((_, first)) if error.is_none() => *first = None,
            Some(_) => {}
            None => variants.push((cell.variant.clone(), error)),
        }
    }
    Ok(variants.into_iter().filter_map(|(name, error)| Some((name, error?))).collect())
}

/// Trials of measured rounds of a variant in the newest campaign of a plan, oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn trials_of_plan(store: &Store, plan: &Plan, variant: &str) -> Result<Vec<Trial>, Failure> {
    let filter = Filter { plan: Some(plan.name.clone()), ..Filter::default() };
    let summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    let newest = summaries.first().and_then(|trial| trial.cell.as_ref()).map(|cell| cell.campaign);
    let digest = plan.digest();
    let is_own = |cell: &Cell| {
        Some(cell.campaign) == newest
            && cell.digest == digest
            && cell.variant == variant
            && cell.role == CellRole::Round
    };
    let own = summaries.iter().filter(|trial| trial.cell.as_ref().is_some_and(is_own));
    let ids: Vec<TrialId> = own.map(|trial| trial.trial).rev().collect();
    store.load_many(&ids, LoadDetail::Tasks).map_err(|error| failure(&error))
}
