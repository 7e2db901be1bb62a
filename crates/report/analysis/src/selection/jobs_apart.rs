//! Jobs of a plan that are compared with one another on each variant. The trials of such a job form
//! a group of their own, and belong to their variant only if the plan compares them there, too.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{BETWEEN_VARIANTS_FACT, Cell, JOB_BASELINE_FACT, TrialId};

use super::{SelectionQuery, StoredTrial, TrialSource, factor_of};
use crate::compare::Factor;

/// True if the plan, and not the query, determines the compared variants and jobs.
pub(super) fn is_as_the_plan_says(query: &SelectionQuery) -> bool {
    query.is_of_plan
        && factor_of(query) == Factor::Variant
        && query.baseline.is_none()
        && query.contenders.is_empty()
}

/// Sets `job_apart` of each trial whose plan compares its job with another one, and whether it is
/// compared between variants, too; returns the baseline of each such name. The newest trial of a
/// job determines its baseline.
pub(super) fn set_jobs_apart<S: TrialSource>(
    source: &S,
    trials: &mut [StoredTrial],
) -> Result<BTreeMap<String, String>, S::Error> {
    let cells = || trials.iter().filter_map(|one| Some((one.trial, one.cell.as_ref()?)));
    let newest: BTreeMap<&str, TrialId> =
        cells().map(|(trial, cell)| (cell.job.as_str(), trial)).collect();
    let mut against: BTreeMap<String, (String, bool)> = BTreeMap::new();
    for (job, trial) in newest {
        let read = source.with_facts(&[trial], &[JOB_BASELINE_FACT, BETWEEN_VARIANTS_FACT])?;
        let fact = |name: &str| read.iter().find_map(|trial| trial.fact(name));
        let is_between = fact(BETWEEN_VARIANTS_FACT).is_some();
        let baseline = fact(JOB_BASELINE_FACT);
        against.extend(baseline.map(|base| (job.to_owned(), (base.to_owned(), is_between))));
    }
    let variants: BTreeSet<&str> = cells().map(|(_, cell)| cell.variant.as_str()).collect();
    let is_only = variants.len() == 1;
    let mut baselines = BTreeMap::new();
    for one in trials {
        let Some(cell) = &one.cell else { continue };
        let Some((baseline, is_between)) = against.get(&cell.job) else { continue };
        let name = Cell::job_of_variant(&cell.variant, &cell.job, is_only);
        baselines.insert(name.clone(), Cell::job_of_variant(&cell.variant, baseline, is_only));
        one.job_apart = Some(name);
        one.is_between_variants = *is_between;
    }
    Ok(baselines)
}
